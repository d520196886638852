"""Spark as an EHR: what the contract suite does not ask."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from ehrqa_fixtures import together
from ehrqa_spark import SparkDatabase, engine

from ehrqa_cli.contract_suite.checking import State
from ehrqa_cli.contract_suite.plugins import Installed, check
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits

pytestmark = [pytest.mark.backend, pytest.mark.usefixtures("spark")]
LONG = Limits(seconds=120.0)
ENDLESS = "SELECT count(*) FROM e a, e b, e c, e d, e f WHERE a.n * b.n - c.n > d.n + f.n"
TABLE = SampleTable(
    "e",
    (("n", "integer"), ("x", "real"), ("t", "timestamp"), ("w", "text")),
    (
        *((i, i / 4, "2100-01-02 03:04:05", f'a "{i}", \\N\n') for i in range(500)),
        (None, None, None, ""),
    ),
)


def parquet(folder: Path, table: str, sql: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = str(folder / table).replace("'", "''")
    duckdb.sql(f"COPY ({sql}) TO '{name}' (FORMAT parquet)")


@pytest.fixture(scope="module")
def ehr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one table, made without Spark."""
    folder = tmp_path_factory.mktemp("ehr")
    parquet(
        folder,
        "e.parquet",
        "SELECT i::INTEGER AS n, i / 4 AS x, TIMESTAMP '2100-01-02 03:04:05' AS t, 'w' || i AS w "
        "FROM range(500) AS r(i) UNION ALL SELECT NULL, NULL, NULL, ''",
    )
    return folder


@pytest.fixture
def database(ehr: Path) -> Iterator[SparkDatabase]:
    opened = SparkDatabase.open(f"spark:{ehr}")
    yield opened
    opened.close()


def rows(target: Path, *asked: str) -> list[Sequence[tuple[object, ...]]]:
    opened = SparkDatabase.open(str(target))
    try:
        return [opened.execute(sql, LONG).rows for sql in asked]
    finally:
        opened.close()


def test_the_contract_suite() -> None:
    spark = Installed("ehrqa.database", "spark", "ehrqa_spark:SparkDatabase")
    outcomes = check(spark)
    assert len(outcomes) > 20
    assert [f"{o.check}: {o.message}" for o in outcomes if o.state != State.PASSED] == []


def test_values_come_back_as_they_went(tmp_path: Path) -> None:
    opened = SparkDatabase.open(SparkDatabase.sample(tmp_path, [TABLE]))
    assert opened.types() == {"e": {"n": "integer", "x": "real", "t": "timestamp", "w": "text"}}
    (row,) = opened.execute("SELECT * FROM e WHERE n = 3", LONG).rows
    assert row == (3, 0.75, "2100-01-02 03:04:05", 'a "3", \\N\n')
    assert opened.execute("SELECT * FROM e WHERE n IS NULL", LONG).rows == ((None,) * 3 + ("",),)
    opened.close()


def test_odd_types_become_the_contracts(tmp_path: Path) -> None:
    parquet(
        tmp_path,
        "o.parquet",
        "SELECT DATE '2100-05-06' AS d, 1.50::DECIMAL(9,2) AS m, true AS b, 0.5::FLOAT AS f, "
        "TIMESTAMPTZ '2100-01-01 00:00:01+00' AS s, 'ab'::BLOB AS bl, 12::TINYINT AS h, "
        "'nan'::DOUBLE AS nan, [1, 2] AS l",
    )
    opened = SparkDatabase.open(str(tmp_path))
    assert opened.types()["o"] == {
        "d": "timestamp", "m": "real", "b": "boolean", "f": "real", "s": "timestamp",
        "bl": "text", "h": "integer", "nan": "real", "l": "text",
    }  # fmt: skip
    found = opened.execute("SELECT * FROM o", LONG).rows[0]
    times = ("2100-05-06 00:00:00", "2100-01-01 00:00:01")
    assert found == (times[0], 1.5, 1, 0.5, times[1], "6162", 12, None, "[1, 2]")
    assert type(found[2]) is int
    opened.close()


