"""Mixed questions, a note against the tables, on made-up notes for the demo EHR.

    python tests/benchmarks/mixed.py [--patients 120] [--set held] [--show]

Builds the demo EHR and the notes (mixed_made_up.py) in a temporary folder, recognises each question
(`engine.mixed.split`), asks the tables through a Session and reads the notes, and prints how many
were right, wrong and declined. A question that is not recognised counts as declined.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import mixed_made_up

from ehrqa_cli.contracts.types import Scope, Status
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.engine.mixed import MixedAnswer, answer_mixed, open_rows, split
from ehrqa_cli.engine.opening import open_session
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.ways import by_form
from ehrqa_cli.notes.importing.importer import import_notes
from ehrqa_cli.notes.store import NoteStore


def prepare(folder: Path, patients: int, wanted: str) -> tuple[Path, list[mixed_made_up.Case]]:
    """The demo EHR with its notes, and the cases."""
    db = folder / "demo.sqlite"
    build_demo(db, seed=11, patients=patients)
    maker = mixed_made_up.Maker(db, wanted)
    cases = list(maker.cases())
    file = folder / "notes.jsonl"
    file.write_text("".join(json.dumps(note) + "\n" for note in maker.notes()), encoding="utf-8")
    import_notes(file, db)
    return db, cases


def answer(question: str, session: Session, notes: NoteStore) -> MixedAnswer | None:
    """As the engine answers it; None where it is not taken for a mixed question."""
    linked = session.linker.link(question)
    mixed = split(question, linked)
    if mixed is None:
        return None
    return answer_mixed(
        mixed,
        lambda form: by_form(form, linked, session),
        open_rows(session.database),
        notes,
    )


def outcome(found: MixedAnswer | None, gold: str | None) -> str:
    """right, wrong or declined; declining what cannot be told is right."""
    if found is None or found.status is not Status.ANSWERED:
        return "right" if gold is None else "declined"
    return "right" if gold is not None and _plain(found.value) == _plain(gold) else "wrong"


def _plain(value: Any) -> str:
    """A value, or the two of "how do they differ", in one spelling."""
    both = value if isinstance(value, list) else str(value).split("; ")
    return both[0] if len(both) == 1 else " ".join(f"{_in_mg(str(each)):g}" for each in both)


def _in_mg(text: str) -> float:
    """The number of a value; of grams in mg."""
    found = re.match(r"([\d.]+)\s*([a-z/]*)", text)
    return float(found[1]) * (1000 if found[2] == "g" else 1) if found else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=120)
    parser.add_argument(
        "--set", choices=("first", "held", "third"), default="first", help="of wordings"
    )
    parser.add_argument("--show", action="store_true", help="print what was not right")
    flags = parser.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    unseen, seconds = 0, []
    with tempfile.TemporaryDirectory() as name:
        db, cases = prepare(Path(name), flags.patients, flags.set)
        with (
            open_session(db, log=False, scope=Scope.TABLE) as session,
            NoteStore.open(db) as notes,
        ):
            for case in cases:
                started = time.perf_counter()
                found = answer(case.question, session, notes)
                seconds.append(time.perf_counter() - started)
                unseen += found is None
                result = outcome(found, case.gold)
                for key in (f"{case.kind}, {case.situation}", "together"):
                    table[key, result] += 1
                if flags.show and result != "right":
                    told = found.text if found else "not recognised"
                    print(f"{result} ({case.gold}): {case.question}\n    {told}")
    for key in dict.fromkeys(key for key, _ in table):
        cells = [f"{table[key, result]:5}" for result in ("right", "wrong", "declined")]
        print(f"{key:28}{' '.join(cells)}")
    print(f"not recognised: {unseen}; median {sorted(seconds)[len(seconds) // 2]:.2f} s a question")


if __name__ == "__main__":
    main()
