"""SQLite's SQL written for Spark, as text: what differs from DuckDB's."""

from __future__ import annotations

import pytest
from ehrqa_spark.dialect import Spark

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects import translate

TYPES = {
    "admissions": {
        "row_id": "integer",
        "subject_id": "integer",
        "admittime": "timestamp",
        "dischtime": "text",
        "insurance": "text",
        "age": "integer",
        "cost": "real",
    },
    "patients": {"row_id": "integer", "subject_id": "integer", "gender": "text"},
}


def written(sql: str) -> str:
    return translate(sql, Spark, TYPES)


@pytest.mark.parametrize(
    ("sqlite", "spark"),
    [
        ("datetime(admittime) >= '2100-01-01 00:00:00'",
         "(admittime >= TIMESTAMP '2100-01-01 00:00:00')"),
        ("datetime(admittime, '-1 month') >= '2100-01-01 00:00:00'",
         "((DATE_TRUNC('month', admittime) + INTERVAL '-1' MONTH + "
         "(admittime - DATE_TRUNC('month', admittime))) >= TIMESTAMP '2100-01-01 00:00:00')"),
        ("datetime(admittime, '+90 minutes') > '2100-01-01 00:00:00'",
         "((admittime + INTERVAL '90' MINUTE) > TIMESTAMP '2100-01-01 00:00:00')"),
        ("datetime(admittime, '+2 days') > '2100-01-01 00:00:00'",
         "((admittime + INTERVAL '2' DAY) > TIMESTAMP '2100-01-01 00:00:00')"),
        ("strftime('%H:%M', admittime) = '10:30'",
         "(DATE_FORMAT(admittime, 'HH:mm') = '10:30')"),
        ("strftime('%dth %m', admittime) = 'x'",
         "(DATE_FORMAT(admittime, 'dd\\'th \\'MM') = 'x')"),
        ("insurance = 'it''s \\n'", "(insurance = 'it\\'s \\\\n')"),
        ("insurance LIKE 'm%'", "(insurance ILIKE 'm%')"),
        ("insurance LIKE 'a\\b'",
         "(insurance ILIKE REPLACE('a\\\\b', '\\\\', '\\\\\\\\'))"),
        ("insurance GLOB 'm*[a-c]?'", "(insurance RLIKE '^m(?s:.*)[a-c](?s:.)$')"),
        ("strftime('%J', admittime) - strftime('%J', '2100-01-01 00:00:00') > 3",
         "((UNIX_MILLIS(admittime) - 4102444800000) > 3 * CAST(86400000 AS BIGINT))"),
        ("age * 3000000000 > 1", "((CAST(age AS BIGINT) * 3000000000) > 1)"),
        ("age / 2 = 10", "((age DIV NULLIF(2, 0)) = 10)"),
        ("cost / 2 > 1.5", "((cost / NULLIF(2, 0)) > 1.5e0)"),
        ("insurance = 5", "(insurance = CAST(5 AS STRING))"),
        ("instr(insurance, 'a') = 1", "(INSTR(insurance, 'a') = 1)"),
        ("trim(insurance, 'a') = ''", "(TRIM(BOTH 'a' FROM insurance) = '')"),
        ("substr(insurance, age, 2) = 'a'",
         "(SUBSTR(insurance, CAST(age AS INT), 2) = 'a')"),
        ("insurance = \"no column\"", "(insurance = 'no column')"),
    ],
)  # fmt: skip
def test_conditions(sqlite: str, spark: str) -> None:
    made = written(f"SELECT row_id FROM admissions WHERE {sqlite}")
    head, tail = "SELECT row_id FROM admissions WHERE ", " ORDER BY 1"
    assert made == f"{head}{spark}{tail}"


