"""Finding the lines of notes that bear on a question, and the index that makes it quick."""

from ehrqa_cli.notes.find.build import IndexReport, index_notes
from ehrqa_cli.notes.find.finder import Finder
from ehrqa_cli.notes.find.stance import stance_of

__all__ = ["Finder", "IndexReport", "index_notes", "stance_of"]
