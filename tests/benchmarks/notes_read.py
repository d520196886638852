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
import statistics
import time
from pathlib import Path
from typing import Any

from shared import OWN_NOTES, imported, print_answered, rows_of, texts_of, wilson

from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.evaluate.wording import token_f1
from ehrqa_cli.notes.desk import NoteDesk

LONGEST = 300


def check(answer: NoteAnswer, texts: dict[str, str]) -> None:
    """What is cited stands in the note, and is short."""
    for span in answer.spans:
        assert texts[span.note_id][span.start : span.end] == span.excerpt, span
        assert len(span.excerpt) <= LONGEST, span


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
        print("with options" if with_choices else "free text")
        for _, answer, _ in told:
            check(answer, texts)
        print_answered([(row, answer) for row, answer, _ in told], texts)
        if with_choices:
            print("  right, of answerable:", wilson([a.choice == r["answer"] for r, a in yes]))
            chosen = [(r, a) for r, a in yes if a.choice]
            print(
                "  right, of those answered:", wilson([a.choice == r["answer"] for r, a in chosen])
            )
        else:
            scores = [
                token_f1(r["answer_text"], a.text)
                for r, a in yes
                if a.text and r.get("answer_text")
            ]
            print(f"  token F1 of {len(scores)} answers: {statistics.mean(scores):.2f}")
        times = [seconds for _, _, seconds in told]
        print(f"  seconds: median {statistics.median(times):.2f}, most {max(times):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=OWN_NOTES / "reading")
    parser.add_argument("--split", choices=["fit", "check"], help="of our own questions")
    parser.add_argument("--reader", default="embedded")
    chosen = parser.parse_args()
    texts = texts_of(chosen.data)
    every = rows_of(chosen.data / "questions.jsonl")
    rows = [row for row in every if chosen.split in (None, row.get("split"))]
    with imported(chosen.data / "notes.jsonl") as db, NoteDesk.open(db, chosen.reader) as desk:
        report(rows, texts, desk)


if __name__ == "__main__":
    main()
