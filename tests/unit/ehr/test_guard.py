"""What a query cannot do to the database, the disk, the memory or the clock."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend import guard as sqlite_guard
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

REFUSED = [
    "ATTACH 'stolen.sqlite' AS x",
    "ATTACH ':memory:' AS x",
    "DETACH main",
    "VACUUM INTO 'copy.sqlite'",
    "VACUUM",
    "PRAGMA query_only=OFF",
    "PRAGMA table_info(cost)",
    "INSERT INTO cost VALUES (1)",
    "REPLACE INTO cost VALUES (1)",
    "UPDATE cost SET cost = 0",
    "DELETE FROM cost",
    "DROP TABLE cost",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x (a)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "ALTER TABLE cost RENAME TO c",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "SAVEPOINT a",
    "EXPLAIN SELECT 1",
    "VALUES (1)",
    "WITH a AS (SELECT 1) INSERT INTO cost SELECT 1",
    "WITH a AS (SELECT 1) UPDATE cost SET cost = 0",
    "WITH a AS (SELECT 1) DELETE FROM cost",
    "/* hidden */ -- twice\n DROP TABLE cost",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE cost",
    "SELECT load_extension('evil')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "SELECT * FROM sqlite_master",
    "SELECT count(*) FROM sqlite_master",
    "SELECT count(*) FROM main.sqlite_schema",
    "SELECT 1 FROM sqlite_temp_master",
    "SELECT * FROM (SELECT sql FROM sqlite_schema)",
    "WITH sqlite_master AS (SELECT 1) SELECT count(*) FROM main.sqlite_master",
    "SELECT (SELECT sql FROM sqlite_master LIMIT 1) FROM patients",
    "SELECT * FROM pragma_table_info('cost')",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM ehrqa_meta",
    "SELECT count(*) FROM ehrqa_meta",
    "SELECT * FROM sqlite_stat1",
    "SELECT zeroblob(1000000000)",
    "SELECT randomblob(1000000000)",
    "SELECT random()",
    "SELECT current_time",
    "SELECT current_timestamp",
    "SELECT ?",
    "SELECT :name",
    "SELECT \x00",
    "SELECT '\ud800'",
    "",
    "  ; ",
    "-- nothing",
]
BOMBS = [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT max(x) FROM c",
    "WITH RECURSIVE c(x, y) AS (SELECT 1, printf('%100000d', 1) UNION ALL"
    " SELECT x + 1, printf('%100000d', x) FROM c) SELECT * FROM c ORDER BY y",
    "WITH RECURSIVE c(x, y) AS (SELECT 1, printf('%900000d', 1) UNION ALL"
    " SELECT x + 1, printf('%900000d', x) FROM c) SELECT * FROM c",
    "SELECT count(*) FROM labevents a, labevents b, labevents c, labevents d",
    "SELECT count(DISTINCT a.row_id || '-' || b.row_id || '-' || c.row_id)"
    " FROM labevents a, labevents b, labevents c",
    "SELECT * FROM labevents a, labevents b, labevents c ORDER BY a.valuenum * b.valuenum",
    "SELECT group_concat(a.row_id) FROM labevents a, labevents b, labevents c",
    "SELECT replace(printf('%900000d', 1), ' ', printf('%900000d', 1))",
    "SELECT hex(hex(hex(hex(printf('%500000d', 1)))))",
    "SELECT printf('%900000d', 1) || printf('%900000d', 1)",
    "SELECT trim(printf('%900000d', 1), replace(printf('%900000d', 1), ' ', 'b') || ' ')",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT " + " + ".join(["1"] * 100_000),
    "SELECT 1 " + "UNION ALL SELECT 1 " * 1000,
    "SELECT '" + "a" * 2_000_000 + "'",
    "SELECT " + ", ".join(["1"] * 5000),
    "SELECT 'a' LIKE replace(printf('%5000d', 1), ' ', '%a')",
]
QUICK = Limits(seconds=0.3)
_LONG = "( SELECT replace(printf('%900000d', 1), ' ', 'a') AS t )"
_LAUGHS = "".join(
    f", a{i} AS ( SELECT p.x FROM a{i - 1} AS p, a{i - 1} AS q )" for i in range(1, 30)
)
# One call, or a row of calls, that SQLite does not look up from. Each in its limit and 1 s.
SINGLE_CALLS = [
    "SELECT printf('%.*c', 1000000000, 'x')",
    "SELECT format('%.1000000000c', 'x')",
    "SELECT printf('%s%-,.*d', 'a', 1000000000, 1), printf('%*d', '1000000000x', 1)",
    f"SELECT {', '.join(['t LIKE ' + repr('%' + 'a' * 900 + 'b')] * 20)} FROM {_LONG}",
    f"SELECT {', '.join(['t GLOB ' + repr('*[' + 'b' * 900 + 'c]d')] * 20)} FROM {_LONG}",
    f"SELECT 1 IN ( {', '.join(['upper(t)'] * 20_000)} ) FROM {_LONG}",
    f"SELECT 1 IN ( {', '.join(['hex(t)'] * 20_000)} ) FROM {_LONG}",
    f"SELECT 1 IN ( {', '.join(['t || t'] * 20_000)} ) FROM {_LONG}",
    f"SELECT 1 IN ( {', '.join(['quote(t)'] * 20_000)} ) FROM {_LONG}",
    f"WITH a0 AS ( SELECT 1 AS x ){_LAUGHS} SELECT count(*) FROM a29",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(demo: SqliteDatabase, sql: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        demo.execute(sql)
    assert isinstance(caught.value, Refused) or "no such function" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("sql", BOMBS, ids=[b[:40] for b in BOMBS])
def test_bomb_is_limited(demo: SqliteDatabase, sql: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        demo.execute(sql, QUICK)
    assert "\n" not in str(caught.value)
    assert demo.execute("SELECT 1").rows == ((1,),), "the connection still works"


def test_nothing_appears_on_disk_and_memory_stays_bounded(demo_file: Path, tmp_path: Path) -> None:
    before = demo_file.read_bytes()
    script = (
        "import json, resource, sys\n"
        "from pathlib import Path\n"
        "from ehrqa_cli.contracts.errors import DatabaseError\n"
        "from ehrqa_cli.contracts.types import Limits\n"
        "from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase\n"
        "db = SqliteDatabase.open(Path(sys.argv[1]))\n"
        "ended = 0\n"
        "for sql in json.load(sys.stdin):\n"
        "    try:\n"
        "        db.execute(sql, Limits(seconds=0.3))\n"
        "    except DatabaseError:\n"
        "        ended += 1\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        # On Linux that is never less than what the parent had when it made this process.
        "if sys.platform == 'linux':\n"
        "    lines = Path('/proc/self/status').read_text().splitlines()\n"
        "    peak = next(line.split()[1] for line in lines if line.startswith('VmHWM'))\n"
        "print(ended, peak)\n"
    )
    queries = json.dumps(REFUSED + BOMBS)
    ran = subprocess.run(
        [sys.executable, "-c", script, str(demo_file)],
        input=queries,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    ended, kilobytes = map(int, ran.stdout.split())
    assert ended == len(REFUSED) + len(BOMBS)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    assert kilobytes * unit < 3 * sqlite_guard.HEAP_BYTES
    assert list(tmp_path.iterdir()) == []
    assert sorted(p.name for p in demo_file.parent.iterdir()) == [demo_file.name]
    assert demo_file.read_bytes() == before


@pytest.mark.parametrize("sql", SINGLE_CALLS, ids=[sql[:40] for sql in SINGLE_CALLS])
def test_single_calls_end_in_time(demo: SqliteDatabase, sql: str) -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded) as caught:
        demo.execute(sql, QUICK)
    assert time.monotonic() - started < QUICK.seconds + 1
    assert "\n" not in str(caught.value)
    assert demo.execute("SELECT count(*) FROM patients").rows == ((25,),), "it can be asked again"


def test_a_query_that_was_left_takes_no_memory_from_the_next(demo: SqliteDatabase) -> None:
    with pytest.raises(LimitExceeded):
        demo.execute(SINGLE_CALLS[-1], Limits(seconds=0.01))
    assert demo.execute("SELECT count(*) FROM labevents", Limits(seconds=20)).rows


def test_a_single_call_can_be_cancelled(demo: SqliteDatabase) -> None:
    timer = threading.Timer(0.2, demo.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        demo.execute(SINGLE_CALLS[4], Limits(seconds=60))
    assert time.monotonic() - started < 1.2
    assert demo.execute("SELECT 1").rows == ((1,),)


def test_printf_does_what_sqlite_does(demo: SqliteDatabase) -> None:
    import sqlite3

    plain = sqlite3.connect(":memory:")
    for arguments in (
        "'%d|%s|%%|%5.2f|%-8s|', 7, 'a', 1.005, NULL",
        "'%*d %.*f %.3c', 5, 42, 2, 3.14159, 'x'",
        "'%,d %x %e %q', 1234567, 255, 12345.678, 'it''s'",
        "'no more' , 1, 2",
        "'%d %s %z'",
        "NULL",
        "",
        "'%lld %i', 9000000000000000000, '12abc'",
    ):
        wanted = plain.execute(f"SELECT printf({arguments})").fetchall()
        assert list(demo.execute(f"SELECT printf({arguments})").rows) == wanted
    plain.close()


def test_slow_single_steps_are_not_slow(demo: SqliteDatabase) -> None:
    """SQLite's own instr compares 450,000 characters at 450,000 places in one step."""
    sql = "SELECT instr(printf('%900000d', 1), printf('%450000d', 1) || 'b')"
    assert demo.execute(sql).rows == ((0,),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM patients",
        "WITH t AS (SELECT 1 AS a) SELECT count(*) FROM t",
        "SELECT count(*) FROM (SELECT subject_id FROM patients)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5)"
        " SELECT sum(x) FROM c",
        "SELECT rowid, _rowid_, oid FROM cost LIMIT 1",
        "SELECT strftime('%Y', datetime('2100-12-31 23:59:00', '-1 year'))",
        "SELECT julianday('2100-01-01') - julianday('2099-01-01')",
        "SELECT dense_rank() OVER (ORDER BY age), percent_rank() OVER (ORDER BY age)"
        " FROM admissions",
        "select avg(cost), min(cost), total(cost) from cost where event_type like 'lab%'",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b'))",
    ],
)
def test_ordinary_queries_run(demo: SqliteDatabase, sql: str) -> None:
    assert demo.execute(sql).rows


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("instr('hello', 'l')", 3),
        ("instr('hello', '')", 1),
        ("instr(NULL, 'l')", None),
        ("instr(12345, 34)", 3),
        ("replace('aXbX', 'X', '--')", "a--b--"),
        ("replace('abc', '', 'z')", "abc"),
        ("replace('abc', 'b', NULL)", None),
        ("trim('xxaxx', 'x')", "a"),
        ("ltrim('xxaxx', 'x')", "axx"),
        ("rtrim('xxaxx', 'x')", "xxa"),
        ("trim('abc', '')", "abc"),
        ("trim('  a ')", "a"),
    ],
)
def test_replaced_functions_do_what_sqlite_does(
    demo: SqliteDatabase, sql: str, value: object
) -> None:
    import sqlite3

    plain = sqlite3.connect(":memory:")
    assert plain.execute(f"SELECT {sql}").fetchone() == (value,)
    plain.close()
    assert demo.execute(f"SELECT {sql}").rows == ((value,),)


