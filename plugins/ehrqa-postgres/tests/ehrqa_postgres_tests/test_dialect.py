"""SQLite's SQL written for PostgreSQL, as text. That it gives the same rows is shown by the
contract suite, and by the plugin's tests on a server whose text is ordered by a language."""

from __future__ import annotations

import pytest
from ehrqa_postgres.dialect import Postgres

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects import translate

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
    "patients": {"row_id": "integer", "gender": "text", "order": "integer", "delete": "text"},
}


def written(sql: str) -> str:
    return translate(sql, Postgres, TYPES)


def condition(sql: str) -> str:
    """What follows WHERE."""
    made = written(f"SELECT row_id FROM admissions WHERE {sql}")
    return made.removeprefix("SELECT row_id FROM admissions WHERE ").removesuffix(" ORDER BY 1")


@pytest.mark.parametrize(
    ("sqlite", "postgres"),
    [
        ("datetime(admittime) >= '2100-01-01 00:00:00'",
         "(admittime >= TIMESTAMP '2100-01-01 00:00:00')"),
        ("strftime('%Y-%m', admittime) = '2100-12'",
         "((admittime >= TIMESTAMP '2100-12-01 00:00:00' AND "
         "admittime < TIMESTAMP '2101-01-01 00:00:00'))"),
        ("strftime('%m', admittime) = '07'", "(TO_CHAR(admittime, 'MM') = '07')"),
        ("admittime = dischtime",
         "(TO_CHAR(admittime, 'YYYY-MM-DD HH24:MI:SS') = dischtime)"),
        ("strftime('%Yw1', admittime) = 'x'", "(TO_CHAR(admittime, 'YYYY\"w1\"') = 'x')"),
        ("insurance LIKE 'm%'", "(insurance ILIKE 'm%' ESCAPE '')"),
        ("insurance NOT LIKE 'm#%' ESCAPE '#'", "(NOT insurance ILIKE 'm#%' ESCAPE '#')"),
        ("insurance GLOB '[a-c]*.?'", "(insurance ~ '^[a-c].*\\..$')"),
        ("insurance < 'm'", "(insurance COLLATE \"C\" < 'm')"),
        ("insurance = 'm'", "(insurance = 'm')"),
        ("insurance BETWEEN 'a' AND 'm'",
         "(insurance COLLATE \"C\" >= 'a' AND insurance COLLATE \"C\" <= 'm')"),
        ("age < 5", "(age < 5)"),
        ("age * 1000000 > 7", "((CAST(age AS BIGINT) * 1000000) > 7)"),
        ("age / 2 = 10", "((DIV(age, NULLIF(2, 0))) = 10)"),
        ("cost / 2 > 1.5", "((cost / NULLIF(2, 0)) > 1.5::float8)"),
        ("insurance = 5", "(insurance = CAST(5 AS TEXT))"),
        ("age = '50'", "(age = 50.0::float8)"),
        ("age = 'x'", "(age = CAST(NULL AS DOUBLE PRECISION))"),
        ("urgent = 1", "(CAST(urgent AS INTEGER) = 1)"),
        ("age IS NOT 5", "(age IS DISTINCT FROM 5)"),
        ("strftime('%J', admittime) - strftime('%J', '2100-01-01 00:00:00') > 3",
         "((CAST(EXTRACT(EPOCH FROM admittime) * 1000 AS BIGINT) - 4102444800000) > "
         "3 * CAST(86400000 AS BIGINT))"),
        # a text looked up by another: once
        ("insurance IN (SELECT gender FROM patients WHERE gender = 'f' AND row_id > 1)",
         "(insurance = ANY (ARRAY(SELECT gender FROM patients WHERE ((gender = 'f') AND "
         "(row_id > 1)))))"),
        ("insurance IN (SELECT gender FROM patients)",
         "(insurance IN (SELECT gender FROM patients))"),
        ("age IN (SELECT row_id FROM patients WHERE gender = 'f')",
         "(age IN (SELECT row_id FROM patients WHERE (gender = 'f')))"),
    ],
)  # fmt: skip
def test_conditions(sqlite: str, postgres: str) -> None:
    assert condition(sqlite) == postgres


