"""DuckDB as an EHR: what the contract suite does not ask."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from ehrqa_duckdb import DuckDbDatabase
from ehrqa_duckdb.guard import FUNCTIONS
from ehrqa_fixtures import together

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits

ENDLESS = "SELECT count(*) FROM e a, e b, e c, e d, e f WHERE a.n * b.n - c.n > d.n + f.n"
TABLE = SampleTable(
    "e",
    (("n", "integer"), ("x", "real"), ("t", "timestamp"), ("w", "text")),
    (
        *((i, i / 4, "2100-01-02 03:04:05", f'a "{i}", \\N') for i in range(500)),
        (None, None, None, ""),
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(DuckDbDatabase.sample(tmp_path, [TABLE]))


@pytest.fixture
def database(file: Path) -> Iterator[DuckDbDatabase]:
    opened = DuckDbDatabase.open(str(file))
    yield opened
    opened.close()


def rows(target: Path, sql: str) -> Sequence[tuple[object, ...]]:
    opened = DuckDbDatabase.open(str(target))
    try:
        return opened.execute(sql).rows
    finally:
        opened.close()


def test_values_come_back_as_they_went(database: DuckDbDatabase) -> None:
    assert database.types() == {"e": {"n": "integer", "x": "real", "t": "timestamp", "w": "text"}}
    (row,) = database.execute("SELECT * FROM e WHERE n = 3").rows
    assert row == (3, 0.75, "2100-01-02 03:04:05", 'a "3", \\N')
    assert database.execute("SELECT * FROM e WHERE n IS NULL").rows == ((None, None, None, ""),)


def test_odd_types_become_the_contracts(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE o AS SELECT DATE '2100-05-06' AS d, 1.50::DECIMAL(9,2) AS m, "
            "true AS b, 'x'::ENUM('x', 'y') AS en, TIMESTAMP_S '2100-01-01 00:00:01' AS s, "
            "'ab'::BLOB AS bl, 12::HUGEINT AS h, 'nan'::DOUBLE AS nan"
        )
    opened = DuckDbDatabase.open(str(path))
    assert opened.types()["o"] == {
        "d": "timestamp", "m": "real", "b": "boolean", "en": "text", "s": "timestamp",
        "bl": "text", "h": "integer", "nan": "real",
    }  # fmt: skip
    found = opened.execute("SELECT * FROM o").rows[0]
    assert found == ("2100-05-06 00:00:00", 1.5, 1, "x", "2100-01-01 00:00:01", "6162", 12, None)
    assert type(found[2]) is int
    opened.close()


def parquet(folder: Path, table: str, sql: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    duckdb.sql(f"COPY ({sql}) TO '{folder / table}' (FORMAT parquet)")


def test_a_folder_of_parquet_is_read_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "it's an EHR"
    parquet_folder = tmp_path / "made"
    parquet(parquet_folder, "patients.parquet", "SELECT 1 AS row_id, TIMESTAMP '2100-01-01' AS t")
    parquet(parquet_folder / "labevents", "part-0.parquet", "SELECT 1 AS row_id, 2.5 AS v")
    parquet(parquet_folder / "labevents", "part-1.parquet", "SELECT 2 AS row_id, 3.5 AS v")
    parquet(parquet_folder / "hosp", "admissions.parquet", "SELECT 7 AS row_id")
    parquet_folder.rename(folder)
    assert rows(folder, "SELECT t FROM patients") == (("2100-01-01 00:00:00",),)
    assert rows(folder, "SELECT sum(v), count(*) FROM labevents") == ((6.0, 2),)
    assert rows(folder, "SELECT row_id FROM admissions") == ((7,),)


def test_a_folder_of_csv_keeps_codes_as_text(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(
        'row_id,code,t,v,note\n1,0040,2100-01-01 00:00:00,1.5,"a, b"\n'
        '2,12,2100-01-02 00:00:00,,"say ""x"""\n3,,,2,\n',
        encoding="utf-8",
    )
    with gzip.open(tmp_path / "d_items.csv.gz", "wt", encoding="utf-8") as out:
        out.write("itemid,label\n" + "".join(f"{i},{i}\n" for i in range(30_000)) + "30000,1-2\n")
    opened = DuckDbDatabase.open(str(tmp_path))
    assert opened.types()["patients"] == {
        "row_id": "integer", "code": "text", "t": "timestamp", "v": "real", "note": "text"
    }  # fmt: skip
    assert opened.types()["d_items"] == {"itemid": "integer", "label": "text"}
    assert opened.execute("SELECT code, note, v FROM patients ORDER BY row_id").rows == (
        ("0040", "a, b", 1.5),
        ("12", 'say "x"', None),
        (None, None, 2.0),
    )
    opened.close()