def test_rows_are_limited_and_said_so(demo: SqliteDatabase) -> None:
    result = demo.execute("SELECT row_id FROM labevents", Limits(rows=10))
    assert len(result.rows) == 10
    assert result.truncated
    exact = demo.execute("SELECT row_id FROM labevents LIMIT 10", Limits(rows=10))
    assert len(exact.rows) == 10
    assert not exact.truncated


def test_cancel_from_another_thread(demo: SqliteDatabase) -> None:
    def soon() -> None:
        time.sleep(0.2)
        demo.cancel()

    thread = threading.Thread(target=soon)
    thread.start()
    with pytest.raises(Cancelled):
        demo.execute(BOMBS[0], Limits(seconds=60))
    thread.join()
    assert demo.execute("SELECT 1").rows == ((1,),)


def test_queries_from_several_threads(demo: SqliteDatabase) -> None:
    found: list[object] = []

    def ask(n: int) -> None:
        found.extend(demo.execute(f"SELECT {n} FROM patients LIMIT 1").rows[0])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str) == list(range(8))


def test_wrong_sql_is_a_database_error(demo: SqliteDatabase) -> None:
    for sql in ("SELECT nothing FROM patients", "SELECT * FROM nowhere", "SELECT FROM"):
        with pytest.raises(DatabaseError) as caught:
            demo.execute(sql)
        assert not isinstance(caught.value, (Refused, LimitExceeded, Cancelled))