def test_tables_in_parts_and_folders_with_odd_names(tmp_path: Path) -> None:
    folder = tmp_path / "it's an {EHR} [1] %20"
    parquet(folder, "patients.parquet", "SELECT 1 AS row_id, TIMESTAMP '2100-01-01' AS t")
    parquet(folder / "labevents", "part-0.parquet", "SELECT 1 AS row_id, 2.5 AS v")
    parquet(folder / "labevents", "part-1.parquet", "SELECT 2 AS row_id, 3.5 AS v")
    parquet(folder / "cost" / "kind=a", "part-0.parquet", "SELECT 1 AS row_id")
    parquet(folder / "cost" / "kind=b", "part-0.parquet", "SELECT 2 AS row_id")
    parquet(folder / "hosp", "admissions.parquet", "SELECT 7 AS row_id")
    assert rows(
        folder,
        "SELECT t FROM patients",
        "SELECT sum(v), count(*) FROM labevents",
        "SELECT row_id FROM admissions",
        "SELECT row_id FROM cost WHERE kind = 'b'",
    ) == [(("2100-01-01 00:00:00",),), ((6.0, 2),), ((7,),), ((2,),)]


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is not it PAR1")
    with pytest.raises(DatabaseError, match=r"cannot read .*b\.parquet") as raised:
        SparkDatabase.open(str(tmp_path))
    assert raised.value.hint
    assert "\n" not in str(raised.value)


