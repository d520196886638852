"""The clinicians' questions: well formed, answerable by their gold SQL, and scored as said."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sqlite3
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ehrqa_cli.contracts.types import Answer, Question, Status

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "clinicians"
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


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clinicians_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = _runner()
ITEMS: list[dict[str, Any]] = RUN.load((RUN.TUNE, RUN.HELD))


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
    assert {item["split"] for item in RUN.load((RUN.HELD,))} == {"held"}


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
    for path in (RUN.TUNE, RUN.HELD):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in told


@pytest.mark.parametrize(
    ("rows", "gold", "same"),
    [
        ([("a",), ("b",), ("a",)], [("b",), ("a",)], True),
        ([(1, "x")], [("x", 1)], False),
        ([("5.0",)], [(5,)], True),
        ([(0.12349,)], [(0.123,)], True),
        ([(-0.0001,)], [(0,)], True),
        ([(0.124,)], [(0.123,)], False),
        ([(None,)], [("None",)], False),
        ([("nan",)], [("nan",)], True),
        ([], [(0,)], False),
    ],
)
def test_rows_are_compared_as_said(
    rows: list[tuple[Any, ...]], gold: list[tuple[Any, ...]], same: bool
) -> None:
    assert (RUN.comparable(rows) == RUN.comparable(gold)) is same


@pytest.mark.parametrize(
    ("status", "gold", "expected"),
    [
        (Status.ANSWERED, [(1,)], "right"),
        (Status.ANSWERED, [(2,)], "wrong"),
        (Status.ANSWERED, None, "wrong"),
        (Status.ABSTAINED, [(1,)], "declined"),
        (Status.ABSTAINED, None, "right"),
        (Status.FAILED, [(1,)], "declined"),
    ],
)
def test_outcome(status: Status, gold: list[tuple[Any, ...]] | None, expected: str) -> None:
    answer = Answer(Question("how many?"), status, rows=((1,),))
    wanted = None if gold is None else RUN.comparable(gold)
    assert RUN.outcome(answer, wanted) == expected


def _unquoted(sql: str) -> str:
    return re.sub(r"'[^']*'", "''", sql)
