"""Notes read in: MIMIC-IV-Note's discharge.csv(.gz), JSON Lines, text files."""

from ehrqa_cli.notes.importing.importer import NotesReport, import_notes
from ehrqa_cli.notes.importing.record import Problem

__all__ = ["NotesReport", "Problem", "import_notes"]
