"""What a statement may be, without a server."""

from __future__ import annotations

import pytest
from ehrqa_postgres.guard import Guard

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused

GUARD = Guard(["e", "patients"], ["pg_class", "wages", "pg_stat_activity"])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT n, COUNT(*) FROM e GROUP BY n ORDER BY 2 DESC NULLS LAST LIMIT 3",
        "SELECT * FROM e AS a JOIN patients AS b ON a.n = b.n, e AS c WHERE a.n IN (1, 2)",
        "SELECT * FROM (e AS a CROSS JOIN patients AS b)",
        "SELECT x FROM (VALUES (1, 'a'), (2, 'b')) AS sub1(x, y)",
        "WITH a AS (SELECT * FROM e), b(x) AS MATERIALIZED (SELECT n FROM a) SELECT x FROM b",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
        "SELECT SUM(i) FROM n",
        "SELECT SUM(n) FILTER (WHERE n > 1) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND "
        "CURRENT ROW) FROM e",
        "SELECT EXTRACT(EPOCH FROM t) FROM e WHERE t IS NOT DISTINCT FROM TIMESTAMP '2100-01-01'",
        "SELECT w USING_ FROM e ORDER BY w USING ~<~ NULLS FIRST",
        "SELECT 1.5::float8, CAST(n AS DOUBLE PRECISION) FROM e",
        "SELECT 'pg_sleep(1); -- $$ /* \\ it''s' || w FROM e",
        'SELECT e."user", "e"."order" FROM e',
        "SELECT (ARRAY_AGG(n ORDER BY t DESC))[1] FROM e",
        "SELECT n AS current_of FROM e WHERE EXISTS (SELECT 1 FROM patients)",
    ],
)
def test_what_questions_need_passes(sql: str) -> None:
    GUARD.check(sql)


REFUSED = [
    "",
    "   ",
    "TABLE e",
    "EXPLAIN SELECT 1",
    "SHOW ALL",
    "DELETE FROM e",
    "SELECT 1; SELECT 2",
    "SELECT 1;",
    "SELECT 1 -- a comment",
    "SELECT /* a */ 1",
    "SELECT $1",
    "SELECT $$a$$",
    "SELECT E'\\x41'",
    "SELECT U&'\\0041'",
    'SELECT U&"\\0041"',
    "SELECT 1a",
    "SELECT x'41'",
    "SELECT 'a\x00'",
    "SELECT * FROM pg_class",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM other.e",
    "SELECT * FROM wages",
    "SELECT * FROM e, pg_class",
    "SELECT * FROM e JOIN pg_class ON true",
    "SELECT * FROM e a JOIN e b USING (n), pg_class c",
    "SELECT * FROM (pg_class CROSS JOIN e)",
    "SELECT * FROM e WHERE n IN (SELECT oid FROM pg_class)",
    "SELECT (WITH pg_class AS (SELECT 1) SELECT 1), (SELECT COUNT(*) FROM pg_class)",
    "SELECT (WITH wages AS (SELECT 1) SELECT 1), (SELECT COUNT(*) FROM wages)",
    "WITH a AS (TABLE pg_class) SELECT * FROM a",
    "WITH a AS (DELETE FROM e RETURNING n) SELECT * FROM a",
    "SELECT * FROM ONLY pg_class",
    "SELECT * FROM generate_series(1, 10)",
    "SELECT * FROM ROWS FROM (generate_series(1, 10))",
    "SELECT * FROM e, LATERAL pg_ls_dir('.') AS d",
    "SELECT n INTO made FROM e",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    'SELECT "pg_sleep"(10)',
    "SELECT pg_sleep (10)",
    "SELECT ('/etc/passwd'::text).pg_read_file",
    "SELECT (10::float8).pg_sleep",
    "SELECT (w).pg_read_file FROM e",
    "SELECT e.w.pg_read_file FROM e",
    "SELECT (ARRAY_AGG(w))[1].pg_read_file FROM e",
    "SELECT 'x'.pg_read_file",
    "SELECT regclass 'pg_class'",
    "SELECT xml '<a/>'",
    'SELECT "is" DISTINCT FROM pg_class',
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT current_setting('data_directory')",
    "SELECT lo_export(1, '/tmp/x'), lo_get(1)",
    "SELECT dblink('host=elsewhere', 'SELECT 1')",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "SELECT public.count(1)",
    "SELECT version()",
    "SELECT nextval('s')",
    "SELECT random()",
    "SELECT now()",
    "SELECT clock_timestamp()",
    "SELECT CURRENT_TIMESTAMP",
    "SELECT current_date",
    "SELECT LOCALTIME",
    "SELECT user",
    "SELECT session_user FROM e",
    "SELECT current_schema",
    "SELECT TIMESTAMP 'now'",
    "SELECT date 'today'",
    "SELECT 'now'::regclass",
    "SELECT 'pg_class'::regclass",
    "SELECT CAST('pg_class' AS regclass)",
    "SELECT ROW(1, 2)::pg_class",
    "SELECT * FROM e TABLESAMPLE SYSTEM (1)",
    "SELECT DISTINCT FROM e",
    "SELECT 1)",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_the_rest_is_refused(sql: str) -> None:
    with pytest.raises(Refused) as raised:
        GUARD.check(sql)
    assert raised.value.hint
    assert "\n" not in str(raised.value)


def test_deep_brackets_end_and_do_not_crash() -> None:
    with pytest.raises(LimitExceeded):
        GUARD.check("SELECT " + "(" * 100_000 + "1" + ")" * 100_000)


def test_a_long_list_is_no_problem() -> None:
    GUARD.check(f"SELECT n FROM e WHERE n IN ({', '.join(map(str, range(20_000)))})")


def test_every_refusal_is_the_contracts() -> None:
    assert issubclass(Refused, DatabaseError)
