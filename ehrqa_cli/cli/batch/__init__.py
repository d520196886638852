"""`ehrqa batch`: a file of questions in, a file of answers out."""
