"""`ehrqa build`: question sets from a user's own EHR."""
