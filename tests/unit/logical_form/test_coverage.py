"""A share of EHRSQL-2024's gold queries: a form for each, whose SQL gives the same rows.

The whole measurement, also on a perturbed copy, is tests/benchmarks/form_coverage.py.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ehrqa_cli.logical_form import compile_sql, parse, print_form
from ehrqa_cli.neuralsql import Context
from ehrqa_cli.neuralsql import bind as bind_names
from ehrqa_cli.sets.inverse import invert

NOW = Context("2100-12-31 23:59:00")


@pytest.mark.parametrize("split", ["train", "valid"])
def test_every_form_gives_the_rows_of_its_gold_query(shared_data: Path, split: str) -> None:
    folder = shared_data / "ehrsql-2024"
    labels = json.loads((folder / split / "label.json").read_text())
    gold = sorted({sql for sql in labels.values() if sql != "null"})[::40]
    assert len(gold) > 20
    uri = f"file:{folder / 'mimic_iv.sqlite'}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        compare(db, gold)


def compare(db: sqlite3.Connection, gold: list[str]) -> None:
    for sql in gold:
        text = print_form(invert(sql))
        compiled = compile_sql(parse(text))
        assert "SELECT" not in text
        expected = sorted(db.execute(bind_names(sql, NOW)).fetchall(), key=repr)
        found = sorted(db.execute(bind_names(compiled, NOW)).fetchall(), key=repr)
        assert found == expected, text
