"""The record itself: its schema, the importer, the demo, the SQLite backend, the value index."""
