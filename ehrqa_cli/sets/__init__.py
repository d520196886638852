"""`ehrqa build`: question sets and training pairs, from a user's own EHR, films and notes."""
