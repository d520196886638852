"""A real server as an EHR: what the contract suite does not ask."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from ehrqa_fixtures import together
from ehrqa_postgres import PostgresDatabase, backend, programs, settings
from ehrqa_postgres.private import OWNER, READER, PrivateServer

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.loading import LoadTable
from ehrqa_cli.contracts.types import Limits

from .conftest import ROWS, TABLE, Made

pytestmark = pytest.mark.backend

ENDLESS = (
    "SELECT COUNT(*) FROM e AS a, e AS b, e AS c, e AS d, e AS f "
    "WHERE a.n * b.n - c.n > d.n * f.n + 1000000000"
)
SOON = 1.0


def owner(server: PrivateServer, address: str) -> psycopg.Connection[tuple[object, ...]]:
    """The owner's connection to the database of ``address``."""
    name = address.partition("?")[0].rpartition("/")[2]
    return server.connect(name, OWNER)


def ended(ask: Callable[[], object], act: Callable[[], object]) -> tuple[BaseException, float]:
    """What ``ask`` raises when ``act`` is done 0.4 s later, and how long it took from then."""
    found: list[tuple[BaseException, float]] = []

    def run() -> None:
        try:
            ask()
        except BaseException as error:
            found.append((error, time.monotonic()))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.4)
    pressed = time.monotonic()
    act()
    thread.join(30)
    assert found, "the query goes on"
    return found[0][0], found[0][1] - pressed


# --- values


def test_values_come_back_as_they_went(database: PostgresDatabase) -> None:
    assert database.types() == {"e": {"n": "integer", "x": "real", "t": "timestamp", "w": "text"}}
    assert database.execute("SELECT * FROM e WHERE n = 3").rows == (ROWS[3],)
    assert database.execute("SELECT * FROM e WHERE n IS NULL").rows == ((None, None, None, ""),)


def test_odd_types_become_the_contracts(server: PrivateServer, made: Made) -> None:
    address = made(TABLE)
    with owner(server, address) as session:
        session.execute(
            "CREATE TABLE o (d DATE, m NUMERIC(9, 2), b BOOLEAN, c CHAR(7), z TIMESTAMPTZ,"
            " y BYTEA, nan FLOAT8, s TIMESTAMP(3), u UUID, i SMALLINT, f REAL)"
        )
        session.execute(
            "INSERT INTO o VALUES ('2100-05-06', 1.50, true, 'ab', '2100-01-01 12:00:00+00',"
            " 'ab', 'nan', '2100-01-01 00:00:01.999', gen_random_uuid(), 3, 0.1)"
        )
        session.execute(f"GRANT SELECT ON o TO {READER}")
    opened = PostgresDatabase.open(address)
    assert opened.types()["o"] == {
        "d": "timestamp", "m": "real", "b": "boolean", "c": "text", "z": "timestamp", "nan": "real",
        "s": "timestamp", "i": "integer", "f": "real",
    }  # fmt: skip
    found = opened.execute("SELECT d, m, b, c, nan, s, i, f FROM o").rows[0]
    assert found == ("2100-05-06 00:00:00", 1.5, 1, "ab", None, "2100-01-01 00:00:01", 3, 0.1)
    assert type(found[2]) is int
    sums = opened.execute("SELECT SUM(n), SUM(x), AVG(n)::float8 FROM e WHERE n < 5").rows[0]
    assert sums == (10, 2.5, 2.0)
    assert [type(v) for v in sums] == [int, float, float]
    opened.close()


def test_views_and_partitions_are_tables(server: PrivateServer, made: Made) -> None:
    address = made(TABLE)
    with owner(server, address) as session:
        for statement in (
            "CREATE SCHEMA raw",
            "CREATE TABLE raw.people (id BIGINT, born DATE)",
            "INSERT INTO raw.people VALUES (7, '2050-01-01')",
            "CREATE VIEW patients AS SELECT id AS subject_id, born AS dob FROM raw.people",
            "CREATE TABLE events (n BIGINT) PARTITION BY RANGE (n)",
            "CREATE TABLE raw.events_1 PARTITION OF events FOR VALUES FROM (0) TO (10)",
            "INSERT INTO events VALUES (1), (2)",
            "CREATE TABLE secret (n BIGINT)",
            f"GRANT SELECT ON patients, events TO {READER}",
        ):
            session.execute(statement.encode())
    opened = PostgresDatabase.open(address)
    assert set(opened.schema()) == {"e", "patients", "events"}
    assert opened.execute("SELECT dob FROM patients").rows == (("2050-01-01 00:00:00",),)
    assert opened.execute("SELECT SUM(n) FROM events").rows == ((3,),)
    first = opened.fingerprint()
    for sql in ("SELECT * FROM raw.people", "SELECT * FROM secret", "SELECT * FROM people"):
        with pytest.raises(Refused):
            opened.execute(sql)
    opened.close()
    with owner(server, address) as session:
        session.execute("INSERT INTO raw.people VALUES (8, '2051-01-01')")
    again = PostgresDatabase.open(address)
    assert again.fingerprint() != first  # of what lies under the view
    again.close()


