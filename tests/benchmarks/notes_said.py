"""Does the reader of notes say yes or no only where the notes do?

    python tests/benchmarks/notes_said.py [--data DIR] [--noteqa ../shared/data/noteqa] [--show]

Questions by writers who saw the notes and nothing else (tests/benchmarks/notes_said: two writers,
1,560 questions on 19 patients; notes_said/development: another writer; both were seen since and
measure no more). notes_said/trials holds two trials of other sorts of questions too. `never`: a
condition, drug, device, habit, relative's disease ... that the patient's notes never mention, so
that the only right answer is none. `mentioned`: affirmed, past, denied, ruled out, planned,
hypothetical, or of a relative. A row's `gold` lists the outcomes that are right of yes, no and
decline. Asked as a user asks, with the patient's id in the question or given apart, at the
default goal. Patients of data/noteqa are left out without that folder. Never run as a test.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from shared import rows_of

from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.notes.importing import import_notes

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data" / "noteqa"


def outcome(session: Session, row: dict[str, Any]) -> tuple[str, str]:
    """yes, no, decline or other; and the text of the answer."""
    given = int(row["patient_id"]) if row["named"] == "given" else None
    answer = ask(Question(row["question"], patient_id=given), session)
    if answer.status is not Status.ANSWERED:
        return "decline", answer.text
    said = answer.text.lower()
    return ("yes" if said.startswith("yes") else "no" if said.startswith("no") else "other"), said


def judged(row: dict[str, Any], said: str) -> str:
    """right, wrong or declined."""
    if said in row["gold"]:
        return "right"
    return "declined" if said == "decline" else "wrong"


def report(name: str, told: list[tuple[dict[str, Any], str]]) -> None:
    """Print the table of one writer, or of all."""
    never = [said for row, said in told if row["group"] == "never"]
    print(f"{name}: {len(told)} questions")
    print(f"  never mentioned, {len(never)}: {dict(Counter(never))}")
    rest = [(row, said) for row, said in told if row["group"] == "mentioned"]
    for status in [None, *sorted({row["status"] for row, _ in rest})]:
        some = Counter(judged(r, s) for r, s in rest if status in (None, r["status"]))
        total = sum(some.values())
        shares = ", ".join(f"{k} {some[k]} ({some[k] / total:.1%})" for k in sorted(some))
        print(f"  {status or 'mentioned, all'}, {total}: {shares}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE / "notes_said")
    parser.add_argument("--noteqa", type=Path, default=SHARED)
    parser.add_argument("--show", action="store_true", help="print what was wrong")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "ehr.sqlite"
        for notes in (flags.data / "notes.jsonl", flags.noteqa / "notes.jsonl"):
            if notes.exists():
                import_notes(notes, db)
            else:
                print(f"without {notes.parent.name}, which is not here")
        told: list[tuple[dict[str, Any], str]] = []
        with Session(db) as session:
            for file in sorted(flags.data.glob("*.jsonl")):
                if file.name == "notes.jsonl":
                    continue
                rows = rows_of(file)
                assert session.notes is not None
                rows = [row for row in rows if session.notes.has(int(row["patient_id"]))]
                mine = []
                for row in rows:
                    said, text = outcome(session, row)
                    mine.append((row, said))
                    if flags.show and judged(row, said) == "wrong":
                        print(row["id"], row["question"], row["gold"], "|", text[:200])
                report(file.stem, mine)
                told += mine
        report("all", told)


if __name__ == "__main__":
    main()
