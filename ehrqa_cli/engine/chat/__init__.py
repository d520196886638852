"""A chat without its face: the controller, and below it conversation, history and evidence.

`Controller` takes wishes and reports `events`; `commands` are those that can be typed.
"""

from ehrqa_cli.engine.chat.about import About
from ehrqa_cli.engine.chat.complete import Completer, Completion
from ehrqa_cli.engine.chat.controller import Controller
from ehrqa_cli.engine.chat.conversation import Conversation
from ehrqa_cli.engine.chat.edited import run_neuralsql
from ehrqa_cli.engine.chat.history import ChatHistory, ChatInfo, Found, history_of
from ehrqa_cli.engine.chat.patient import (
    Admission,
    LabSeries,
    Medication,
    PatientSummary,
    patient_summary,
)
from ehrqa_cli.engine.chat.values import Rewrite, Turn
from ehrqa_cli.engine.chat.views import (
    Evidence,
    Finding,
    ImageView,
    NoteLine,
    NoteView,
    evidence_rows,
    image_studies,
    image_view,
    note_view,
    note_views,
)

__all__ = [
    "About",
    "Admission",
    "ChatHistory",
    "ChatInfo",
    "Completer",
    "Completion",
    "Controller",
    "Conversation",
    "Evidence",
    "Finding",
    "Found",
    "ImageView",
    "LabSeries",
    "Medication",
    "NoteLine",
    "NoteView",
    "PatientSummary",
    "Rewrite",
    "Turn",
    "evidence_rows",
    "history_of",
    "image_studies",
    "image_view",
    "note_view",
    "note_views",
    "patient_summary",
    "run_neuralsql",
]