def test_empty_tables_are_tables(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("row_id,dob\n")
    assert rows(tmp_path, "SELECT count(*), max(dob) FROM patients") == ((0, None),)
    empty = SampleTable("e", (("n", "integer"), ("t", "timestamp")), ())
    (tmp_path / "file").mkdir()
    made = Path(DuckDbDatabase.sample(tmp_path / "file", [empty]))
    assert rows(made, "SELECT count(*), max(t) FROM e") == ((0, None),)
    (tmp_path / "patients.csv").write_text("")
    with pytest.raises(DatabaseError, match="no header"):
        DuckDbDatabase.open(str(tmp_path))
    (tmp_path / "patients.csv").rename(tmp_path / "patients.csv.gz")
    with pytest.raises(DatabaseError, match="no header"):
        DuckDbDatabase.open(str(tmp_path))
    (tmp_path / "patients.csv.gz").write_bytes(b"no gzip at all")
    with pytest.raises(DatabaseError, match="cannot read") as raised:
        DuckDbDatabase.open(str(tmp_path))
    assert raised.value.hint


def test_a_dose_stays_the_text_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "prescriptions.csv").write_text("row_id,dose_val_rx\n1,1600.0\n2,5\n")
    found = rows(tmp_path, "SELECT dose_val_rx FROM prescriptions ORDER BY row_id")
    assert found == (("1600.0",), ("5",))


def test_folders_that_are_no_ehr(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no Parquet or CSV"):
        DuckDbDatabase.open(str(tmp_path))
    parquet(tmp_path, "a.parquet", "SELECT 1 AS x")
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(DatabaseError, match="two tables are called a"):
        DuckDbDatabase.open(str(tmp_path))
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is not it PAR1")
    with pytest.raises(DatabaseError, match=r"b\.parquet"):
        DuckDbDatabase.open(str(tmp_path))


def test_files_that_are_no_ehr(tmp_path: Path, file: Path) -> None:
    with pytest.raises(DatabaseError, match="no database"):
        DuckDbDatabase.open(str(tmp_path / "missing.duckdb"))
    torn = tmp_path / "torn.duckdb"
    torn.write_bytes(file.read_bytes()[:9000])
    with pytest.raises(DatabaseError, match="cannot read") as raised:
        DuckDbDatabase.open(str(torn))
    assert raised.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_tables",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_info('e')",
        "SELECT * FROM range(10)",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT current_setting('memory_limit')",
        "SELECT getenv('HOME')",
        "SELECT now()",
        "SELECT current_timestamp",
        "SELECT (SELECT now())",
        "WITH a AS (SELECT * FROM read_csv('x')) SELECT * FROM a",
        "SHOW TABLES",
        "DESCRIBE e",
        "FROM duckdb_columns()",
        "SELECT $1",
        "SET threads = 1",
        "CALL pragma_version()",
        "COPY e TO 'x.csv'",
        "EXPORT DATABASE 'x'",
        "INSTALL httpfs",
        "LOAD json",
        "SELECT 1; SELECT 2",
        "SELECT 'a\x00'",
        "SELECT age(t) FROM e",
        "SELECT uuidv4()",
        "SELECT write_log('x')",
        "SELECT sleep_ms(10)",
        "SELECT localtimestamp",
        "SELECT current_user",
        "SELECT repeat('x', 1000000000)",
        "SELECT printf('%1000000000d', n) FROM e",
        "SELECT main.abs(1)",
        "SELECT * FROM main.e",
        "SELECT n FROM e USING SAMPLE 3",
        "SELECT n FROM e TABLESAMPLE 10%",
        "SELECT unnest([1, 2])",
    ],
)
def test_refused(database: DuckDbDatabase, sql: str) -> None:
    with pytest.raises(Refused) as raised:
        database.execute(sql)
    assert raised.value.hint
    assert "\n" not in str(raised.value)


