"""Whatever a file of notes holds: what is imported is whole, the rest is told, twice is once."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.importing.write import Outcome
from ehrqa_cli.notes.store import NoteStore

from .odd import INPUTS, harmed, plain, text, value

ROWS = 20  # of a file
HEADINGS = ("Allergies:", "Medications on Admission:", "___", "HISTORY", "1.", "-", "*", ":")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1", "utf-32")


def note(rng: random.Random) -> str:
    parts = (rng.choice((*HEADINGS, text(rng))) for _ in range(rng.randrange(1, 8)))
    return rng.choice(("\n", "\r\n", "\r", " ")).join(parts)


def record(rng: random.Random, number: int) -> dict[str, object]:
    found: dict[str, object] = {"note_id": f"n{number}", "patient_id": 101, "text": note(rng)}
    for field in ("note_id", "patient_id", "text", "hadm_id", "charttime", "category"):
        if rng.random() < 0.1:
            found[field] = value(rng)
    return found


def json_file(rng: random.Random) -> bytes:
    lines = [plain(record(rng, k)) for k in range(ROWS)]
    raw = "\n".join(lines).encode(rng.choice(ENCODINGS), "replace")
    return harmed(rng, raw) if rng.random() < 0.5 else raw


def csv_file(rng: random.Random) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["note_id", "subject_id", "charttime", "text"])
    for number in range(ROWS):
        whose = rng.choice(("101", "102", str(value(rng))[:50]))
        writer.writerow([f"n{number}", whose, rng.choice(("", "2100-01-01", "x")), note(rng)])
    raw = buffer.getvalue().encode(rng.choice(ENCODINGS), "replace")
    return harmed(rng, raw) if rng.random() < 0.5 else raw


def packed(rng: random.Random) -> bytes:
    return harmed(rng, gzip.compress(rng.choice((csv_file, json_file))(rng)))


KINDS = {"jsonl": json_file, "csv": csv_file, "csv.gz": packed, "txt": None}


def folder(rng: random.Random, source: Path) -> None:
    source.mkdir()
    for number in range(ROWS):
        raw = note(rng).encode(rng.choice(ENCODINGS), "replace")
        (source / f"101-DS-{number}.txt").write_bytes(harmed(rng, raw))


@pytest.mark.parametrize("ending", KINDS)
def test_odd_notes(tmp_path: Path, ending: str) -> None:
    for number in range(-(-INPUTS // ROWS // len(KINDS))):
        rng = random.Random(f"{ending} {number}")
        at = tmp_path / str(number)
        at.mkdir()
        source, db = at / f"notes.{ending}", at / "ehr.sqlite"
        make = KINDS[ending]
        folder(rng, source) if make is None else source.write_bytes(make(rng))
        first = imported(source, db)
        held = contents(db)
        again = imported(source, db)
        assert contents(db) == held, f"{source}: a second time changed what is there"
        if first is not None:
            assert again is not None and not again[Outcome.ADDED], source
            assert len(held) == first[Outcome.ADDED]
        assert {p.name for p in at.iterdir()} <= {source.name, "ehr.sqlite.notes.sqlite"}


def imported(source: Path, db: Path) -> dict[Outcome, int] | None:
    told = []
    try:
        report = import_notes(source, db, on_problem=told.append)
    except EhrqaError as error:
        assert error.hint and error.message, source
        return None
    assert report.left_out == len(told) and all(p.message and p.hint for p in told), source
    assert report.read == sum(report.outcomes.values()) + sum(
        "is there already" not in p.message for p in told
    )
    return report.outcomes


def contents(db: Path) -> list[tuple[object, ...]]:
    if not db.with_name("ehr.sqlite.notes.sqlite").exists():
        return []
    with NoteStore.open(db) as store:
        for patient in store.patients():
            for one in store.notes(patient):
                one.text.encode()
            for line in store.lines(patient):
                assert line.text and line.start < line.end
        return store.query("SELECT note_id, patient_id, sha256, text FROM note ORDER BY id")
