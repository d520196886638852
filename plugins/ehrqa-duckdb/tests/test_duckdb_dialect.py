"""SQLite's SQL written for DuckDB, as text: what it becomes, and what is refused.

That it gives the same rows is the contract suite's to show, with a database.
"""

from __future__ import annotations

import time

import pytest
from ehrqa_duckdb.dialect import DuckDb

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused
from ehrqa_cli.dialects import translate
from ehrqa_cli.sqltext import check_size

TYPES = {
    "admissions": {
        "row_id": "integer",
        "admittime": "timestamp",
        "dischtime": "text",
        "insurance": "text",
        "age": "integer",
        "cost": "real",
        "urgent": "boolean",
    },
    "patients": {"row_id": "integer", "gender": "text", "order": "integer"},
}


def written(sql: str) -> str:
    return translate(sql, DuckDb, TYPES)


def condition(sql: str) -> str:
    """What follows WHERE."""
    made = written(f"SELECT row_id FROM admissions WHERE {sql}")
    return made.removeprefix("SELECT row_id FROM admissions WHERE ").removesuffix(" ORDER BY ALL")


@pytest.mark.parametrize(
    ("sqlite", "duckdb"),
    [
        ("datetime(admittime) >= '2100-01-01 00:00:00'",
         "(admittime >= TIMESTAMP '2100-01-01 00:00:00')"),
        ("datetime(dischtime) >= datetime('2100-12-31 23:59:00', '-1 month')",
         "(TRY_CAST(dischtime AS TIMESTAMP) >= TIMESTAMP '2100-12-01 23:59:00')"),
        ("strftime('%Y-%m', admittime) = '2100-12'",
         "((admittime >= TIMESTAMP '2100-12-01 00:00:00' AND "
         "admittime < TIMESTAMP '2101-01-01 00:00:00'))"),
        ("datetime(admittime, 'start of year') = datetime('2100-06-07', 'start of year')",
         "((admittime >= TIMESTAMP '2100-01-01 00:00:00' AND "
         "admittime < TIMESTAMP '2101-01-01 00:00:00'))"),
        ("datetime(admittime, 'start of year') = '2100-06-07 00:00:00'",
         "(CAST(DATE_TRUNC('year', admittime) AS TIMESTAMP) = TIMESTAMP '2100-06-07 00:00:00')"),
        ("admittime = dischtime",
         "(STRFTIME(admittime, '%Y-%m-%d %H:%M:%S') = dischtime)"),
        ("insurance LIKE 'm%'", "(insurance ILIKE 'm%')"),
        ("insurance NOT LIKE 'm%'", "(NOT insurance ILIKE 'm%')"),
        ("age / 2 = 10", "((age // NULLIF(2, 0)) = 10)"),
        ("cost / 2 > 1.5", "((cost / NULLIF(2, 0)) > 1.5e0)"),
        ("insurance = 5", "(insurance = CAST(5 AS VARCHAR))"),
        ("age = '50'", "(age = 50.0e0)"),
        ("urgent = 1", "(CAST(urgent AS INTEGER) = 1)"),
        ("insurance = \"no column\"", "(insurance = 'no column')"),
        ("age IS NOT 5", "(age IS DISTINCT FROM 5)"),
        ("insurance COLLATE NOCASE = 'Medicare'", "(LOWER(insurance) = LOWER('Medicare'))"),
    ],
)  # fmt: skip
def test_conditions(sqlite: str, duckdb: str) -> None:
    assert condition(sqlite) == duckdb


