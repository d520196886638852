"""`ehrqa chat --plain` and what the screen shares with it."""
