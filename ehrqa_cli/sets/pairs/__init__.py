"""Training pairs: questions in many words with their logical forms."""