def test_a_table_that_is_taken_away(tmp_path: Path) -> None:
    parquet(tmp_path, "e.parquet", "SELECT 1 AS n")
    opened = SparkDatabase.open(str(tmp_path))
    (tmp_path / "e.parquet").unlink()
    with pytest.raises(DatabaseError, match="cannot read the tables") as raised:
        opened.execute("SELECT n FROM e", LONG)
    assert "again" in raised.value.hint
    opened.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM parquet.`/etc/passwd`",
        "SELECT * FROM text.`file:///etc/passwd`",
        "SELECT * FROM default.e",
        "SELECT * FROM range(10)",
        "SELECT * FROM e, LATERAL explode(array(1))",
        "SELECT n FROM e LATERAL VIEW explode(array(1)) v AS y",
        "SELECT java_method('java.lang.System', 'getenv', 'HOME')",
        "SELECT reflect('java.lang.System', 'exit', 1)",
        "SELECT system.builtin.reflect('java.lang.System', 'exit', 1)",
        "SELECT input_file_name() FROM e",
        "SELECT current_timestamp()",
        "SELECT current_date",
        "SELECT now(), rand()",
        "SELECT current_user()",
        "SELECT (SELECT now())",
        "WITH a AS (SELECT uuid() AS u) SELECT u FROM a",
        "SELECT TRANSFORM(n) USING 'cat' AS (m) FROM e",
        "SELECT IDENTIFIER('n') FROM e",
        "SELECT * FROM IDENTIFIER('parquet.' || '`/tmp`')",
        "SELECT ${env:HOME}",
        "SELECT _metadata FROM e",
        "SELECT _metadata.file_path FROM e",
        "SELECT * FROM e TABLESAMPLE (10 PERCENT)",
        "SELECT * FROM e VERSION AS OF 1",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
        "SHOW TABLES",
        "DESCRIBE e",
        "EXPLAIN SELECT 1",
        "SET spark.sql.ansi.enabled = false",
        "SET VAR x = 1",
        "USE default",
        "ADD JAR '/tmp/x.jar'",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "CREATE TABLE t USING csv LOCATION '/etc' AS SELECT 1",
        "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
        "FROM e INSERT INTO e SELECT *",
        "CACHE TABLE e",
        "REFRESH TABLE e",
        "SELECT :x",
        "SELECT 1; SELECT 2",
        "SELECT 'a\x00'",
    ],
)
def test_refused(database: SparkDatabase, sql: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        database.execute(sql, LONG)
    assert raised.value.hint
    assert "\n" not in str(raised.value)


def test_most_of_these_are_refusals(database: SparkDatabase) -> None:
    for sql in ("SHOW TABLES", "SELECT * FROM range(10)", "SELECT now()", "SET a = 1"):
        with pytest.raises(Refused):
            database.execute(sql, LONG)


def test_the_doors_are_shut_below_the_guard(database: SparkDatabase) -> None:
    """Spark's own settings hold even where the guard sees nothing wrong."""
    session = database._session
    (shown,) = session.sql("SELECT '${env:HOME}' AS x").collectAsList()
    assert str(shown.getString(0)) == "${env:HOME}"
    for sql in ("SELECT * FROM parquet.`/tmp`", "CREATE TABLE t AS SELECT 1 AS x STORED AS ORC"):
        with pytest.raises(Exception, match=r"Exception"):
            session.sql(sql)


def test_cancel_ends_a_query_and_not_the_next(database: SparkDatabase) -> None:
    database.execute("SELECT count(*) FROM e", LONG)
    for _ in range(3):
        timer = threading.Timer(0.3, database.cancel)
        timer.start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            database.execute(ENDLESS, LONG)
        assert time.monotonic() - started < 1.3
        assert database.execute("SELECT count(*) FROM e", LONG).rows == ((501,),)


def test_a_loop_that_does_not_stop_takes_no_core_for_good(database: SparkDatabase) -> None:
    with pytest.raises(LimitExceeded, match=r"longer than 0\.5 s"):
        database.execute(ENDLESS, Limits(seconds=0.5))
    assert database.execute("SELECT 1", LONG).rows == ((1,),)
    deadline = time.monotonic() + 60
    while working() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not working()


def working() -> bool:
    """Does Spark work at something, though nobody asks?"""
    with engine._lock:
        now = engine._current
        try:
            return now is not None and now.alive and now._running() > 0
        except Exception:  # it was ended this moment
            return True


def test_a_process_that_dies_in_mid_query(database: SparkDatabase) -> None:
    database.execute("SELECT 1", LONG)
    process = engine.current()._process
    assert process is not None
    timer = threading.Timer(0.5, os.kill, (process.pid, signal.SIGKILL))
    timer.start()
    started = time.monotonic()
    with pytest.raises(DatabaseError, match="ended in mid-query") as raised:
        database.execute(ENDLESS, LONG)
    assert time.monotonic() - started < 5
    assert "ask again" in raised.value.hint
    assert database.execute("SELECT count(*) FROM e", LONG).rows == ((501,),)


def test_a_process_that_died_between_queries(database: SparkDatabase) -> None:
    process = engine.current()._process
    assert process is not None
    process.kill()
    process.wait()
    assert database.execute("SELECT max(n) FROM e", LONG).rows == ((499,),)


def test_queries_from_several_threads(database: SparkDatabase, ehr: Path) -> None:
    other = SparkDatabase.open(str(ehr))

    def ask(n: int) -> bool:
        one = database if n % 2 else other
        return one.execute(f"SELECT n, x FROM e WHERE n = {n}", LONG).rows == ((n, n / 4),)

    assert together(ask, 6) == [True] * 6
    other.close()


def test_sums_are_the_same_every_time(database: SparkDatabase) -> None:
    sql = "SELECT sum(a.x / 7), avg(a.x / 7) FROM e a CROSS JOIN e b"
    assert len({database.execute(sql, LONG).rows for _ in range(4)}) == 1


def test_nothing_is_left_where_the_user_stands(database: SparkDatabase, tmp_path: Path) -> None:
    database.execute("SELECT w, count(*) FROM e GROUP BY w ORDER BY w", LONG)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/net/tcp6").exists(), reason="reads Linux's /proc")
def test_only_this_machine_is_listened_to(database: SparkDatabase) -> None:
    process = engine.current()._process
    assert process is not None
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    sockets = {os.readlink(link) for link in links if os.path.islink(link)}
    heard: list[str] = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and f"socket:[{parts[9]}]" in sockets:
                heard.append(parts[1].rpartition(":")[0])
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert heard and set(heard) <= loopback


QUIET = """
import sys
from ehrqa_spark import SparkDatabase
from ehrqa_cli.contracts.types import Limits
d = SparkDatabase.open(sys.argv[1])
print(d.execute("SELECT max(n), sum(x) FROM e", Limits(seconds=100)).rows[0][0])
"""


def test_it_is_quiet_and_hides_what_its_configuration_says(ehr: Path, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    secret = "hush-hush-4711"
    (conf / "spark-defaults.conf").write_text(f"spark.hadoop.fs.s3a.secret.key {secret}\n")
    plugin = str(Path(__file__).parents[2])
    path = os.pathsep.join([plugin, os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "SPARK_CONF_DIR": str(conf), "PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    asked = subprocess.Popen(
        [sys.executable, "-c", QUIET, str(ehr)],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = ""
    while asked.poll() is None:
        lines = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True).stdout
        seen += "".join(line for line in lines.splitlines() if str(tmp_path) in line)
        time.sleep(0.3)
    out, err = asked.communicate()
    assert (out, err) == ("499\n", "")
    assert "java" in seen and secret not in seen
    assert [p.name for p in tmp_path.iterdir()] == ["conf"]  # its own folder is gone too


def test_a_master_that_is_none(ehr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EHRQA_SPARK_MASTER", "no such thing")
    with pytest.raises(DatabaseError, match="cannot be started on no such thing") as raised:
        SparkDatabase.open(str(ehr))
    assert "EHRQA_SPARK_MASTER" in raised.value.hint


def test_several_processes_as_on_a_cluster(ehr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers in processes of their own: a query, a cancel, and the next one."""
    monkeypatch.setenv("EHRQA_SPARK_MASTER", "local-cluster[2,1,1024]")
    opened = SparkDatabase.open(str(ehr))
    grouped = opened.execute("SELECT n % 3 AS k, count(*) FROM e GROUP BY 1 ORDER BY 1", LONG)
    assert grouped.rows == ((None, 1), (0, 167), (1, 167), (2, 166))
    timer = threading.Timer(0.5, opened.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        opened.execute(ENDLESS, LONG)
    assert time.monotonic() - started < 1.5
    assert opened.execute("SELECT count(*) FROM e", LONG).rows == ((501,),)
    opened.close()
    monkeypatch.delenv("EHRQA_SPARK_MASTER")
    engine.stop()
    # Workers of a local cluster keep their logs within pyspark.
    home = Path(importlib.import_module("pyspark").__file__ or "").parent
    shutil.rmtree(home / "work", ignore_errors=True)


def test_fingerprint_changes_with_the_data(tmp_path: Path) -> None:
    def mark() -> str:
        opened = SparkDatabase.open(str(tmp_path))
        try:
            return opened.fingerprint()
        finally:
            opened.close()

    parquet(tmp_path, "e.parquet", "SELECT 1 AS n")
    first = mark()
    assert first.startswith("spark:")
    assert mark() == first
    parquet(tmp_path, "e.parquet", "SELECT 2 AS n")
    assert mark() != first


def test_what_the_data_say_of_now(tmp_path: Path) -> None:
    parquet(tmp_path, "e.parquet", "SELECT 1 AS n")
    parquet(tmp_path, "ehrqa_meta.parquet", "SELECT 'as_of' AS key, '2100-12-31 23:59:00' AS value")
    opened = SparkDatabase.open(str(tmp_path))
    assert opened.default_as_of() == "2100-12-31 23:59:00"
    assert "ehrqa_meta" not in opened.schema()
    with pytest.raises(Refused):
        opened.execute("SELECT * FROM ehrqa_meta")
    opened.close()
