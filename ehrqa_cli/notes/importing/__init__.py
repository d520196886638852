"""Notes read in: MIMIC-IV-Note's discharge.csv(.gz), JSON Lines, text files."""

from ehrqa_cli.notes.importing.record import Problem
from ehrqa_cli.notes.importing.run import NotesReport, import_notes

__all__ = ["NotesReport", "Problem", "import_notes"]
