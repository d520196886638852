"""Reading lines of notes: an answer with its citations, or none."""

from ehrqa_cli.notes.read.embedded import EmbeddedReader

__all__ = ["EmbeddedReader"]
