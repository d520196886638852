"""A private server for checks: a fresh cluster on loopback, under an unprivileged user, with
passwords, gone when this process is.

`ehrqa plugins check` and the tests run over it, so that no server has to be named and nobody's
data are touched. EHRQA_POSTGRES_BIN names the programs; see `programs`.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import psycopg

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.loading import LoadTable
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_postgres import keeper, programs
from ehrqa_postgres.write import write

OWNER, READER = "ehrqa", "ehrqa_check_reader"
_USERS = ("postgres", "nobody")
_TRIES = 3


class PrivateServer:
    """A running server; ``close`` ends it, and so does the end of this process."""

    def __init__(self, programs: Path) -> None:
        """Raises DatabaseError when it does not start."""
        self.programs = programs.resolve()
        for _ in range(_TRIES):  # somebody may take the port just before the server does
            if self._started():
                break
        else:
            raise DatabaseError(
                f"the PostgreSQL server of {programs} does not start: {self._why}",
                "name other programs in EHRQA_POSTGRES_BIN",
            )
        with self.connect("postgres") as session:
            session.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{self._secret}'".encode())

    def _started(self) -> bool:
        self.folder = Path(tempfile.mkdtemp(prefix="ehrqa-pg-"))
        self.folder.chmod(0o711)  # its user must get at its own folder within
        self._secret = secrets.token_hex(16)
        self.port = _free_port()
        private = os.O_CREAT | os.O_WRONLY | os.O_EXCL
        listed = "".join(
            f"127.0.0.1:{self.port}:*:{user}:{self._secret}\n" for user in (OWNER, READER)
        )
        for name, text in (("password", self._secret + "\n"), ("pgpass", listed)):
            with os.fdopen(os.open(self.folder / name, private, 0o600), "w") as file:
                file.write(text)
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__, self.folder, self.programs, str(self.port),
             _user()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        assert self._keeper.stdout is not None
        word, _, rest = self._keeper.stdout.readline().decode(errors="replace").partition(" ")
        if word == "ready":
            self.pid = int(rest)
            return True
        self._why = rest.strip()[:200] or "it says nothing"
        self.close()
        return False

    def address(self, database: str, user: str = READER) -> str:
        """The address of one of its databases; the password is in a file of its own."""
        passfile = self.folder / "pgpass"
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}?passfile={passfile}"

    def connect(self, database: str, user: str = OWNER) -> psycopg.Connection[tuple[object, ...]]:
        """A connection to one of its databases, by its owner."""
        return psycopg.connect(self.address(database, user), autocommit=True)

    def create(self, database: str, options: str = "") -> None:
        """Make an empty database."""
        with self.connect("postgres") as session:
            session.execute(f"CREATE DATABASE {database} {options}".encode())

    def close(self) -> None:
        """Stop the server and remove its files; a second call does nothing."""
        for end in (self._keeper.stdin, self._keeper.stdout):
            if end is not None:
                end.close()
        self._keeper.wait(120)  # to delete thousands of files takes a busy computer a while


_servers: list[PrivateServer] = []
_numbers = count(1)


def sample(tables: Sequence[SampleTable]) -> str | None:
    """The address of a new database of ``tables``; None without PostgreSQL's programs."""
    found = programs.installed()
    if found is None:
        return None
    if not _servers:
        _servers.append(PrivateServer(found))
        atexit.register(_servers[0].close)
    server = _servers[0]
    name = f"sample_{next(_numbers)}"
    server.create(name)
    made = [LoadTable(t.name, t.columns, t.rows) for t in tables]
    with server.connect(name, OWNER) as session:
        write(session, made, reader=READER)
    return server.address(name)


def _user() -> str:
    """The user that the server runs as, when this is root."""
    if os.name != "posix" or os.geteuid() != 0:
        return ""
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((user for user in _USERS if user in known), "nobody")


def _free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port: int = line.getsockname()[1]
        return port
