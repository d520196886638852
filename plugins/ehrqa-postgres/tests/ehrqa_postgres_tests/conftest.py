"""A real server, started on loopback under an unprivileged user, and settings kept apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from ehrqa_postgres import PostgresDatabase, programs
from ehrqa_postgres.private import OWNER, READER, PrivateServer
from ehrqa_postgres.write import write

from ehrqa_cli.contracts.loading import LoadTable

Made = Callable[..., str]
_numbers = count(1)

ROWS = tuple((i, i / 4, "2100-01-02 03:04:05", f'a "{i}", \\N\tb') for i in range(500))
TABLE = LoadTable(
    "e",
    (("n", "integer"), ("x", "real"), ("t", "timestamp"), ("w", "text")),
    (*ROWS, (None, None, None, "")),
)


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a password, a service or a host that is set outside."""
    kept = (programs.BIN,)
    for name in [k for k in os.environ if k.startswith(("PG", "EHRQA_")) and k not in kept]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    """PostgreSQL as the system has it, else the wheel's."""
    found = programs.installed()
    if found is None:
        pytest.skip(
            "PostgreSQL's programs are not installed (Debian: apt-get install postgresql; or name "
            f"the folder of initdb and postgres in {programs.BIN})"
        )
    running = PrivateServer(found)
    yield running
    running.close()


@pytest.fixture
def made(server: PrivateServer) -> Made:
    """Makes a database of tables and returns the address that a reader has of it."""

    def make(*tables: LoadTable, user: str = READER, options: str = "") -> str:
        name = f"made_{next(_numbers)}"
        server.create(name, options)
        with server.connect(name, OWNER) as session:
            write(session, tables, reader=READER)
        return server.address(name, user)

    return make


@pytest.fixture(scope="session")
def address(server: PrivateServer) -> str:
    """The address of a database of one table, which no test changes."""
    server.create("shared")
    with server.connect("shared", OWNER) as session:
        write(session, [TABLE], reader=READER)
    return server.address("shared")


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase.open(address)
    yield opened
    opened.close()
