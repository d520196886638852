"""Which databases follow EHRSQL-2024's conventions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW
from ehrqa_cli.engine.layouts import layout_of
from ehrqa_cli.logical_form import Layout


def _layout(path: Path) -> Layout:
    database = SqliteDatabase.open(str(path))
    try:
        return layout_of(database)
    finally:
        database.close()


def test_a_database_with_what_its_tables_leave_out_means_concepts(
    ehr: Path, tmp_path: Path
) -> None:
    with sqlite3.connect(ehr) as connection:
        connection.execute("UPDATE labevents SET charttime = '2107-01-01 00:00:00'")
    connection.close()
    layout = _layout(ehr)
    assert not layout.ehrsql
    assert layout.has("inputevents", "amount", "amountuom") and not layout.has("emar")


def test_ehrsql_s_clock_and_its_bare_tables_are_its_conventions(ehr: Path, tmp_path: Path) -> None:
    database = SqliteDatabase.open(str(ehr))
    assert database.default_as_of() == EHRSQL_NOW, "the fixture ends in 2100"
    database.close()
    assert _layout(ehr).ehrsql
    with sqlite3.connect(ehr) as connection:
        connection.execute("UPDATE labevents SET charttime = '2107-01-01 00:00:00'")
        connection.execute("ALTER TABLE d_labitems DROP COLUMN fluid")
    connection.close()
    assert _layout(ehr).ehrsql
    build_demo(tmp_path / "demo.sqlite", patients=3)
    assert _layout(tmp_path / "demo.sqlite").ehrsql, "it has EHRSQL's 17 tables and no more"
