"""Accuracy and time of a reader of notes against the length of the record and its number of notes.

    python tests/benchmarks/notes_long.py --out figures
    python tests/benchmarks/notes_long.py --reader NAME --lengths 3500 7500 --limit 20
    python tests/benchmarks/notes_long.py --data ../shared/data/noteqa

Each patient's notes are put among other writing until the record has the length: EHRNoteQA's first
level (up to 3,500 tokens) and second (3,500 to 7,500), 16,000 and 32,000 (word pieces of BERT).
The other writing is made, with a seed, of sections of the other patients' notes and dated anew, as
further documents of the same stays; half as much again stands in the patient's own notes, after
them. Left out of it are what is true of a person and not of a stay (allergies, social and family
history, medication lists, disposition, demographics), and every line that names two things that one
of the patient's questions asks about, or the one thing that tells most: it should not contradict
the notes or answer a question, as far as words can tell. Longer records repeat sections under other
dates, as copied notes do. Never run as a test.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import OWN_NOTES, hit, imported, rows_of, wilson

from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find.lexical import Group, groups, matches
from ehrqa_cli.notes.lines import split
from ehrqa_cli.notes.read.question import telling
from ehrqa_cli.words.wordpieces import token_ids

LENGTHS = (3500, 7500, 16_000, 32_000)
FULL = 0.93  # of a length that a record is filled to, at least
PERSONAL = (
    "allerg", "social", "family", "medication", "disposition", "administrative", "follow",
    "code", "instruction", "condition", "diet", "activity", "history of present", "chief",
)  # fmt: skip
DOCUMENT = 900  # tokens of other writing in one document, about
TELLS = 0.35  # weight from which a word does not only frame a question
RARE = 0.8  # weight of a word that is not to be named at all
_YEAR = re.compile(r"\b((?:19|20|21|22)\d\d)(?=[-/]|\b)")
_DAY = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/%])")


@dataclass(frozen=True)
class Case:
    """Questions of one patient, with the notes that they are about."""

    patient: int
    rows: list[dict[str, Any]]
    notes: list[dict[str, Any]]


def tokens(text: str) -> int:
    """How long ``text`` is in word pieces."""
    return len(token_ids(text, most=1_000_000)) - 2


def read_folder(folder: Path) -> list[Case]:
    """The patients of a folder in noteqa's format whose questions have options."""
    notes, rows = defaultdict(list), defaultdict(list)
    for note in rows_of(folder / "notes.jsonl"):
        notes[int(note["patient_id"])].append(note)
    for row in rows_of(folder / "questions.jsonl"):
        if row.get("choices"):
            rows[int(row["patient_id"])].append(row)
    return [Case(patient, rows[patient], notes[patient]) for patient in rows]