@pytest.mark.parametrize(
    ("sqlite", "duckdb"),
    [
        ("SELECT COUNT(*) > 0 FROM patients",
         'SELECT CAST((COUNT(*) > 0) AS INTEGER) AS "COUNT(*) > 0" FROM patients ORDER BY ALL'),
        ("SELECT row_id FROM admissions ORDER BY age LIMIT 2",
         "SELECT row_id FROM admissions ORDER BY age ASC NULLS FIRST, 1 LIMIT 2"),
        ("SELECT row_id FROM admissions ORDER BY age DESC",
         "SELECT row_id FROM admissions ORDER BY age DESC NULLS LAST"),
        ("SELECT insurance, MAX(age) FROM admissions",
         'SELECT ARG_MAX(insurance, age) AS insurance, MAX(age) AS "MAX(age)" FROM admissions'
         " ORDER BY ALL"),
        ("SELECT insurance, age FROM admissions GROUP BY insurance",
         "SELECT insurance, FIRST(age) AS age FROM admissions GROUP BY insurance ORDER BY ALL"),
        ('SELECT "order" FROM patients', 'SELECT "order" FROM patients ORDER BY ALL'),
        ("SELECT strftime('%J','2100-12-31 23:59:00') - 1",
         "SELECT (2488434.499305556e0 - 1) AS \"STRFTIME('%J', '2100-12-31 23:59:00') - 1\""
         " ORDER BY ALL"),
    ],
)  # fmt: skip
def test_statements(sqlite: str, duckdb: str) -> None:
    assert written(sqlite) == duckdb


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('x')",
        "SELECT * FROM main.patients",
        "SELECT duckdb_settings()",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "DELETE FROM patients",
        "SELECT datetime(admittime, 'weekday 1') FROM admissions",
        "SELECT strftime('%Q', admittime) FROM admissions",
        "SELECT datetime(5 + age) FROM admissions",
        "SELECT SUM(age) OVER w FROM admissions WINDOW w AS (ORDER BY row_id)",
        "SELECT row_id FROM admissions LIMIT age",
        "SELECT x'00'",
        "SELECT 1 & 2",
        "SELECT",
    ],
)
def test_what_has_no_equal_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as raised:
        written(sql)
    assert raised.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM patients",
        "SELECT p.x FROM patients AS p",
        "SELECT 1 FROM nowhere",
        "SELECT age FROM patients",
        "SELECT row_id FROM patients GROUP BY 4",
    ],
)
def test_names_that_are_not_there(sql: str) -> None:
    with pytest.raises(DatabaseError):
        written(sql)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(Refused):
        written("SELECT " + "(" * 3000 + "1" + ")" * 3000)


def test_a_set_that_is_not_meant_begins_otherwise() -> None:
    assert condition("insurance GLOB '*[^a-m]?'") == "(insurance GLOB '*[!a-m]?')"
    for pattern in ("'[!a]*'", "insurance"):
        with pytest.raises(Refused, match="GLOB pattern"):
            condition(f"insurance GLOB {pattern}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1e",
        f"SELECT {'9' * 5000}",
        "SELECT abs()",
        "SELECT nullif(1)",
        "SELECT iif(1)",
        "SELECT 1 UNION SELECT 1, 2",
        "SELECT * FROM ( VALUES (1, 2), (3) )",
        f"SELECT {', '.join(['1'] * 501)}",
        f"SELECT {'(' * 2000}1{')' * 2000}",
        "SELECT datetime('2100-01-01', 'localtime')",
    ],
)
def test_what_is_no_sql_is_refused_in_one_line(sql: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        translate(sql, DuckDb, TYPES)
    assert "\n" not in str(raised.value)
    assert raised.value.hint


def test_a_number_in_text_may_have_thousands_of_digits() -> None:
    assert translate(f"SELECT '{'9' * 5000}' + 1", DuckDb, TYPES)


def test_translating_ends_at_its_deadline() -> None:
    sql = f"SELECT {' OR '.join(['1 = 2'] * 100)}"
    assert translate(sql, DuckDb, {}, deadline=time.monotonic() + 60)
    with pytest.raises(LimitExceeded):
        translate(sql, DuckDb, {}, deadline=time.monotonic() - 1)


def test_a_statement_that_takes_too_long_to_read_is_not_read() -> None:
    sql = f"SELECT {' OR '.join(['1 = 2'] * 20_000)}"
    check_size(sql, 10.0)
    with pytest.raises(LimitExceeded):
        check_size(sql, 1.0)


def test_now_is_the_time_that_is_given_or_refused() -> None:
    for sql in ("SELECT date('now')", "SELECT \"date\"('NOW')", "SELECT date()"):
        assert "'2099-05-06'" in translate(sql, DuckDb, {}, now="2099-05-06 07:08:09")
        with pytest.raises(Refused, match="clock"):
            translate(sql, DuckDb, {})
