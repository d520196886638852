"""Answers on a server whose text is ordered by a language, as most are: still SQLite's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import psycopg
import pytest
from ehrqa_postgres import PostgresDatabase
from ehrqa_postgres.private import READER, PrivateServer
from ehrqa_postgres.write import write

from ehrqa_cli.contract_suite import queries
from ehrqa_cli.contract_suite.database import SEED, same_rows, sample_tables, wrapped
from ehrqa_cli.contracts.loading import LoadTable
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo

pytestmark = pytest.mark.backend

PATIENTS = 12
LONG = Limits(seconds=60.0)
# Where a language and bytes differ: case, blanks, accents, signs.
WORDS = ("a", "B", "A", "b", "a b", "ab", "a-b", "_a", "é", "z", "Z", "10", "9", "", None)
TEXTS = (
    "SELECT w FROM words ORDER BY w",
    "SELECT w FROM words ORDER BY w DESC LIMIT 4",
    "SELECT DISTINCT w FROM words ORDER BY w",
    "SELECT w AS x FROM words ORDER BY x DESC",
    "SELECT MIN(w), MAX(w) FROM words",
    "SELECT w FROM words WHERE w < 'a' ORDER BY 1",
    "SELECT w FROM words WHERE w BETWEEN 'A' AND 'a' ORDER BY 1",
    "SELECT w, max(w, 'a'), min(w, 'a') FROM words ORDER BY n",
    "SELECT n, RANK() OVER (ORDER BY w) FROM words ORDER BY n",
    "SELECT group_concat(w) FROM (SELECT w FROM words WHERE w = 'a b')",
    "SELECT w FROM words UNION SELECT 'c' ORDER BY w",
    "SELECT a.w FROM words AS a WHERE a.w = (SELECT MAX(w) FROM words)",
    "SELECT n FROM words WHERE w LIKE 'A%' ORDER BY n",
    "SELECT n FROM words WHERE w LIKE '\\a' OR w LIKE '#_a' ESCAPE '#' ORDER BY n",
    "SELECT n FROM words WHERE w GLOB '[a-c]*' OR w GLOB '?' ORDER BY n",
    "SELECT substr(w, -2), substr(w, 2), substr(w, n - 3, 2) FROM words WHERE n > 3 ORDER BY n",
    "SELECT CAST(n * 1.0 AS TEXT), CAST(n / 3.0 AS TEXT), CAST(0.1 + 0.2 AS TEXT) FROM words",
    "SELECT round(n / 8.0, 2), round(n - 0.5), round(-2.5), round(1234.5678, 1) FROM words",
    "SELECT ln(n), log(n), log10(n), log2(n + 1), sqrt(n - 3), exp(n / 9.0) FROM words ORDER BY n",
    "SELECT log(2, 8), pow(2, 0.5), sign(-2.5), pi() > 3, ceil(1.2), floor(-1.2)",
    "SELECT n * 1000000000 * 10 FROM words ORDER BY n",
    "SELECT SUM(n) / 4, SUM(n) % 4, COUNT(*) / 2, SUM(n) * 1.0 / 4 FROM words",
    "SELECT NULL AS x UNION SELECT NULL UNION SELECT 3 ORDER BY 1",
    "SELECT n, x = n, x + 1, coalesce(x, n) FROM words, (SELECT NULL AS x) AS v",
    "WITH v(x) AS (VALUES (NULL), (NULL)) SELECT x IN (SELECT n FROM words) FROM v",
    "SELECT typeof(w), typeof(n), typeof(NULL) FROM words ORDER BY n LIMIT 3",
    "SELECT * FROM (SELECT n FROM words ORDER BY n LIMIT 2) UNION ALL "
    "SELECT * FROM (SELECT n FROM words ORDER BY n DESC LIMIT 2) ORDER BY 1",
)
TIMES = (
    "SELECT n, datetime(d), datetime(d, '+1 month'), strftime('%Y-%m', d) FROM times ORDER BY n",
    "SELECT n, strftime('%w %W %j %H:%M %%x', d), strftime('%f', d) FROM times ORDER BY n",
    "SELECT n, strftime('%J', d), julianday(d), strftime('%s', d) FROM times ORDER BY n",
    "SELECT n FROM times WHERE d >= '2100-02' AND strftime('%Y', d) = '2100' ORDER BY n",
    "SELECT n, datetime(s), datetime(s, '-1 year'), date(s, 'start of month') FROM times "
    "ORDER BY n",
    "SELECT n FROM times WHERE datetime(s) > datetime('2100-02-28 00:00:00') ORDER BY n",
    "SELECT n, length(d), substr(d, 1, 4) + 1 FROM times ORDER BY n",
)
MOMENTS = (
    "2100-01-31 23:59:59", "2100-02-28 00:00:00", "2099-12-31 00:00:01", "2096-02-29 12:34:56",
    "1858-11-17 00:00:00", "2100-06-07 08:09:10", "2137-11-04 13:40:37",
)  # fmt: skip
ODD = ("2100-02-27 10:00:00", "2100-13-01", "no time", "", "2100-06-07", "2100-06-07 08:09", None)


def tables() -> list[LoadTable]:
    words = tuple((i, word) for i, word in enumerate(WORDS))
    times = tuple((i, m, ODD[i]) for i, m in enumerate(MOMENTS))
    return [
        LoadTable("words", (("n", "integer"), ("w", "text")), words),
        LoadTable("times", (("n", "integer"), ("d", "timestamp"), ("s", "text")), times),
    ]


@pytest.fixture(scope="module")
def pair(
    server: PrivateServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Database, Database]]:
    """The same rows in PostgreSQL, ordered by American English, and in SQLite."""
    path = tmp_path_factory.mktemp("answers") / "demo.sqlite"
    build_demo(path, seed=SEED, patients=PATIENTS, force=True)
    with sqlite3.connect(path) as connection:
        for table in tables():
            named = ", ".join(name for name, _ in table.columns)
            connection.execute(f"CREATE TABLE {table.name} ({named})")
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", table.rows)
    connection.close()
    try:
        options = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
        server.create("english", options)
    except psycopg.Error as error:
        pytest.skip(f"this PostgreSQL has no languages: {str(error).splitlines()[0]}")
    loaded = [LoadTable(t.name, t.columns, t.rows) for t in sample_tables(path)]
    loaded = [t for t in loaded if t.name not in ("words", "times")] + tables()
    with server.connect("english") as session:
        write(session, loaded, reader=READER)
        rows = session.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE "
            "table_schema = 'public' AND data_type = 'text'"
        ).fetchall()
        for table_name, column in rows:  # as somebody else's tables would be
            session.execute(
                f'ALTER TABLE {table_name} ALTER {column} TYPE TEXT COLLATE "default"'.encode()
            )
        session.execute("ALTER TABLE words ALTER n TYPE SMALLINT")
    target = wrapped(PostgresDatabase.open(server.address("english")))
    reference = SqliteDatabase.open(path)
    yield target, reference
    target.close()
    reference.close()


def test_text_is_ordered_by_the_language_there(pair: tuple[Database, Database]) -> None:
    """Or the tests below would show nothing."""
    backend = pair[0].backend  # type: ignore[attr-defined]
    rows = backend.execute("SELECT w FROM words WHERE w IN ('a', 'B') ORDER BY w").rows
    assert rows == (("a",), ("B",))


@pytest.mark.parametrize("sql", [*TEXTS, *TIMES])
def test_what_postgresql_does_otherwise(pair: tuple[Database, Database], sql: str) -> None:
    found, wanted = (database.execute(sql, LONG) for database in pair)
    ordered = " ORDER BY " in sql.rsplit(")", 1)[-1]
    assert same_rows(found.rows, wanted.rows, ordered=ordered), (found.rows, wanted.rows)


def test_a_day_that_no_month_has_is_no_error(pair: tuple[Database, Database]) -> None:
    """It is counted on from the month's last, as SQLite does where it calculates."""
    sql = "SELECT datetime(w || '-31 10:00:00', '+1 day') FROM (SELECT '2100-02' AS w) AS t"
    found, wanted = (database.execute(sql, LONG) for database in pair)
    assert found.rows == wanted.rows == (("2100-03-04 10:00:00",),)


@pytest.mark.parametrize("group", queries.ANSWERED)
def test_the_suites_answers(pair: tuple[Database, Database], group: str) -> None:
    for sql in queries.ANSWERED[group]:
        found, wanted = (database.execute(sql, LONG) for database in pair)
        ordered = " ORDER BY " in sql.rsplit(")", 1)[-1]
        assert same_rows(found.rows, wanted.rows, ordered=ordered), sql
