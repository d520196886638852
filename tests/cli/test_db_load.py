"""``ehrqa db import --to``: what reaches the plugin that writes, without a server."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.ehr import loading
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mimic import importer as mimic_import
from ehrqa_cli.ehr.mimic.large import advice
from ehrqa_cli.ehr.mimic.options import ImportOptions, ImportReport, TableReport
from ehrqa_cli.ehr.schema import TABLES

TO = "postgresql://loader@dbhost/ehr"


class There:
    """What is on the server already."""

    def __init__(self, *tables: str) -> None:
        self.tables = tables

    def schema(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.tables, ("row_id",))

    def close(self) -> None:
        return


class Writer(SqliteDatabase):
    """Takes what it is given, and reads all of it."""

    in_files: ClassVar[bool] = False
    seen: ClassVar[dict[str, tuple[LoadTable, list[tuple[object, ...]]]]] = {}
    asked: ClassVar[list[tuple[str, bool]]] = []
    fails: ClassVar[bool] = False
    there: ClassVar[There]

    @classmethod
    def open(cls, target: str | Path) -> Writer:
        return cls.there  # type: ignore[return-value]

    @classmethod
    def load(
        cls, target: str, tables: Iterable[LoadTable], *, replace: bool = False
    ) -> Loaded | None:
        cls.asked.append((target, replace))
        if cls.fails:
            raise ImportFailed("the table patients exists already", "replace it with --force")
        cls.seen.update({table.name: (table, list(table.rows)) for table in tables})
        rows = sum(len(rows) for _, rows in cls.seen.values())
        return Loaded(len(cls.seen), rows, ("a role was made",))


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> type[Writer]:
    monkeypatch.setattr(Writer, "seen", {})
    monkeypatch.setattr(Writer, "asked", [])
    monkeypatch.setattr(Writer, "there", There("wards"), raising=False)
    monkeypatch.setattr(registry, "database_of", {"postgresql": "postgres"}.get)
    monkeypatch.setattr(registry, "load", lambda group, name, contract: Writer)
    return Writer


def test_a_sqlite_ehr_reaches_the_server_whole(cli, ehr, writer) -> None:
    ran = cli("db", "import", ehr, "--to", TO)
    assert ran.code == 0, ran.err
    assert writer.asked == [(TO, False)]
    with sqlite3.connect(ehr) as connection:
        assert len(writer.seen["patients"][1]) == 2
        for name, (_, rows) in writer.seen.items():
            order = "key" if name == "ehrqa_meta" else "rowid"
            assert rows == connection.execute(f"SELECT * FROM {name} ORDER BY {order}").fetchall()
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()
    assert {name for (name,) in names if not name.startswith("sqlite_")} == set(writer.seen)
    total = sum(len(rows) for _, rows in writer.seen.values())
    assert f"{TO}: {len(writer.seen)} tables, {total:,} rows written in" in ran.out
    assert "a role was made" in ran.err


def test_tables_come_with_what_the_server_must_know(cli, ehr, writer) -> None:
    assert cli("db", "import", ehr, "--to", TO, "--force", "--json").code == 0
    assert writer.asked == [(TO, True)]
    table = writer.seen["admissions"][0]
    known = next(t for t in TABLES if t.name == "admissions")
    assert dict(table.columns)["admittime"] == "timestamp"
    assert dict(table.columns)["hadm_id"] == "integer"
    assert dict(writer.seen["cost"][0].columns)["cost"] == "real"
    assert (table.key, table.unique, table.indexes) == ("row_id", ("hadm_id",), known.indexes)
    assert {"subject_id", "admittime"} <= table.required and "dischtime" not in table.required


def test_a_release_is_read_first_and_leaves_no_file(
    cli, ehr, writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare, release = tmp_path / "spare", tmp_path / "release"
    spare.mkdir()
    release.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))

    def fake(
        source: Path, out: Path, options: ImportOptions, progress: object, *, indexed: bool
    ) -> ImportReport:
        assert source == release and out.parent.parent == spare and not options.force
        assert not indexed  # nothing is looked up in what is only read through
        shutil.copy(ehr, out)
        tables = (TableReport("patients", "hosp/patients", read=3, kept=2),)
        return ImportReport(out, tables, (), (), "2100-12-31 23:59:00", 0.1)

    monkeypatch.setattr(mimic_import, "import_mimic", fake)
    ran = cli("db", "import", release, "--to", TO, "--json", "--force")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["to"] == TO and "out" not in told and told["notes"] == ["a role was made"]
    assert told["rows"] == 2 and told["loaded"]["rows"] == 8
    assert writer.asked == [(TO, True)]
    assert list(spare.iterdir()) == []

    monkeypatch.setattr(writer, "fails", True)
    ran = cli("db", "import", release, "--to", TO)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-2:] == [
        "error: the table patients exists already", "hint: replace it with --force"
    ]  # fmt: skip
    assert list(spare.iterdir()) == []


def test_tables_that_are_there_are_said_before_anything_is_read(
    cli, writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "there", There("labevents"))
    ran = cli("db", "import", tmp_path, "--to", TO)
    assert ran.code == 1 and "the table labevents exists already" in ran.err
    assert "--force" in ran.err
    ran = cli("db", "import", tmp_path, "--to", TO, "--force")  # now the release is looked for
    assert ran.code == 1 and "exists already" not in ran.err
    assert writer.asked == []


def test_what_is_wrong_is_said_before_anything_is_read(cli, tmp_path: Path, ehr) -> None:
    for flags, what in (
        ((), "name one place to import to"),
        (("--out", tmp_path / "x", "--to", TO), "name one place to import to"),
        (("--to", "duckdb"), "name one place to import to"),
        (("--to", f"sqlite:{tmp_path}/x"), "--to cannot write to sqlite:"),
        (("--to", tmp_path / "x.sqlite"), "--to cannot write to"),
        (("--to", "postgresql://me:hunter2@dbhost/ehr"), "has a password in it"),
    ):
        ran = cli("db", "import", ehr, *flags)
        assert (ran.code, ran.out) == (2, ""), flags
        assert what in ran.err and "hint: " in ran.err
        assert "hunter2" not in ran.err


def test_what_is_no_ehr_is_not_written(cli, writer, tmp_path: Path) -> None:
    (tmp_path / "not").write_bytes(b"SQLite format 3\x00 no")
    assert cli("db", "import", tmp_path / "not", "--to", TO).code == 1
    sqlite3.connect(tmp_path / "empty.sqlite").execute("CREATE TABLE t (x)").connection.close()
    ran = cli("db", "import", tmp_path / "empty.sqlite", "--to", TO)
    assert ran.code == 1 and "holds no EHR" in ran.err
    assert cli("db", "import", tmp_path / "gone", "--to", TO).code == 1
    assert writer.asked == []


def test_progress_is_told(ehr, writer) -> None:
    told: list[tuple[str, int, int]] = []
    loading.load_sqlite(ehr, TO, note=lambda *what: told.append(what))
    assert [done for name, done, of in told if name == "patients"][-1] > 0
    assert all(done <= of for _, done, of in told)


@pytest.mark.parametrize(("kind", "name"), [("duckdb", "ehr.duckdb"), ("parquet", "ehr")])
def test_files_that_are_not_sqlite_s(cli, ehr, tmp_path: Path, kind: str, name: str) -> None:
    pytest.importorskip("ehrqa_duckdb")
    out = tmp_path / name
    ran = cli("db", "import", ehr, "--to", kind, "--out", out)
    assert ran.code == 0 and f"{out}: " in ran.out, ran.err
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    asked = ("sql", "SELECT subject_id, dob, dod FROM patients ORDER BY 1", "--json", "--db")
    assert json.loads(cli(*asked, out).out)["rows"] == json.loads(cli(*asked, ehr).out)["rows"]

    again = cli("db", "import", ehr, "--to", kind, "--out", out)
    assert again.code == 1 and "exists already" in again.err
    assert cli("db", "import", ehr, "--to", kind, "--out", out, "--force").code == 0


def test_a_large_release_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "icu").mkdir()
    file = tmp_path / "icu" / "chartevents.csv.gz"
    file.write_bytes(b"")
    assert advice(tmp_path) == ""
    os.truncate(file, 4_730_000_000)  # takes no room on the disk
    assert "about 430 million rows" in advice(tmp_path) and "--to duckdb" in advice(tmp_path)
