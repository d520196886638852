"""What the measurements here share: files of questions, shares, notes in a temporary EHR."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.evaluate import calibration
from ehrqa_cli.notes.find import index_notes
from ehrqa_cli.notes.importing import import_notes

Row = dict[str, Any]
OWN_NOTES = Path(__file__).parents[2] / "models/corpus/notes"


def rows_of(path: Path) -> list[Row]:
    """JSON Lines; none where there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold_queries(ehrsql: Path, split: str) -> dict[str, str]:
    """The published SQL of the answerable questions of an EHRSQL split, by id."""
    labels = json.loads((ehrsql / split / "label.json").read_text(encoding="utf-8"))
    return {key: sql for key, sql in labels.items() if sql != "null"}


def texts_of(data: Path) -> dict[str, str]:
    """The notes of a folder in noteqa's format, by id."""
    return {row["note_id"]: row["text"] for row in rows_of(data / "notes.jsonl")}


def wilson(hits: Sequence[bool]) -> str:
    """A share with its 95% interval."""
    if not hits:
        return "none"
    share = sum(hits) / len(hits)
    low, high = calibration.wilson(share, len(hits))
    return f"{share:.1%} [{low:.0%}, {high:.0%}] of {len(hits)}"


@contextmanager
def imported(*notes: Path) -> Iterator[Path]:
    """An EHR that has only these notes, indexed, for a while."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "ehr.sqlite"
        for path in notes:
            import_notes(path, db)
        index_notes(db)
        yield db


class Placed(Protocol):
    """A line of a note, or what was cited of it."""

    @property
    def note_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def is_gold(piece: Placed, evidence: Sequence[Mapping[str, str]], texts: Mapping[str, str]) -> bool:
    """Does the piece overlap a gold evidence?"""
    for gold in evidence:
        start = texts[gold["note_id"]].find(gold["text"])
        overlaps = piece.start < start + len(gold["text"]) and start < piece.end
        if gold["note_id"] == piece.note_id and overlaps:
            return True
    return False


def hit(answer: NoteAnswer, row: Row, texts: Mapping[str, str], most: int) -> bool:
    """Does one of the first ``most`` citations overlap a gold evidence?"""
    return any(is_gold(span, row["evidence"], texts) for span in answer.spans[:most])


def print_answered(told: Sequence[tuple[Row, NoteAnswer]], texts: Mapping[str, str]) -> None:
    """Print the shares of gold lines cited, of answered and of declined questions."""
    yes = [(row, answer) for row, answer in told if row["answerable"]]
    for most in (1, 3, 10):
        share = wilson([hit(answer, row, texts, most) for row, answer in yes])
        print(f"  a gold line among the first {most} cited: {share}")
    print("  answered of answerable:", wilson([a.text is not None for _, a in yes]))
    no = [answer.text is None for row, answer in told if not row["answerable"]]
    print("  declined of unanswerable:", wilson(no))