_BOUNDS = {
    "temperature": (35.5, 38.1),
    "sao2": (95, 100),
    "heart_rate": (60, 100),
    "respiration": (12, 18),
    "systolic_bp": (90, 120),
    "diastolic_bp": (60, 90),
    "mean_bp": (60, 110),
}


def _gold(folder: Path) -> list[str]:
    """EHRSQL-2024's gold queries with their placeholders filled (data/README.md)."""
    out = []
    for split in ("train", "valid"):
        for sql in json.loads((folder / split / "label.json").read_text()).values():
            if sql == "null":
                continue
            text = re.sub(r"\bcurrent_time\b", "'2100-12-31 23:59:00'", sql)
            for name, (low, high) in _BOUNDS.items():
                text = text.replace(f"{name}_lower", str(low)).replace(f"{name}_upper", str(high))
            out.append(text)
    return out


def test_no_gold_query_is_refused(shared_data: Path) -> None:
    folder = shared_data / "ehrsql-2024"
    gold = _gold(folder)
    assert len(gold) > 5000
    database = SqliteDatabase.open(folder / "mimic_iv.sqlite")
    connection = database.ready(database._held).raw
    try:
        for sql in gold:
            sqlite_guard.check_statement(sql)
            # EXPLAIN prepares the query, which asks the authorizer, and does not run it
            connection.execute(f"EXPLAIN {sql}").fetchone()
        for sql in gold[::25]:
            database.execute(sql)
    finally:
        database.close()