def test_rows_beyond_the_limit_are_not_fetched(database: PostgresDatabase) -> None:
    few = database.execute("SELECT n FROM e ORDER BY n LIMIT 400", Limits(rows=3))
    assert (few.rows, few.truncated) == (((0,), (1,), (2,)), True)
    # A billion rows: only a cursor can begin to give them within the time.
    many = database.execute("SELECT a.n FROM e AS a, e AS b, e AS c, e AS d", Limits(seconds=20))
    assert (len(many.rows), many.truncated) == (1000, True)
    with pytest.raises(LimitExceeded, match="too long"):
        database.execute("SELECT STRING_AGG(w, '') FROM e", Limits(length=100))


# --- only reading


def test_the_doors_are_shut_below_the_guard(database: PostgresDatabase) -> None:
    """The transaction holds even where the guard sees nothing wrong; it is not asked here."""
    session = database._held
    for sql in (
        "DELETE FROM e",
        "CREATE TABLE made_up (n INT)",
        "SELECT n INTO made_up FROM e",
        "WITH gone AS (DELETE FROM e RETURNING n) SELECT * FROM gone",
        "CREATE FUNCTION f() RETURNS INT LANGUAGE sql AS 'SELECT 1'",
        "COPY e TO '/tmp/ehrqa-must-not-be'",
        "COPY e TO PROGRAM 'true'",
        "SELECT pg_read_file('/etc/passwd')",
        "GRANT ALL ON e TO PUBLIC",
    ):
        with pytest.raises(psycopg.Error):
            session.execute(sql.encode())
        assert not Path("/tmp/ehrqa-must-not-be").exists()
    assert database.execute("SELECT COUNT(*) FROM e").rows == ((501,),)


def test_the_server_takes_a_dot_for_a_call(server: PrivateServer, address: str) -> None:
    """Why the guard refuses a dot after brackets."""
    with owner(server, address) as session:
        assert session.execute("SELECT ('abc'::text).upper").fetchone() == ("ABC",)


def test_two_statements_are_one_error_to_the_server(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database._guard, "check", lambda sql: None)
    for sql in ("SELECT 1; COMMIT; DELETE FROM e", "SELECT 1; SELECT 2"):
        with pytest.raises(DatabaseError, match="multiple commands"):
            database.execute(sql)
    assert database.execute("SELECT COUNT(*) FROM e").rows == ((501,),)


