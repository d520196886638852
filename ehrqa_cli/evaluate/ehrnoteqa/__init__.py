"""EHRNoteQA: clinicians' questions over one to three discharge summaries (Kweon et al. 2024)."""

from ehrqa_cli.evaluate.ehrnoteqa.ehrnoteqa_run import FORMATS, NoteRun
from ehrqa_cli.evaluate.ehrnoteqa.load import NoteQuestion, load_noteqa

__all__ = ["FORMATS", "NoteQuestion", "NoteRun", "load_noteqa"]
