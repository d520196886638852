"""Mixed questions: a note against the tables (a drug, a lab value or a diagnosis).

mixed = split(text, linked)
if mixed is not None:
    answer = answer_mixed(mixed, ask_table, ask_note, rows=open_rows(db), notes=note_facts(desk))
"""

from ehrqa_cli.engine.mixed.answer import answer_mixed, note_facts
from ehrqa_cli.engine.mixed.compare import compare
from ehrqa_cli.engine.mixed.split import split
from ehrqa_cli.engine.mixed.tables import open_rows
from ehrqa_cli.engine.mixed.types import (
    AskNote,
    AskTable,
    Aspect,
    Compared,
    ComparedKind,
    Mixed,
    MixedAnswer,
    NoteFacts,
    Relation,
    RowOpener,
)

__all__ = [
    "AskNote",
    "AskTable",
    "Aspect",
    "Compared",
    "ComparedKind",
    "Mixed",
    "MixedAnswer",
    "NoteFacts",
    "Relation",
    "RowOpener",
    "answer_mixed",
    "compare",
    "note_facts",
    "open_rows",
    "split",
]