def test_nothing_is_written(database: DuckDbDatabase, file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    for sql in (
        f"COPY e TO '{tmp_path / 'x.csv'}'",
        f"ATTACH '{tmp_path / 'y.db'}'",
        "DROP TABLE e",
    ):
        with pytest.raises(DatabaseError):
            database.execute(sql)
    assert file.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == [file.name]


def test_the_doors_are_shut_below_the_guard(tmp_path: Path) -> None:
    """DuckDB's own settings hold even where the guard sees nothing wrong."""
    parquet(tmp_path / "ehr", "e.parquet", "SELECT 1 AS n")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    opened = DuckDbDatabase.open(str(tmp_path / "ehr"))
    connection = opened.ready(None)
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
        f"SELECT * FROM read_csv('{tmp_path / 'ehr' / '..' / 'secret.csv'}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    connection.close()
    assert opened.execute("SELECT n FROM e").rows == ((1,),)
    opened.close()


def test_memory_is_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EHRQA_DUCKDB_MEMORY", "40MB")
    opened = DuckDbDatabase.open(str(file))
    sql = "SELECT list(a.w || b.w || c.n) FROM e a, e b, e c WHERE c.n < 40"
    with pytest.raises(LimitExceeded, match="memory") as raised:
        opened.execute(sql, Limits(seconds=20))
    assert "EHRQA_DUCKDB_MEMORY" in raised.value.hint
    assert opened.execute("SELECT 1").rows == ((1,),)
    opened.close()


def test_cancel_ends_a_query_and_not_the_next(database: DuckDbDatabase) -> None:
    for _ in range(3):
        timer = threading.Timer(0.2, database.cancel)
        timer.start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            database.execute(ENDLESS, Limits(seconds=30))
        assert time.monotonic() - started < 1.2
        assert database.execute("SELECT count(*) FROM e").rows == ((501,),)


def test_queries_from_several_threads(database: DuckDbDatabase) -> None:
    def ask(n: int) -> bool:
        return database.execute(f"SELECT n, x FROM e WHERE n = {n}").rows == ((n, n / 4),)

    assert together(ask, 20) == [True] * 20


def test_every_function_that_is_allowed_gives_the_same_again() -> None:
    """None of the list depends on when, where or by whom it is called."""
    with duckdb.connect() as connection:
        unsteady = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE has_side_effects OR stability <> 'CONSISTENT'"
        ).fetchall()
    assert len(unsteady) > 10
    assert FUNCTIONS & {name for (name,) in unsteady} == set()


def test_a_query_that_does_not_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where DuckDB does not look up from one call; the next query has another connection, and
    reads a column of dates as times there too."""
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE o AS SELECT DATE '2100-05-06' AS d, 1 AS n")
    opened = DuckDbDatabase.open(str(path))
    for end in (lambda: None, opened.cancel):
        with monkeypatch.context() as patched:
            patched.setattr(opened, "rows", lambda *_: time.sleep(3))
            timer = threading.Timer(0.1, end)
            timer.start()
            started = time.monotonic()
            with pytest.raises((LimitExceeded, Cancelled)):
                opened.execute("SELECT 1", Limits(seconds=0.2))
            assert time.monotonic() - started < 1.2
    hours = opened.execute("SELECT date_part('hour', d), d = TIMESTAMP '2100-05-06' FROM o").rows
    assert hours == ((0, 1),)
    opened.close()


def test_a_statement_that_is_too_long_for_its_time_is_not_read(database: DuckDbDatabase) -> None:
    sql = f"SELECT count(*) FROM e WHERE {' OR '.join(['n = 1'] * 60_000)}"
    started = time.monotonic()
    with pytest.raises(LimitExceeded):
        database.execute(sql, Limits(seconds=0.2))
    assert time.monotonic() - started < 1.2


def test_fingerprint_changes_with_the_data(file: Path) -> None:
    def mark() -> str:
        opened = DuckDbDatabase.open(str(file))
        try:
            return opened.fingerprint()
        finally:
            opened.close()

    first = mark()
    assert first.startswith("duckdb:")
    assert mark() == first
    with duckdb.connect(str(file)) as connection:
        connection.execute("UPDATE e SET n = 1000 WHERE n = 1")
    assert mark() != first


def test_what_the_data_say_of_now(tmp_path: Path) -> None:
    meta = SampleTable(
        "ehrqa_meta", (("key", "text"), ("value", "text")), (("as_of", "2100-12-31 23:59:00"),)
    )
    opened = DuckDbDatabase.open(DuckDbDatabase.sample(tmp_path, [TABLE, meta]))
    assert opened.default_as_of() == "2100-12-31 23:59:00"
    assert "ehrqa_meta" not in opened.schema()
    with pytest.raises(Refused):
        opened.execute("SELECT * FROM ehrqa_meta")
    opened.close()
