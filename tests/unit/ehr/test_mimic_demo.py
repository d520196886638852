"""The MIMIC-IV demo, imported, is the database that EHRSQL-2024 made from it."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import importlib.util
import json
import os
import sqlite3
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions, ImportReport
from ehrqa_cli.ehr.schema import BY_NAME, TABLES
from ehrqa_cli.evaluate.ehrsql import execution, load
from ehrqa_cli.evaluate.rows import comparable

_TOOL = Path(__file__).parents[2] / "benchmarks" / "compare_import.py"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_import", _TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ehrsql_file(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An import with EHRSQL's conventions and patients, and its prices, which were random."""
    reference = shared_data / "ehrsql-2024/mimic_iv.sqlite"
    left = sqlite3.connect(f"{reference.as_uri()}?mode=ro", uri=True)
    patients = frozenset(r[0] for r in left.execute("SELECT subject_id FROM patients"))
    costs = left.execute("SELECT * FROM cost").fetchall()
    left.close()
    out = tmp_path_factory.mktemp("import") / "ehr.sqlite"
    options = dataclasses.replace(ImportOptions().as_ehrsql(), patients=patients)
    import_mimic(shared_data / "mimic-iv-demo", out, options)
    with sqlite3.connect(out) as right:
        right.executemany(f"INSERT INTO cost VALUES ({', '.join('?' * len(costs[0]))})", costs)
    right.close()
    return out


@pytest.fixture(scope="module")
def whole(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> ImportReport:
    """An import with the defaults, and prices."""
    out = tmp_path_factory.mktemp("whole") / "ehr.sqlite"
    return import_mimic(shared_data / "mimic-iv-demo", out, ImportOptions(synthetic_costs=1))


def test_ehrsql_conventions_give_the_reference_row_by_row(
    ehrsql_file: Path, shared_data: Path
) -> None:
    """With the same patients, even the row ids are the same."""
    reference = shared_data / "ehrsql-2024/mimic_iv.sqlite"
    left = sqlite3.connect(f"{reference.as_uri()}?mode=ro", uri=True)
    right = sqlite3.connect(ehrsql_file)
    for table in TABLES:
        columns = ", ".join(r[1] for r in left.execute(f"PRAGMA table_info({table.name})"))
        sql = f"SELECT {columns} FROM {table.name} ORDER BY row_id"
        assert left.execute(sql).fetchall() == right.execute(sql).fetchall(), table.name
    left.close()
    right.close()


def test_the_defaults_give_all_of_the_reference_and_more(
    whole: ImportReport, shared_data: Path
) -> None:
    assert not whole.missing
    compared = _tool().compare(shared_data / "ehrsql-2024/mimic_iv.sqlite", whole.out)
    assert len(compared) == len(TABLES) - 1
    for found in compared:
        assert found.reference > 0
        assert found.made == found.equal + found.other_visits + found.later + found.rest
        if found.table == "procedures_icd":
            # on the day of admission EHRSQL dates a procedure to the discharge; we do not
            assert 0 < found.only_reference < found.reference / 2
        else:
            assert found.only_reference == 0, found


@pytest.mark.parametrize("split", ["train", "valid"])
def test_gold_queries_give_the_published_answers_beside_the_new_columns(
    ehrsql_file: Path, shared_data: Path, split: str
) -> None:
    """Neither further columns nor tables get in the way of EHRSQL-2024's queries."""
    database = SqliteDatabase.open(ehrsql_file)
    assert {"emar", "omr"} < set(database.schema())
    assert "race" in database.schema()["admissions"]
    items = [i for i in load.load_ehrsql(shared_data / "ehrsql-2024", split).items if i.gold]
    # One in forty by default; ALL_GOLD=1 takes them all, which needs some minutes.
    for item in items[:: 1 if os.environ.get("ALL_GOLD") else 40]:
        found = neuralsql.run(
            item.gold or "", database, as_of=database.default_as_of(), limits=execution.SCORING
        )
        assert comparable(found[0].rows) == item.answer, item.id
    database.close()


def test_every_row_and_every_column_of_the_raw_files_is_accounted_for(
    whole: ImportReport, shared_data: Path
) -> None:
    """Each file's rows are kept; what stands in a column that is kept stands in the database, as
    often; what is made into another is there; and what is left out has a reason."""
    folder = shared_data / "mimic-iv-demo"
    made = sqlite3.connect(whole.out)
    told = {(c.file, c.column): c for c in whole.columns}
    kept = 0
    for path in sorted(folder.glob("*/*.csv.gz")):
        name = f"{path.parent.name}/{path.name.partition('.')[0]}"
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            header = [column.lower() for column in next(lines)]
            columns = list(zip(*lines, strict=True))
        for column, values in zip(header, columns, strict=True):
            found = told.pop((name, column))
            if found.what in ("left out", "ignored"):
                assert found.why and not found.to, found
                continue
            table = BY_NAME[path.name.partition(".")[0]]
            (rows,) = made.execute(f"SELECT count(*) FROM {table.name}").fetchone()
            assert rows == len(values), table.name
            if found.what == "kept" and table.column(column).source == column:
                kept += 1
                there = Counter(r[0] for r in made.execute(f"SELECT {column} FROM {table.name}"))
                kind = table.column(column).type
                assert there == Counter(_plain(kind, value) for value in values), found
            elif found.what == "made into":
                assert found.to and set(found.to.split(", ")) < set(table.names()), found
            else:
                assert found.what == "kept", found
    made.close()
    assert not told, "of files that are not there"
    assert kept > 200


def _plain(kind: str, text: str) -> object:
    """What a field says, read independently of the importer."""
    text = text.strip().lower()
    if not text:
        return None
    if kind.startswith("VARCHAR"):
        return text
    if kind.startswith("TIMESTAMP"):
        return str(datetime.fromisoformat(text))
    return float(text) if kind.startswith("DOUBLE") else int(text)


def test_gold_queries_run_on_an_import(whole: ImportReport, shared_data: Path) -> None:
    """The columns that EHRSQL-2024 lacks do not get in the way of its queries."""
    labels = json.loads((shared_data / "ehrsql-2024/valid/label.json").read_text())
    gold = [sql for sql in labels.values() if sql != "null" and "_lower" not in sql]
    connection = sqlite3.connect(whole.out)
    for sql in gold:
        connection.execute("EXPLAIN " + sql.replace("current_time", f"'{whole.as_of}'"))
    connection.close()
    assert len(gold) > 900
