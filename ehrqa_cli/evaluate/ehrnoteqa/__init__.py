"""EHRNoteQA: clinicians' questions over one to three discharge summaries (Kweon et al. 2024)."""

from ehrqa_cli.evaluate.ehrnoteqa.benchmark import EhrNoteQa
from ehrqa_cli.evaluate.ehrnoteqa.load import NoteQuestion, load_noteqa
from ehrqa_cli.evaluate.ehrnoteqa.score import FORMATS

__all__ = ["FORMATS", "EhrNoteQa", "NoteQuestion", "load_noteqa"]
