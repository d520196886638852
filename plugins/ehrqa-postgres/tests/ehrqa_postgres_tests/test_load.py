"""An EHR written into a real server, and what is left when that fails."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from itertools import count
from pathlib import Path

import psycopg
import pytest
from ehrqa_postgres import PostgresDatabase, settings
from ehrqa_postgres.private import OWNER, READER, PrivateServer

from ehrqa_cli.contracts.errors import DatabaseError, ImportFailed
from ehrqa_cli.contracts.loading import LoadTable
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.ehr.loading import load_sqlite
from ehrqa_cli.ehr.open import open_database

from .conftest import TABLE

# Read here: every test has an environment of its own.
SHARED = Path(os.environ.get("EHRQA_SHARED", Path(__file__).resolve().parents[5] / "shared"))

pytestmark = pytest.mark.backend

_numbers = count(1)
EVERY = Limits(seconds=120.0, rows=1_000_000, length=1_000_000_000)


@pytest.fixture
def empty(server: PrivateServer) -> str:
    """The name of a new database."""
    name = f"load_{next(_numbers)}"
    server.create(name)
    return name


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.sqlite"
    build_demo(path, seed=3, patients=15, force=True)
    return path


def assert_same(source: Path, address: str) -> int:
    """Every row of every table is the same; returns how many there are."""
    reference, loaded = SqliteDatabase.open(source), open_database(address)
    total = 0
    try:
        assert set(reference.schema()) == set(loaded.schema())
        for table, columns in reference.schema().items():
            assert tuple(loaded.schema()[table]) == tuple(columns)
            sql = f"SELECT * FROM {table} ORDER BY row_id"
            rows = reference.execute(sql, EVERY).rows
            assert loaded.execute(sql, EVERY).rows == rows, table
            total += len(rows)
        assert loaded.default_as_of() == reference.default_as_of()
    finally:
        reference.close()
        loaded.close()
    return total


def names(server: PrivateServer, database: str) -> set[str]:
    """The tables of a database."""
    asked = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
    with server.connect(database, OWNER) as session:
        return {str(row[0]) for row in session.execute(asked).fetchall()}


def test_an_ehr_arrives_whole(
    server: PrivateServer, empty: str, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.ROLE, READER)
    loaded = load_sqlite(demo, server.address(empty, OWNER))
    rows = assert_same(demo, server.address(empty))
    with sqlite3.connect(demo) as connection:
        (meta,) = connection.execute("SELECT COUNT(*) FROM ehrqa_meta").fetchone()
    connection.close()
    assert loaded.rows == rows + meta > 500
    assert loaded.notes == (
        f"the role {READER} may read the tables: GRANT {READER} TO whoever asks questions",
    )
    with server.connect(empty, OWNER) as session:
        found = session.execute("SELECT indexname::text FROM pg_indexes").fetchall()
        analysed = session.execute(
            "SELECT reltuples FROM pg_class WHERE relname = 'labevents'"
        ).fetchone()
    assert {("ux_patients_subject_id",), ("ix_admissions_admittime",), ("labevents_pkey",)} <= set(
        found
    )
    assert analysed is not None and isinstance(analysed[0], float) and analysed[0] > 0


def test_a_release_arrives_whole(server: PrivateServer, empty: str, tmp_path: Path) -> None:
    """MIMIC-IV's open demo: the same as `ehrqa db import --out` makes."""
    from ehrqa_cli.ehr.mimic.importer import import_mimic

    release = SHARED / "data" / "mimic-iv-demo"
    if not release.is_dir():
        pytest.skip(f"needs the data folder {release}")
    made = tmp_path / "mimic.sqlite"
    import_mimic(release, made)
    load_sqlite(made, server.address(empty, OWNER))
    with server.connect(empty, OWNER) as session:
        session.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}")
    assert assert_same(made, server.address(empty)) > 100_000


def test_tables_that_are_there_stay_unless_forced(
    server: PrivateServer, empty: str, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.ROLE, READER)
    target = server.address(empty, OWNER)
    with server.connect(empty, OWNER) as session:
        session.execute("CREATE TABLE labevents (n INT)")
    with pytest.raises(ImportFailed, match="labevents exists already") as raised:
        load_sqlite(demo, target)
    assert "--force" in raised.value.hint
    assert names(server, empty) == {"labevents"}  # nothing of what came before it is left
    load_sqlite(demo, target, replace=True)
    assert_same(demo, server.address(empty))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ((1, 1.0, "2100-01-01 00:00:00", "a\x00b"), "e: "),
        ((1, 1.0, "no time", "a"), 'e: invalid input syntax for type timestamp: "no time"'),
        (("x", 1.0, None, "a"), "e: invalid input syntax for type bigint"),
        ((3, 1.0, None, "a"), "e: .*already exists"),
        ((None, 1.0, None, "a"), "e: .*null value"),
    ],
)
def test_a_row_that_does_not_fit_is_told_and_nothing_is_left(
    server: PrivateServer, empty: str, row: tuple[object, ...], what: str
) -> None:
    rows = [(3, 0.5, None, "b"), row]
    table = LoadTable("e", TABLE.columns, iter(rows), key="n")  # type: ignore[arg-type]
    with pytest.raises(ImportFailed, match=what) as raised:
        PostgresDatabase.load(server.address(empty, OWNER), [table])
    assert raised.value.hint and "\n" not in str(raised.value)
    assert names(server, empty) == set()