def test_the_transaction_alone_keeps_an_owner_from_writing(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = PostgresDatabase.open(made(TABLE, user=OWNER))
    monkeypatch.setattr(opened._guard, "check", lambda sql: None)
    opened._held.execute("SET default_transaction_read_only = off")
    opened._held.execute("CREATE SEQUENCE counted")
    with pytest.raises(Refused, match="read-only transaction"):
        opened.execute("SELECT nextval('counted')")
    with pytest.raises(Refused, match="read-only transaction"):
        opened.execute("SELECT lo_unlink(lo_creat(-1)) FROM e FOR UPDATE")
    opened.close()


def test_whoever_could_write_takes_the_readers_role(
    server: PrivateServer, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_owner = made(TABLE, user=OWNER)
    told = PostgresDatabase.open(as_owner)
    assert told.meta["role"] == f"{OWNER}, which could write outside of this read-only transaction"
    assert told.versions()["role"] == told.meta["role"]
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        told._held.execute("DELETE FROM e")
    told.close()

    monkeypatch.setenv(settings.ROLE, READER)
    opened = PostgresDatabase.open(as_owner)
    assert opened.meta["role"] == f"{READER}, which cannot write"
    session = opened._held
    session.execute("SET default_transaction_read_only = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("DELETE FROM e")
    assert opened.execute("SELECT COUNT(*) FROM e").rows == ((501,),)
    opened.close()

    monkeypatch.setenv(settings.ROLE, 'no"body')
    still = PostgresDatabase.open(as_owner)
    assert still.meta["role"].startswith(f"{OWNER}, which could write")
    still.close()


def test_a_reader_is_told_as_one(database: PostgresDatabase) -> None:
    assert database.meta["role"] == f"{READER}, which cannot write"


# --- limits, cancel, and servers that go away


def test_cancel_ends_a_query_and_not_the_next(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[object] = []
    monkeypatch.setattr(backend, "hang_up", cut.append)
    for _ in range(3):
        error, took = ended(lambda: database.execute(ENDLESS, Limits(seconds=30)), database.cancel)
        assert isinstance(error, Cancelled)
        assert took < SOON
        assert database.execute("SELECT COUNT(*) FROM e").rows == ((501,),)
    assert cut == []  # the server did it


def test_a_cancelled_query_ends_on_the_server_too(
    server: PrivateServer, address: str, database: PostgresDatabase
) -> None:
    ended(lambda: database.execute(ENDLESS, Limits(seconds=30)), database.cancel)
    asked = "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'FETCH%'"
    until = time.monotonic() + 5
    with owner(server, address) as session:
        while session.execute(asked).fetchone() != (0,):
            assert time.monotonic() < until, "it goes on there"
            time.sleep(0.05)


def test_time_is_limited(database: PostgresDatabase) -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match=r"longer than 0\.5 s"):
        database.execute(ENDLESS, Limits(seconds=0.5))
    assert time.monotonic() - started < 0.5 + SOON
    assert database.execute("SELECT 1").rows == ((1,),)


def test_a_server_that_hangs_keeps_nobody_waiting(
    database: PostgresDatabase,
) -> None:
    """It neither answers nor takes the cancel: the line is cut."""
    pid = database._held.info.backend_pid
    try:
        error, took = ended(
            lambda: database.execute(ENDLESS, Limits(seconds=30)),
            lambda: (os.kill(pid, signal.SIGSTOP), database.cancel()),
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert isinstance(error, Cancelled)
    assert took < SOON
    assert database.execute("SELECT 1").rows == ((1,),)


def test_the_operator_ends_a_query(
    server: PrivateServer, address: str, database: PostgresDatabase
) -> None:
    pid = database._held.info.backend_pid

    def end(how: str) -> None:
        with owner(server, address) as session:
            session.execute(f"SELECT pg_{how}_backend({pid})".encode())

    error, _ = ended(lambda: database.execute(ENDLESS, Limits(seconds=30)), lambda: end("cancel"))
    assert "the server ended the query" in str(error)
    error, _ = ended(
        lambda: database.execute(ENDLESS, Limits(seconds=30)), lambda: end("terminate")
    )
    assert type(error) is DatabaseError
    assert "connects to it anew" in error.hint
    assert database.execute("SELECT COUNT(*) FROM e").rows == ((501,),)


def test_a_server_that_dies_in_mid_query(made: Made) -> None:
    """Killed as by the system when memory is short: PostgreSQL ends every connection, recovers,
    and the next question is answered."""
    opened = PostgresDatabase.open(made(TABLE))
    pid = opened._held.info.backend_pid
    error, took = ended(
        lambda: opened.execute(ENDLESS, Limits(seconds=30)), lambda: os.kill(pid, signal.SIGKILL)
    )
    assert type(error) is DatabaseError
    assert "went away" in error.message or "ended the query" in error.message
    assert "connects to it anew" in error.hint
    assert took < 5
    assert opened.execute("SELECT COUNT(*) FROM e").rows == ((501,),)
    opened.close()


def test_a_connection_that_died_between_questions(
    server: PrivateServer, address: str, database: PostgresDatabase
) -> None:
    """Nobody was waiting for it, so nobody hears of it."""
    pid = database._held.info.backend_pid
    with owner(server, address) as session:
        session.execute(f"SELECT pg_terminate_backend({pid})".encode())
    time.sleep(0.2)
    assert database.execute("SELECT COUNT(*) FROM e").rows == ((501,),)


def test_a_server_that_stays_away() -> None:
    found = programs.installed()
    if found is None:
        pytest.skip("PostgreSQL's programs are not installed")
    other = PrivateServer(found)
    other.create("gone")
    with other.connect("gone", OWNER) as session:
        session.execute("CREATE TABLE e AS SELECT generate_series(1, 500) AS n")
        session.execute(f"GRANT SELECT ON e TO {READER}")
    opened = PostgresDatabase.open(other.address("gone"))
    error, _ = ended(lambda: opened.execute(ENDLESS, Limits(seconds=30)), other.close)
    assert type(error) is DatabaseError
    with pytest.raises(DatabaseError, match="cannot connect") as raised:
        opened.execute("SELECT 1")
    assert raised.value.hint
    opened.close()
    with pytest.raises(DatabaseError, match="closed"):
        opened.execute("SELECT 1")


def test_queries_from_several_threads(database: PostgresDatabase) -> None:
    def ask(n: int) -> bool:
        return database.execute(f"SELECT n, x FROM e WHERE n = {n}").rows == ((n, n / 4),)

    assert together(ask, 20) == [True] * 20


# --- what the data say of themselves


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE e SET n = 1000 WHERE n = 1",
        "DELETE FROM e WHERE n = 1",
        "INSERT INTO e VALUES (7, 7, NULL, 'x')",
        "TRUNCATE e",
        "ALTER TABLE e ADD COLUMN more TEXT",
        "ALTER TABLE e RENAME COLUMN w TO v",
    ],
)
def test_fingerprint_changes_with_the_data(server: PrivateServer, made: Made, change: str) -> None:
    address = made(TABLE)

    def mark() -> str:
        opened = PostgresDatabase.open(address)
        try:
            return opened.fingerprint()
        finally:
            opened.close()

    first = mark()
    assert first.startswith("postgres:")
    assert mark() == first
    with owner(server, address) as session:
        session.execute(change.encode())  # the server's counts come later, the rows at once
    if change.startswith("DELETE"):  # leaves no trace in rows that can be seen but their number
        time.sleep(0.5)
    assert mark() != first


def test_fingerprint_follows_rows_that_change_while_it_is_open(
    server: PrivateServer, made: Made
) -> None:
    address = made(TABLE)
    opened = PostgresDatabase.open(address)
    first = opened.fingerprint()
    with owner(server, address) as session:
        session.execute("INSERT INTO e SELECT * FROM e")
    assert opened.fingerprint() != first
    opened.close()


def test_tables_that_somebody_has_locked_keep_nobody_waiting(
    server: PrivateServer, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while `db import --to --force` replaces them."""
    address = made(TABLE)
    opened = PostgresDatabase.open(address)
    monkeypatch.setattr(backend, "_MARKING", 0.3)
    with owner(server, address) as session, session.transaction():
        session.execute("LOCK TABLE e IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LimitExceeded):
            opened.fingerprint()
        with pytest.raises(LimitExceeded):
            opened.execute("SELECT COUNT(*) FROM e", Limits(seconds=0.3))
    assert opened.execute("SELECT COUNT(*) FROM e").rows == ((501,),)
    opened.close()


def test_closing_ends_what_runs(address: str) -> None:
    opened = PostgresDatabase.open(address)
    error, took = ended(lambda: opened.execute(ENDLESS, Limits(seconds=30)), opened.close)
    assert isinstance(error, Cancelled)
    assert took < SOON + 0.5


def test_fingerprint_is_the_same_after_housekeeping(server: PrivateServer, made: Made) -> None:
    address = made(TABLE)
    opened = PostgresDatabase.open(address)
    first = opened.fingerprint()
    opened.close()
    with owner(server, address) as session:
        session.execute("ANALYZE e")
        session.execute("VACUUM e")
        session.execute("CREATE TABLE other_people_s (n INT)")
        session.execute("INSERT INTO other_people_s VALUES (1)")
    again = PostgresDatabase.open(address)
    assert again.fingerprint() == first
    again.close()


def test_what_the_data_say_of_now(made: Made) -> None:
    meta = LoadTable(
        "ehrqa_meta", (("key", "text"), ("value", "text")), (("as_of", "2100-12-31 23:59:00"),)
    )
    opened = PostgresDatabase.open(made(TABLE, meta))
    assert opened.default_as_of() == "2100-12-31 23:59:00"
    assert "ehrqa_meta" not in opened.schema()
    with pytest.raises(Refused):
        opened.execute("SELECT * FROM ehrqa_meta")
    opened.close()
