"""`ehrqa notes`: import notes and find lines in them."""