def sections(notes: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The sections of ``notes`` that speak of a stay, as lists of lines."""
    found: list[list[str]] = []
    for note in notes:
        before = None
        for line in split(note["text"], note["note_id"]):
            name = line.section
            if not name or any(part in name for part in PERSONAL):
                continue
            if name != before:
                found.append([])
            before = name
            found[-1].append(line.text)
    return [some for some in found if some]


def allowed(lines: Sequence[str], asked: Sequence[Sequence[Group]]) -> list[str]:
    """``lines`` without those that speak of what any of the questions asks about."""
    out: set[int] = set()
    for some in asked:
        told = [group for group in some if telling(group.phrase) >= TELLS]
        if told:
            named = matches(told, lines) > 0
            rare = [telling(group.phrase) >= RARE for group in told]
            out |= {n for n in range(len(lines)) if named[:, n].sum() > 1 or named[rare, n].any()}
    return [line for n, line in enumerate(lines) if n not in out]


def dated(lines: Sequence[str], year: str, shift: int) -> str:
    """``lines`` with their years made ``year`` and their days moved by ``shift``."""
    text = _YEAR.sub(year, " ".join(lines))
    return _DAY.sub(lambda m: f"{m.group(1)}/{(int(m.group(2)) + shift - 1) % 28 + 1}", text)


def lengthen(case: Case, pool: Sequence[list[str]], length: int, seed: int) -> list[dict[str, Any]]:
    """The notes of ``case`` among other writing, of about ``length`` tokens together."""
    drawn = random.Random(f"{seed}/{case.patient}/{length}")
    asked = [groups(row["question"]) for row in case.rows]
    fitting = [kept for some in pool if (kept := allowed(some, asked))]
    notes = [dict(note) for note in case.notes]
    missing = length * FULL - sum(tokens(note["text"]) for note in notes)
    written: list[dict[str, Any]] = []
    while missing > 0 and fitting:
        drawn.shuffle(fitting)
        parts: list[str] = []
        size, host = 0, drawn.choice(case.notes)
        year = (host.get("charttime") or "2140")[:4]
        for some in fitting:
            if size >= min(DOCUMENT, missing):
                break
            parts.append(dated(some, year, drawn.randint(1, 27)))
            size += tokens(parts[-1])
        missing -= size
        text = "\n\n".join(parts)
        if len(written) % 3 == 2:  # every third piece is written on in a note of the patient's own
            into = next(note for note in notes if note["note_id"] == host["note_id"])
            into["text"] = f"{into['text'].rstrip()}\n\nAddendum:\n{text}\n"
        name = f"{case.patient}-OT-{len(written)}"
        written.append(host | {"note_id": name, "text": f"Progress note:\n{text}\n"})
    return notes + [note for n, note in enumerate(written) if n % 3 != 2]


def ask(cases: Sequence[Case], length: int, flags: argparse.Namespace) -> list[dict[str, Any]]:
    """What the reader makes of the questions over records of ``length`` tokens."""
    pools = {case.patient: case.notes for case in flags.everybody}
    texts: dict[str, str] = {}
    told = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "notes.jsonl"
        size: dict[int, int] = {}
        documents: dict[int, int] = {}
        with source.open("w", encoding="utf-8") as file:
            for case in cases:
                others = [n for p, some in pools.items() if p != case.patient for n in some]
                record = lengthen(case, sections(others), length, flags.seed)
                size[case.patient] = sum(tokens(note["text"]) for note in record)
                documents[case.patient] = len(record)
                for note in record:
                    texts[note["note_id"]] = note["text"]
                    file.write(json.dumps(note) + "\n")
        with imported(source) as db, NoteDesk.open(db, flags.reader) as desk:
            for case in cases:
                for row in case.rows:
                    began = time.perf_counter()
                    answer = desk.answer(row["question"], case.patient, row["choices"])
                    told.append(
                        {
                            "seconds": time.perf_counter() - began,
                            "answerable": row["answerable"],
                            "declined": answer.text is None,
                            "right": answer.choice is not None and answer.choice == row["answer"],
                            "top3": hit(answer, row, texts, 3) if row["answerable"] else None,
                            "notes": len(case.notes),
                            "documents": documents[case.patient],
                            "tokens": size[case.patient],
                        }
                    )
    return told


def figures(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row of the table for some questions."""
    yes = [each for each in told if each["answerable"]]
    no = [each for each in told if not each["answerable"]]
    seconds = [each["seconds"] for each in told]
    return {
        "tokens": round(statistics.mean(each["tokens"] for each in told)),
        "documents": round(statistics.mean(each["documents"] for each in told), 1),
        "right of answerable": wilson([each["right"] for each in yes]),
        "gold line in first 3": wilson([each["top3"] for each in yes]),
        "answered of answerable": wilson([not each["declined"] for each in yes]),
        "declined of unanswerable": wilson([each["declined"] for each in no]),
        "seconds, median": round(statistics.median(seconds), 2),
        "seconds, most": round(max(seconds), 2),
    }


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(str(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def chosen_cases(flags: argparse.Namespace) -> list[Case]:
    """The patients that are asked about, those with most notes first, cut to ``--limit``."""
    cases = sorted(flags.everybody, key=lambda case: (-len(case.notes), case.patient))
    drawn = random.Random(flags.seed)
    drawn.shuffle(cases)
    cases = cases[: flags.patients]
    if flags.limit:
        share = max(1, flags.limit // len(cases))
        cases = [
            Case(c.patient, drawn.sample(c.rows, min(share, len(c.rows))), c.notes) for c in cases
        ]
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder in noteqa's format; else our own")
    parser.add_argument("--reader", default="embedded")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--patients", type=int, help="how many patients, drawn with the seed")
    parser.add_argument("--limit", type=int, help="how many questions in all, about")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="writes OUT.json and OUT.md")
    flags = parser.parse_args()
    folders = [flags.data] if flags.data else [OWN_NOTES / "reading", OWN_NOTES / "stays"]
    flags.everybody = [case for folder in folders for case in read_folder(folder)]
    cases = chosen_cases(flags)
    rows: list[dict[str, Any]] = []
    for length in flags.lengths:
        told = ask(cases, length, flags)
        rows.append({"up to": length, "own notes": "any", **figures(told)})
        for count in sorted({each["notes"] for each in told}):
            some = [each for each in told if each["notes"] == count]
            if any(e["answerable"] for e in some):
                rows.append({"up to": length, "own notes": count, **figures(some)})
        print(markdown(rows), flush=True)
    if flags.out:
        flags.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        flags.out.with_suffix(".md").write_text(markdown(rows) + "\n")


if __name__ == "__main__":
    main()
