"""Whatever a file of questions holds, `ehrqa batch` gives a row for each and no other surprise."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from pathlib import Path

import pytest

from .odd import INPUTS, harmed, plain, text, value

ROWS = 50  # of a file
COUNT = "how many patients are there?"
FIELDS = ("id", "patient_id", "study_id", "image", "images", "choices", "as_of", "other")
STATUSES = {"answered", "abstained", "failed"}


def record(rng: random.Random) -> dict[object, object]:
    found: dict[object, object] = {"id": rng.randrange(1000), "question": COUNT}
    if rng.random() < 0.5:
        found["question"] = text(rng)
    for field in FIELDS:
        if rng.random() < 0.15:
            found[field] = value(rng)
    return found


def json_line(rng: random.Random) -> bytes:
    line = plain(record(rng)).encode()
    return harmed(rng, line).replace(b"\n", b" ") if rng.random() < 0.4 else line


def csv_line(rng: random.Random) -> bytes:
    buffer = io.StringIO()
    cells = [str(rng.choice((COUNT, text(rng)))), *(str(value(rng)) for _ in range(3))]
    csv.writer(buffer).writerow([cell[:3000] for cell in cells])
    line = buffer.getvalue().encode("utf-8", "backslashreplace")
    return harmed(rng, line) if rng.random() < 0.3 else line.rstrip(b"\r\n")


def text_line(rng: random.Random) -> bytes:
    line = text(rng).encode("utf-8", "backslashreplace")
    return harmed(rng, line) if rng.random() < 0.5 else line


KINDS = {
    "jsonl": (b'{"question": "first"}', json_line),
    "csv": (b"question,id,patient_id,choices", csv_line),
    "txt": (b"first", text_line),
}


@pytest.mark.parametrize("ending", KINDS)
@pytest.mark.parametrize("to_csv", [False, True])
def test_a_file_of_odd_questions(cli, ehr, rote, tmp_path: Path, ending: str, to_csv: bool) -> None:
    header, line = KINDS[ending]
    source, out = tmp_path / f"in.{ending}", tmp_path / ("out.csv" if to_csv else "out.jsonl")
    for number in range(-(-INPUTS // ROWS // 2)):
        rng = random.Random(f"{ending} {to_csv} {number}")
        source.write_bytes(b"\n".join([header, *(line(rng) for _ in range(ROWS))]) + b"\n")
        started = time.monotonic()
        ran = cli("batch", source, out, "--db", ehr, "--restart", "--workers", 1)
        where = f"file {number} of {ending}: {ran.err}"
        assert time.monotonic() - started < 60, where
        assert ran.code in (0, 1) and "unexpected" not in ran.err, where
        assert "Traceback" not in ran.err and ran.out == "", where
        found = read(out, to_csv)
        assert {row["status"] for row in found} <= STATUSES, where
        assert ("failed" in {row["status"] for row in found}) is (ran.code == 1), where
        odd = [row for row in found if "unexpected" in str(row["text"])]
        assert not odd, f"{where}{odd[0]}"
        if ending == "jsonl":
            lines = source.read_bytes().split(b"\n")
            told = [one.decode("utf-8", "backslashreplace").strip() for one in lines]
            assert len(found) == len([one for one in told if one]), where
        assert {path.name for path in tmp_path.iterdir()} == {source.name, out.name, ehr.name}


def read(path: Path, is_csv: bool) -> list[dict[str, str]]:
    if not is_csv:
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    before = csv.field_size_limit(1 << 30)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    finally:
        csv.field_size_limit(before)
