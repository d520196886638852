"""Mixed questions: a note against the tables (a drug, a lab value or a diagnosis).

mixed = split(text, linked)
if mixed is not None:
    answer = answer_mixed(mixed, ask_table, open_rows(db), notes)
"""

from ehrqa_cli.engine.mixed.answer import answer_mixed
from ehrqa_cli.engine.mixed.split import split
from ehrqa_cli.engine.mixed.tables import open_rows
from ehrqa_cli.engine.mixed.types import Aspect, ComparedKind, Mixed, MixedAnswer, Relation

__all__ = [
    "Aspect",
    "ComparedKind",
    "Mixed",
    "MixedAnswer",
    "Relation",
    "answer_mixed",
    "open_rows",
    "split",
]