@pytest.mark.parametrize(
    ("sqlite", "spark"),
    [
        ("SELECT COUNT(*) > 0 FROM patients",
         "SELECT CAST((COUNT(*) > 0) AS INTEGER) AS `COUNT(*) > 0` FROM patients ORDER BY 1"),
        ("SELECT insurance, MAX(age) FROM admissions",
         "SELECT MAX_BY(insurance, CASE WHEN age IS NOT NULL THEN STRUCT(age, insurance) END) "
         "AS insurance, MAX(age) AS `MAX(age)` FROM admissions ORDER BY 1, 2"),
        ("SELECT insurance, age FROM admissions GROUP BY insurance",
         "SELECT insurance, MIN(age) AS age FROM admissions GROUP BY insurance ORDER BY 1, 2"),
        ("SELECT group_concat(gender, ';') FROM patients",
         "SELECT LISTAGG(gender, ';') WITHIN GROUP (ORDER BY gender) "
         "AS `GROUP_CONCAT(gender, ';')` FROM patients ORDER BY 1"),
        ("WITH a AS MATERIALIZED (SELECT row_id FROM patients) SELECT row_id FROM a",
         "WITH a AS (SELECT row_id FROM patients) SELECT row_id FROM a ORDER BY 1"),
        ("SELECT p.* FROM patients AS p JOIN admissions AS a USING (subject_id)",
         "SELECT p.row_id, p.subject_id, p.gender FROM patients AS p JOIN admissions AS a "
         "USING (subject_id) ORDER BY 1, 2, 3"),
    ],
)  # fmt: skip
def test_statements(sqlite: str, spark: str) -> None:
    assert written(sqlite) == spark


def test_a_query_in_an_inner_join_is_asked_in_where() -> None:
    earlier = "SELECT MAX(b.age) FROM admissions AS b WHERE b.subject_id = p.subject_id"
    made = written(
        "SELECT p.gender FROM patients AS p JOIN admissions AS a ON a.subject_id = p.subject_id "
        f"AND a.age = ( {earlier} ) LEFT JOIN patients AS q ON q.row_id = 1 WHERE p.row_id > 2"
    )
    assert "JOIN admissions AS a ON (a.subject_id = p.subject_id) LEFT JOIN" in made
    assert f"WHERE ((p.row_id > 2) AND (a.age = ({earlier.replace('WHERE ', 'WHERE (')})))" in made
    alone = written(f"SELECT 1 FROM patients AS p JOIN admissions AS a ON a.age = ( {earlier} )")
    assert "JOIN admissions AS a ON (1 <> 0) WHERE (a.age = (" in alone
    outer = "SELECT 1 FROM patients AS p {} JOIN admissions AS a ON a.age = ( SELECT 1 )"
    for side in ("LEFT", "RIGHT", "FULL"):
        assert "ON (a.age = (SELECT 1" in written(outer.format(side))


def test_a_star_over_using_has_the_column_once() -> None:
    made = written("SELECT * FROM patients JOIN (SELECT subject_id, age FROM admissions) AS a "
                   "USING (subject_id)")  # fmt: skip
    assert made.startswith(
        "SELECT patients.row_id, patients.subject_id, patients.gender, a.age FROM "
    )


def test_week_and_weekday_have_no_letter_in_sparks_formats() -> None:
    made = written("SELECT strftime('%Y-%W', admittime), strftime('%w', admittime) FROM admissions")
    assert "CONCAT(DATE_FORMAT(admittime, 'yyyy-'), LPAD(" in made
    assert "CAST(DAYOFWEEK(admittime) - 1 AS STRING)" in made


def test_glob_of_a_column_is_refused() -> None:
    with pytest.raises(Refused):
        written("SELECT row_id FROM patients WHERE gender GLOB gender")


def test_sums_of_real_numbers_are_sums_of_whole_ones() -> None:
    made = written("SELECT SUM(cost) FROM admissions")
    assert "TRY_SUM(FLOOR(cost * 1048576e0)) + TRY_SUM(TRY_CAST((cost * 1048576e0 - " in made
    assert "ELSE SUM(cost) END) AS `SUM(cost)`" in made
    kept = written("SELECT AVG(cost) FILTER (WHERE age > 1) FROM admissions")
    assert "/ COUNT(CASE WHEN (age > 1) THEN cost END)) AS " in kept
    assert " FILTER (WHERE " not in kept.replace("`AVG(cost) FILTER(WHERE age > 1)`", "")
    over = written("SELECT SUM(cost) OVER (ORDER BY age) FROM admissions")
    assert "SELECT SUM(cost) OVER (ORDER BY age ASC NULLS FIRST) AS " in over
    assert "SELECT SUM(DISTINCT cost) AS " in written("SELECT SUM(DISTINCT cost) FROM admissions")
    assert "SELECT SUM(age) AS " in written("SELECT SUM(age) FROM admissions")


def test_now_is_the_time_that_is_given_or_refused() -> None:
    for sql in ("SELECT date('now')", "SELECT \"date\"('NOW')", "SELECT date()"):
        assert "'2099-05-06'" in translate(sql, Spark, {}, now="2099-05-06 07:08:09")
        with pytest.raises(Refused, match="clock"):
            translate(sql, Spark, {})
