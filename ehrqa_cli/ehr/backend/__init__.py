"""Databases: the SQLite file, what may run on it, and the layers that make others look like it."""
