"""The clinicians' questions: well formed, and answerable by their gold SQL."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "clinicians"
HELD = FOLDER / "questions.jsonl"
TUNE = FOLDER.parents[2] / "models/corpus/tables/clinicians.jsonl"
REASONS = {
    "not in schema",
    "outside knowledge",
    "ambiguous",
    "unknown patient",
    "unknown value",
    "modify or export",
    "injection",
    "future or prediction",
    "chit-chat",
    "other language",
}


def _load(*paths: Path) -> list[dict[str, Any]]:
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


ITEMS = _load(TUNE, HELD)


def test_ids_and_questions_are_unique() -> None:
    for key in ("id", "question"):
        counts = Counter(item[key].lower() for item in ITEMS)
        assert counts.most_common(1)[0][1] == 1


def test_splits_halve_every_tier() -> None:
    counts = Counter((item["tier"], item["split"]) for item in ITEMS)
    tiers = {tier for tier, _ in counts}
    assert tiers == {1, 2, 3, "abstain"}
    for tier in tiers:
        assert counts[tier, "tune"] == counts[tier, "held"] > 0
    assert {item["split"] for item in _load(HELD)} == {"held"}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item["id"]))
def test_each_has_gold_or_a_reason(item: dict[str, Any]) -> None:
    assert set(item) == {"id", "tier", "split", "question", "gold_sql", "reason"}
    if item["tier"] == "abstain":
        assert item["gold_sql"] is None
        category, _, detail = item["reason"].partition(": ")
        assert category in REASONS and detail
    else:
        assert item["reason"] is None
        assert item["gold_sql"].startswith("SELECT ") and ";" not in _unquoted(item["gold_sql"])


def test_every_gold_gives_rows_without_null(shared_data: Path) -> None:
    path = shared_data / "ehrsql-2024" / "mimic_iv.sqlite"
    if not path.is_file():
        pytest.skip("needs the EHRSQL-2024 database")
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as database:
        for item in ITEMS:
            if item["gold_sql"] is not None:
                rows = database.execute(item["gold_sql"]).fetchall()
                assert rows, item["id"]
                assert all(cell is not None for row in rows for cell in row), item["id"]
    database.close()


def test_readme_names_the_files_it_describes() -> None:
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in (TUNE, HELD):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in told


def _unquoted(sql: str) -> str:
    return re.sub(r"'[^']*'", "''", sql)
