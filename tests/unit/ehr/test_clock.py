"""The computer's clock and time zone, which no query may see, however it asks."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.clock import timed
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

AS_OF = "2100-12-31 23:59:00"
THEN = Limits(now=AS_OF)
NOW = [
    ("datetime('now')", AS_OF),
    ("datetime( /* ' */ 'NOW' -- '\n )", AS_OF),
    ("datetime('n' || 'ow')", AS_OF),
    ("date(lower('NOW'))", "2100-12-31"),
    ("time(CAST(x'6e6f77' AS TEXT))", "23:59:00"),
    ("datetime(x'4e6f57')", AS_OF),
    ("datetime('now' || char(0) || 'x')", AS_OF),
    ("datetime((SELECT 'nOw'))", AS_OF),
    ('datetime("now")', AS_OF),
    ("datetime(w) FROM ( SELECT 'Now' AS w )", AS_OF),
    ("\"datetime\"(q.[w]) FROM ( SELECT 'Now' AS w ) AS q", AS_OF),
    ("max(date(w)) FROM ( SELECT 'now' AS w UNION SELECT '2000-01-01' )", "2100-12-31"),
    ("datetime(coalesce(NULL, 'now'), 'start of year')", "2100-01-01 00:00:00"),
    ("date(strftime('now', '2000-01-01'))", "2100-12-31"),
    ("datetime(" + "'n' || " * 30 + "substr('now', 1))", None),
    ("datetime(substr('" + "now" + "x" * 120 + "', 1, 3))", AS_OF),
    ("strftime('%Y', 'now', '-' || 1 || ' year')", "2099"),
    ("strftime('%s')", "4133980740"),
    ("strftime('%Y' || '-')", "2100-"),
    ("date()", "2100-12-31"),
    ("julianday() - julianday('2100-12-31')", 0.9993055555038154),
    ("unixepoch()", 4133980740),
    ("unixepoch('subsec')", 4133980740),
    ("datetime \ufeff('n' || 'ow')", AS_OF),
    ("/*+ ' */ datetime('n' || 'ow') /*+ ' */", AS_OF),
]


@pytest.mark.parametrize(("sql", "value"), NOW, ids=[sql[:40] for sql, _ in NOW])
def test_now_is_the_time_that_is_given_however_it_is_spelt(
    demo: SqliteDatabase, sql: str, value: object
) -> None:
    found = demo.execute(f"SELECT {sql}", THEN).rows[0][0]
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("sql", [sql for sql, value in NOW if value is not None])
def test_without_a_given_time_now_is_refused(demo: SqliteDatabase, sql: str) -> None:
    with pytest.raises(Refused, match="clock") as caught:
        demo.execute(f"SELECT {sql}")
    assert "--as-of" in caught.value.hint


@pytest.mark.parametrize("zone", ["'localtime'", "'UTC'", "lower('LOCALTIME')", "'u' || 'tc'"])
def test_the_time_zone_is_refused(
    demo: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with pytest.raises(Refused, match="time zone"):
        demo.execute(f"SELECT datetime('2100-01-01', {zone})", THEN)


def test_a_column_may_hold_the_word(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "now.sqlite"
    path.write_bytes(demo_file.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE admissions SET dischtime = 'now' WHERE row_id = 1")
        connection.execute("UPDATE admissions SET dischtime = 'nowhere' WHERE row_id = 2")
    connection.close()
    database = SqliteDatabase.open(path)
    sql = "SELECT strftime('%Y-%m', a.dischtime) FROM admissions AS a WHERE row_id IN (1, 2)"
    assert database.execute(sql + " ORDER BY row_id", THEN).rows == (("2100-12",), (None,))
    database.close()


def test_a_view_that_looks_at_the_clock_is_refused(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "view.sqlite"
    path.write_bytes(demo_file.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW today AS SELECT date('now') AS d")
        connection.execute("CREATE VIEW spelt AS SELECT date('n' || 'ow') AS d")
        connection.execute("CREATE VIEW years AS SELECT strftime('%Y', dob) AS y FROM patients")
    connection.close()
    database = SqliteDatabase.open(path)
    for view in ("today", "spelt"):
        with pytest.raises(Refused, match="clock"):
            database.execute(f"SELECT * FROM {view}", THEN)
    assert len(database.execute("SELECT y FROM years").rows) == 25
    database.close()


def test_everything_else_is_as_sqlite_has_it(demo: SqliteDatabase, demo_file: Path) -> None:
    """Times of all kinds give what SQLite gives, and columns keep their names."""
    plain = sqlite3.connect(demo_file)
    for sql in (
        "SELECT date(1e3), date(-5), date(NULL), datetime(2451545), datetime(0, 'unixepoch')",
        "SELECT strftime('%Y', charttime), count(*) FROM labevents GROUP BY"
        " strftime('%Y', charttime) ORDER BY strftime('%Y', charttime)",
        "SELECT datetime(max(charttime), '-1 day') FROM labevents",
        "SELECT subject_id, strftime('%J', dischtime) - strftime('%J', admittime) FROM admissions",
        "SELECT row_id, datetime(admittime || ''), date ( admittime , 'start of month' ) AS d"
        " FROM admissions AS a WHERE datetime(a.admittime) > '2100-02'",
        "SELECT date(subject_id), date(gender), date(dob || 'x') FROM patients",
        "SELECT * FROM ( SELECT time(dob), time(dod) FROM patients )",
        "SELECT subject_id AS date, 'date(''now'')' FROM patients WHERE date IN ( 1, 2 )",
    ):
        cursor = plain.execute(sql)
        found = demo.execute(sql)
        assert list(found.rows) == cursor.fetchall()
        assert found.columns == tuple(part[0] for part in cursor.description)
    plain.close()


def test_what_cannot_be_the_clock_is_not_touched() -> None:
    for sql in (
        "SELECT strftime('%Y', '2100-01-01'), datetime(2451545), date(-1.5)",
        "SELECT datetime(strftime('%Y-%m-%d', datetime('2100-01-01', '-1 day')))",
        "SELECT 'date()', \"date\", [now] FROM date",
    ):
        assert timed(sql, None).sql == sql


def test_cutting_a_long_statement_is_quick() -> None:
    sql = "SELECT date(a) IN ('" + "','".join(["x"] * 100_000) + "')"
    started = time.process_time()
    timed(sql, AS_OF)
    assert time.process_time() - started < 2
