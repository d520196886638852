"""ehrqa: answers questions about a local electronic health record, and shows why."""

__version__ = "0.1.0"