def test_a_source_that_breaks_off_leaves_nothing(server: PrivateServer, empty: str) -> None:
    def rows():  # type: ignore[no-untyped-def]
        yield (1, 1.0, None, "a")
        raise KeyboardInterrupt

    table = LoadTable("e", TABLE.columns, rows())
    with pytest.raises(KeyboardInterrupt):
        PostgresDatabase.load(server.address(empty, OWNER), [table])
    assert names(server, empty) == set()


def test_whoever_may_not_write_is_told(server: PrivateServer, empty: str) -> None:
    with pytest.raises(ImportFailed, match="does not let you write") as raised:
        PostgresDatabase.load(server.address(empty, READER), [TABLE])
    assert "CREATE" in raised.value.hint
    with pytest.raises(DatabaseError, match="cannot connect"):
        PostgresDatabase.load("postgresql://127.0.0.1:1/x", [TABLE])


def test_the_readers_role_is_made_where_that_is_allowed(
    server: PrivateServer, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.ROLE, f"role_of_{empty}")
    loaded = PostgresDatabase.load(server.address(empty, OWNER), [TABLE])
    assert loaded is not None and "was made, and may read" in loaded.notes[0]
    opened = PostgresDatabase.open(server.address(empty, OWNER))
    assert opened.meta["role"] == f"role_of_{empty}, which cannot write"
    assert opened.execute("SELECT COUNT(*) FROM e").rows == ((501,),)
    opened.close()
    # An owner who may make no roles: the tables are there all the same.
    with server.connect(empty, OWNER) as session:
        session.execute(f"GRANT CREATE ON SCHEMA public TO {READER}")
    monkeypatch.setenv(settings.ROLE, f"another_of_{empty}")
    other = LoadTable("f", TABLE.columns, ())
    loaded = PostgresDatabase.load(server.address(empty, READER), [other])
    assert loaded is not None and "you may not make or use the role" in loaded.notes[0]
    assert "f" in names(server, empty)


def test_no_password_is_seen_anywhere(
    server: PrivateServer, empty: str, demo: Path, tmp_path: Path
) -> None:
    """Given in PGPASSWORD; looked for in what is printed, written, and shown of processes."""
    secret = (server.folder / "pgpass").read_text().splitlines()[0].rpartition(":")[2]
    address = f"postgresql://{OWNER}@127.0.0.1:{server.port}/{empty}"
    home = tmp_path / "home"
    known = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH")
    env = {name: os.environ[name] for name in known if name in os.environ}
    env |= {"HOME": str(home), settings.ROLE: READER}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        env[name] = str(home / name)

    def run(*args: str, fails: bool = False, password: str = secret) -> str:
        command = [sys.executable, "-m", "ehrqa_cli", *args]
        given = env | {"PGPASSWORD": password}
        ran = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
        told = ran.stdout + ran.stderr
        assert password not in told
        assert ran.returncode == int(fails), told
        return told

    run("db", "import", str(demo), "--to", address)
    assert '"rows": [[15]]' in run(
        "sql", "--db", address, "--json", "SELECT COUNT(*) FROM patients"
    )
    assert READER in run("db", "info", address)
    assert "no such column" in run(
        "sql", "--db", address, "SELECT nothing FROM patients", fails=True
    )
    told = run("sql", "--db", address, "SELECT 1", fails=True, password=secret[:-1])
    assert "password authentication failed" in told
    for path in home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    for name in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert secret.encode() not in name.read_bytes(), name
        except OSError:
            continue
    assert secret not in (server.folder / "log").read_text(errors="replace")
    with server.connect(empty, OWNER) as session:
        shown = session.execute("SELECT * FROM pg_stat_activity").fetchall()
    assert secret not in repr(shown)


def test_no_password_is_seen_of_what_is_open(server: PrivateServer, address: str) -> None:
    secret = (server.folder / "pgpass").read_text().splitlines()[0].rpartition(":")[2]
    opened = PostgresDatabase.open(address)
    told = repr(opened) + repr(opened.meta) + repr(opened.versions()) + repr(vars(opened))
    assert secret not in told
    try:
        opened._held.execute("SELECT nothing")
    except psycopg.Error as error:
        assert secret not in repr(error) + str(error)
    opened.close()
