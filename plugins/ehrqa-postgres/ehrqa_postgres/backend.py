"""An EHR on a PostgreSQL server, read so that a query can do nothing else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psycopg

from ehrqa_cli.contracts.backend import Backend, took_longer
from ehrqa_cli.contracts.dialect import Dialect
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_postgres import address, catalog, errors, settings
from ehrqa_postgres.catalog import Catalog, Session
from ehrqa_postgres.dialect import Postgres
from ehrqa_postgres.guard import Guard
from ehrqa_postgres.session import as_reader, connect, hang_up

_CHUNK = 1000
_PATIENCE = 0.25  # seconds that the server has to take the wish that a query ends
_MARKING = 30.0  # seconds that the fingerprint may take
_RECOVERY = 5.0  # seconds that a server which is starting has to take the connection
_LOOK = 0.05  # seconds between two tries
_CURSOR = "ehrqa_rows"


class PostgresDatabase(Backend[Session]):
    """A read-only EHR on a server. Safe to use from several threads: queries wait for each other.

    A connection that was lost, or that a query was cancelled on, is made anew by the next query.
    """

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "postgres"
    words: ClassVar[type[Dialect] | None] = Postgres
    settings: ClassVar[Mapping[str, str]] = settings.VARIABLES

    def __init__(self, given: Mapping[str, str]) -> None:
        """Use ``open``; this takes libpq's parameters. Raises DatabaseError."""
        super().__init__()
        self._given = dict(given)
        self._place = address.place(self._given)
        self._catalog = Catalog({})
        self._guard = Guard(())
        self._asked_to_end: Session | None = None  # a late wish could still reach what runs on it
        self._marked: tuple[list[Row], str] | None = None  # the fingerprint, and of what state
        self._server = ""
        self._held = self._connected(time.monotonic() + _RECOVERY)

    def __repr__(self) -> str:
        return f"<PostgresDatabase: {self._place}>"

    @classmethod
    def open(cls, target: str) -> PostgresDatabase:
        """Open ``postgresql://USER@HOST:PORT/DATABASE``. Raises DatabaseError."""
        return cls(address.parameters(target))

    @property
    def meta(self) -> Mapping[str, str]:
        """What the table ``ehrqa_meta`` says, if there is one, and who reads."""
        return {**self._catalog.meta, "role": self._told_role()}

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names; tables of ``ehrqa_`` are left out."""
        return {table: tuple(columns) for table, columns in self._catalog.types.items()}

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Table to column to what it holds."""
        return self._catalog.types

    def fingerprint(self) -> str:
        """``postgres:`` and 16 hex digits, of what the server tells of its tables' rows.

        A server's rows may change while it is open, so it is asked each time. Raises DatabaseError,
        LimitExceeded while somebody has the tables locked.
        """
        mark, _ = self.within(Limits(seconds=_MARKING), self._mark)
        return f"postgres:{mark}"

    def default_as_of(self) -> str | None:
        """``as_of`` of ``ehrqa_meta``, if it has one."""
        return self._catalog.meta.get("as_of")

    def versions(self) -> Mapping[str, str]:
        """The server's and psycopg's, and the role that reads."""
        return {
            "postgresql": self._server,
            "psycopg": str(psycopg.__version__),
            "role": self._told_role(),
        }

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str | None:
        """A database of ``tables`` on a private server of this process; None where PostgreSQL's
        programs are not installed."""
        del folder  # the server has one of its own, which its unprivileged user may enter
        from ehrqa_postgres.private import sample

        return sample(tables)

    @classmethod
    def load(
        cls, target: str, tables: Iterable[LoadTable], *, replace: bool = False
    ) -> Loaded | None:
        """Write ``tables`` with COPY, in one transaction, and let the role of
        EHRQA_POSTGRES_ROLE (``ehrqa_reader``) read them; it is made where that is allowed."""
        from ehrqa_postgres.write import load

        return load(address.parameters(target), tables, replace=replace)

    # --- what Backend asks for

    def check(self, sql: str, limits: Limits) -> None:
        """Refuse what is not one SELECT of the EHR's tables."""
        del limits
        self._guard.check(sql)

    def ready(self, held: Session | None) -> Session:
        """A session with a new transaction. A connection that died since the last question, or
        while the server ends all of them, is made anew without a word. Raises DatabaseError and
        psycopg's errors."""
        until = time.monotonic() + _RECOVERY
        if held is not None and held is self._asked_to_end:
            self.release(held)
        while True:
            session = held if held is not None and not held.closed else self._connected(until)
            try:
                session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return session
            except psycopg.Error:
                stale = session.closed and time.monotonic() < until
                self.release(session)
                if not stale:
                    raise

    def rows(self, held: Session, sql: str, limits: Limits) -> tuple[Sequence[str], Iterable[Row]]:
        """The columns of one SELECT of PostgreSQL's, and its rows by a cursor."""
        try:
            # The server ends a query by itself, too, should this program not live to see it.
            most = max(1, round(limits.seconds * 1000)) + 500
            held.execute(f"SET LOCAL statement_timeout = {most}".encode())
            # Binary, of which there is nothing here: psycopg then asks in the way in which the
            # server takes one statement and no second one.
            declared = f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR {sql}"
            held.execute(declared.encode(), prepare=False, binary=True)
            wanted = min(_CHUNK, limits.rows + 1)
            cursor = held.execute(_fetch(wanted))
        except BaseException:
            self._rolled_back(held)
            raise
        columns = [str(column.name) for column in cursor.description or ()]
        return columns, self._chunks(held, cursor, wanted)

    def interrupt(self, held: Session) -> None:
        """Ask the server to end what runs."""
        self._asked_to_end = held
        held.cancel_safe(timeout=_PATIENCE)

    def abandon(self, held: Session) -> None:
        """Cut the line, so that nobody waits for a server that hangs."""
        hang_up(held)

    def release(self, held: Session) -> None:
        """Close a session."""
        with contextlib.suppress(psycopg.Error):
            held.close()

    def explained(
        self, error: BaseException, held: Session | None, limits: Limits
    ) -> EhrqaError | None:
        """The server's error in words."""
        if not isinstance(error, psycopg.Error):
            return None
        if isinstance(error, psycopg.errors.QueryCanceled) and "timeout" in str(error):
            return took_longer(f"{limits.seconds:g} s")
        return errors.explained(error, lost=held is None or held.closed)

    # --- the connection

    def _connected(self, until: float) -> Session:
        """A new session; a server that is just starting is waited for. Raises DatabaseError."""
        while True:
            try:
                return self._made()
            except psycopg.Error as error:
                soon = errors.is_recovering(error) and time.monotonic() < until
                if not soon or self._closed:
                    raise errors.cannot_connect(error, self._place) from None
            time.sleep(_LOOK)

    def _made(self) -> Session:
        session = connect(self._given)
        try:
            found = as_reader(session)
        except BaseException:
            session.close()
            raise
        self._catalog = found
        self._guard = Guard(found.types, found.others)
        self._server = session.info.parameter_status("server_version") or ""
        return session

    def _rolled_back(self, held: Session) -> None:
        """Leave no transaction behind."""
        try:
            if held is not self._asked_to_end and not held.closed:
                held.execute("ROLLBACK")
                return
        except psycopg.Error:
            pass
        self.release(held)

    def _told_role(self) -> str:
        found = self._catalog
        if not found.may_write:
            return f"{found.role}, which cannot write"
        return f"{found.role}, which could write outside of this read-only transaction"

    # --- one query

    def _chunks(self, held: Session, cursor: psycopg.Cursor[Row], wanted: int) -> Iterator[Row]:
        try:
            while chunk := cursor.fetchall():
                yield from chunk
                if len(chunk) < wanted:
                    break
                cursor = held.execute(_fetch(wanted))
        finally:
            self._rolled_back(held)

    def _mark(self, held: Session, stopped: Callable[[], bool]) -> str:
        del stopped
        try:
            known = catalog.state(held, self._catalog)
            if self._marked is None or self._marked[0] != known:
                self._marked = known, catalog.fingerprint(held, self._catalog, known)
            return self._marked[1]
        finally:
            self._rolled_back(held)


def _fetch(rows: int) -> bytes:
    return f"FETCH FORWARD {rows} FROM {_CURSOR}".encode()
