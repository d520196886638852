"""How well and how fast a reader of notes answers, cites, chooses and declines.

    python tests/benchmarks/notes_read.py --data models/corpus/notes/reading --split check
    python tests/benchmarks/notes_read.py --data ../shared/data/noteqa

Over a folder in noteqa's format: a gold line among the first 3 and 10 cited (answerable questions;
of declined ones too, whose nearest lines are cited); the right letter, of all answerable questions
and of those answered; answered and declined; token F1 of the free answers with the gold; times.
All with Wilson's 95% interval. noteqa is for measuring only, once a release. Never run as a test.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find import index_notes
from ehrqa_cli.notes.importing import import_notes

LONGEST = 300


def wilson(hits: Sequence[bool]) -> str:
    """A share with its interval."""
    n = len(hits)
    if not n:
        return "none"
    p, z = sum(hits) / n, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5 / (1 + z * z / n)
    return f"{p:.1%} [{middle - half:.0%}, {middle + half:.0%}] of {n}"


def hit(answer: NoteAnswer, row: dict[str, Any], texts: dict[str, str], most: int) -> bool:
    """Does one of the first ``most`` citations overlap a gold evidence?"""
    for span in answer.spans[:most]:
        assert texts[span.note_id][span.start : span.end] == span.excerpt, span
        assert len(span.excerpt) <= LONGEST, span
        for gold in row["evidence"]:
            start = texts[gold["note_id"]].find(gold["text"])
            overlaps = span.start < start + len(gold["text"]) and start < span.end
            if gold["note_id"] == span.note_id and overlaps:
                return True
    return False


def f1(given: str, gold: str) -> float:
    """Token F1, in lower case without articles and punctuation."""
    mine, other = (
        Counter(
            w for w in re.findall(r"[^\W_]+(?:\.\d+)?", text.lower()) if w not in ("a", "an", "the")
        )
        for text in (given, gold)
    )
    both = sum((mine & other).values())
    return 2 * both / (mine.total() + other.total()) if both else 0.0


def ask(desk: NoteDesk, row: dict[str, Any], with_choices: bool) -> tuple[NoteAnswer, float]:
    """The answer and the seconds it took."""
    began = time.perf_counter()
    answer = desk.answer(
        row["question"], int(row["patient_id"]), row.get("choices") if with_choices else None
    )
    return answer, time.perf_counter() - began


def report(rows: list[dict[str, Any]], texts: dict[str, str], desk: NoteDesk) -> None:
    """Ask every question with and without its options, and print the figures."""
    for with_choices in (False, True):
        told = [(row, *ask(desk, row, with_choices)) for row in rows]
        yes = [(row, answer) for row, answer, _ in told if row["answerable"]]
        no = [answer for row, answer, _ in told if not row["answerable"]]
        print("with options" if with_choices else "free text")
        for most in (1, 3, 10):
            share = wilson([hit(answer, row, texts, most) for row, answer in yes])
            print(f"  a gold line among the first {most} cited: {share}")
        print("  answered of answerable:", wilson([a.text is not None for _, a in yes]))
        print("  declined of unanswerable:", wilson([a.text is None for a in no]))
        if with_choices:
            print("  right, of answerable:", wilson([a.choice == r["answer"] for r, a in yes]))
            chosen = [(r, a) for r, a in yes if a.choice]
            print(
                "  right, of those answered:", wilson([a.choice == r["answer"] for r, a in chosen])
            )
        else:
            scores = [
                f1(a.text, r["answer_text"]) for r, a in yes if a.text and r.get("answer_text")
            ]
            print(f"  token F1 of {len(scores)} answers: {statistics.mean(scores):.2f}")
        times = [seconds for _, _, seconds in told]
        print(f"  seconds: median {statistics.median(times):.2f}, most {max(times):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=Path(__file__).parents[2] / "models/corpus/notes/reading"
    )
    parser.add_argument("--split", choices=["fit", "check"], help="of our own questions")
    parser.add_argument("--reader", default="embedded")
    chosen = parser.parse_args()
    notes = (chosen.data / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["note_id"]: row["text"] for row in map(json.loads, notes)}
    lines = (chosen.data / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if chosen.split in (None, row.get("split"))]
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "ehr.sqlite"
        import_notes(chosen.data / "notes.jsonl", db)
        index_notes(db)
        with NoteDesk.open(db, chosen.reader) as desk:
            report(rows, texts, desk)


if __name__ == "__main__":
    main()