@pytest.mark.parametrize(
    ("sqlite", "postgres"),
    [
        ("SELECT row_id FROM admissions ORDER BY age LIMIT 2",
         "SELECT row_id FROM admissions ORDER BY age ASC NULLS FIRST, 1 LIMIT 2"),
        ("SELECT DISTINCT insurance AS i FROM admissions ORDER BY i DESC LIMIT 2",
         "SELECT DISTINCT insurance AS i FROM admissions ORDER BY i USING ~>~ NULLS LAST, "
         "1 USING ~<~ LIMIT 2"),
        ("SELECT age, insurance FROM admissions",
         "SELECT age, insurance FROM admissions ORDER BY 1, 2 USING ~<~"),
        ("SELECT SUM(age) / 2, AVG(age) FROM admissions",
         'SELECT (DIV(SUM(age), NULLIF(2, 0))) AS "SUM(age) / NULLIF(2, 0)", '
         'AVG(CAST(age AS DOUBLE PRECISION)) AS "AVG(age)" FROM admissions ORDER BY 1, 2'),
        ("SELECT MAX(gender) AS m FROM patients",
         'SELECT MAX(gender COLLATE "C") AS m FROM patients ORDER BY 1 USING ~<~'),
        ("SELECT insurance, MAX(age) AS m FROM admissions",
         "SELECT (ARRAY_AGG(insurance ORDER BY age DESC NULLS LAST))[1] AS insurance, "
         "MAX(age) AS m FROM admissions ORDER BY 1 USING ~<~, 2"),
        ("SELECT insurance, age FROM admissions GROUP BY insurance",
         "SELECT insurance, (ARRAY_AGG(age))[1] AS age FROM admissions GROUP BY insurance "
         "ORDER BY 1 USING ~<~, 2"),
        ('SELECT "order", "delete" FROM patients',
         'SELECT "order", "delete" FROM patients ORDER BY 1, 2 USING ~<~'),
        ("SELECT NULL AS x UNION SELECT 3 AS x",
         "SELECT CAST(c1 AS BIGINT) AS x FROM (SELECT NULL AS x) AS q(c1) UNION SELECT 3 AS x "
         "ORDER BY 1"),
        ("SELECT substr(gender, 2, 3) AS s FROM patients",
         "SELECT SUBSTR(gender, 2, 3) AS s FROM patients ORDER BY 1 USING ~<~"),
    ],
)  # fmt: skip
def test_statements(sqlite: str, postgres: str) -> None:
    assert written(sqlite) == postgres


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_read_file('x')",
        "SELECT pg_sleep(1)",
        "SELECT set_config('role', 'postgres', false)",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT row_id FROM admissions WHERE insurance GLOB insurance",
        "SELECT datetime(admittime, 'weekday 1') FROM admissions",
        "SELECT 1; SELECT 2",
    ],
)
def test_what_has_no_equal_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as raised:
        written(sql)
    assert raised.value.hint


def test_the_julian_day_is_exact() -> None:
    """The decimal that makes a double's fraction exact is 2**-40 to its last digit."""
    made = written("SELECT strftime('%J', admittime) AS j FROM admissions")
    assert f"* {1 / 2**40:.40f}, 9)" in made
    assert "* 1099511627776 AS NUMERIC" in made and 1099511627776 == 2**40


def test_now_is_the_time_that_is_given_or_refused() -> None:
    for sql in ("SELECT date('now')", "SELECT \"date\"('NOW')", "SELECT date()"):
        assert "'2099-05-06'" in translate(sql, Postgres, {}, now="2099-05-06 07:08:09")
        with pytest.raises(Refused, match="clock"):
            translate(sql, Postgres, {})
