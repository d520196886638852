"""An EHR written into a DuckDB file or a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path

import pytest
from ehrqa_duckdb import DuckDbDatabase

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.loading import LoadTable
from ehrqa_cli.contracts.types import Limits

COLUMNS = (("row_id", "integer"), ("at", "timestamp"), ("n", "real"), ("said", "text"))
ROWS = [
    (1, "2100-01-02 03:04:05", 0.5, 'a "quoted",\nlong line'),
    (2, None, None, None),
    (3, "2100-01-02 00:00:00", -1e-9, ""),
    (4, "2100-01-02 00:00:00", 7.0, "one\r\ntwo\rthree, \u00fc, NULL"),
]


def table(rows: list[tuple[object, ...]] = ROWS) -> LoadTable:
    return LoadTable("notes", COLUMNS, iter(rows), required=frozenset({"row_id"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ehr.duckdb", "ehr/"])
def test_every_value_comes_back(tmp_path: Path, name: str) -> None:
    done = DuckDbDatabase.load(f"{tmp_path}/{name}", [table()])
    assert done is not None and (done.tables, done.rows) == (1, 4)
    out = tmp_path / name
    made = [out] if out.is_file() else [out, *out.iterdir()]
    assert all(p.stat().st_mode & 0o077 == 0 for p in made)  # they hold patients' data
    assert list(tmp_path.iterdir()) == [out]
    opened = DuckDbDatabase.open(str(out))
    found = opened.execute("SELECT * FROM notes ORDER BY row_id", Limits())
    opened.close()
    assert list(found.rows) == ROWS


def test_a_fault_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "ehr.duckdb"
    DuckDbDatabase.load(str(out), [table()])
    before = out.read_bytes()
    with pytest.raises(ImportFailed, match="exists already"):
        DuckDbDatabase.load(str(out), [table()])
    with pytest.raises(ImportFailed, match="cannot write"):
        DuckDbDatabase.load(str(out), [table([(None, None, None, None)])], replace=True)
    assert out.read_bytes() == before and list(tmp_path.iterdir()) == [out]
    DuckDbDatabase.load(str(out), [table(ROWS[:1])], replace=True)
    assert out.read_bytes() != before


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(ImportFailed, match="exists already"):
        DuckDbDatabase.load(f"{folder}/", [table()], replace=True)
    assert (folder / "thesis.txt").exists()
