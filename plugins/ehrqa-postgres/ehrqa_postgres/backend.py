"""An EHR on a PostgreSQL server, read so that a query can do nothing else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import psycopg

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Result, Row
from ehrqa_postgres import address, catalog, errors
from ehrqa_postgres.catalog import Catalog, Session
from ehrqa_postgres.guard import Guard
from ehrqa_postgres.session import as_reader, connect, hang_up

_CHUNK = 1000
_RESULT_FACTOR = 16  # a whole result may be this many times Limits.length
_LOOK = 0.05  # seconds between two looks at the clock, and at whether somebody gave up
_PATIENCE = 0.5  # seconds that the server has to end a query before the line is cut
_MARKING = 30.0  # seconds that the fingerprint may take
_RECOVERY = 5.0  # seconds that a server which is starting has to take the connection
_CURSOR = "ehrqa_rows"


class PostgresDatabase(Database):
    """A read-only EHR on a server. Safe to use from several threads: queries wait for each other.

    A connection that was lost, or that a query was cancelled on, is made anew by the next query.
    """

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "postgres"

    def __init__(self, given: Mapping[str, str]) -> None:
        """Use ``open``; this takes libpq's parameters. Raises DatabaseError."""
        self._given = dict(given)
        self._place = address.place(self._given)
        self._lock = threading.Lock()
        self._closed = self._cancelled = self._timed_out = False
        self._session: Session | None = None
        self._catalog = Catalog({})
        self._guard = Guard(())
        self._marked: tuple[list[Row], str] | None = None  # the fingerprint, and of what state
        self._server = ""
        self._connected()

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

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of PostgreSQL's within ``limits``.

        Raises Refused, LimitExceeded, Cancelled, or DatabaseError for SQL that is wrong and for a
        server that is gone.
        """
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        self._guard.check(sql)
        with self._lock:
            self._cancelled = self._timed_out = False
            started = time.monotonic()
            try:
                with self._watched(limits.seconds):
                    session = self._begun()
                    columns, rows = self._fetch(session, sql, limits)
            except psycopg.Error as error:
                raise self._explain(error, limits) from None
            finally:
                self._after()
            elapsed = time.monotonic() - started
        return Result(columns, tuple(rows[: limits.rows]), len(rows) > limits.rows, elapsed)

    def cancel(self) -> None:
        """End the running query from another thread; the one who watches it sees to that."""
        self._cancelled = True

    def fingerprint(self) -> str:
        """``postgres:`` and 16 hex digits, of what the server tells of its tables' rows.

        A server's rows may change while it is open, so it is asked each time. Raises DatabaseError,
        LimitExceeded while somebody has the tables locked.
        """
        with self._lock:
            self._cancelled = self._timed_out = False
            try:
                with self._watched(_MARKING):
                    session = self._begun()
                    known = catalog.state(session, self._catalog)
                    if self._marked is None or self._marked[0] != known:
                        self._marked = known, catalog.fingerprint(session, self._catalog, known)
            except psycopg.Error as error:
                raise self._explain(error, Limits(seconds=_MARKING)) from None
            finally:
                self._after()
            return f"postgres:{self._marked[1]}"

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

    def close(self) -> None:
        """Give the connection back, ending what runs on it; a second call does nothing."""
        self._closed = self._cancelled = True
        with self._lock:
            self._drop()

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

    # --- the connection

    def _connected(self) -> Session:
        """The session, made anew if it is gone; a server that is just starting is waited for.

        Raises DatabaseError.
        """
        if self._closed:
            raise DatabaseError("the database is closed", "open it again")
        if self._session is not None and not self._session.closed:
            return self._session
        until = time.monotonic() + _RECOVERY
        while True:
            try:
                return self._made()
            except psycopg.Error as error:
                soon = errors.is_recovering(error) and time.monotonic() < until
                if not soon or self._cancelled:
                    raise errors.cannot_connect(error, self._place) from None
            time.sleep(_LOOK)

    def _made(self) -> Session:
        session = connect(self._given)
        try:
            found = as_reader(session)
        except BaseException:
            session.close()
            raise
        self._session = session
        self._catalog = found
        self._guard = Guard(found.types, found.others)
        self._server = session.info.parameter_status("server_version") or ""
        return session

    def _begun(self) -> Session:
        """A session with a new transaction. A connection that died since the last question, or
        while the server ends all of them, is made anew without a word. Raises DatabaseError."""
        until = time.monotonic() + _RECOVERY
        while True:
            session = self._connected()
            try:
                session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return session
            except psycopg.Error:
                stale = session.closed and time.monotonic() < until
                self._drop()
                if not stale or self._cancelled or self._timed_out:
                    raise

    def _drop(self) -> None:
        if self._session is not None:
            with contextlib.suppress(psycopg.Error):
                self._session.close()
        self._session = None

    def _after(self) -> None:
        """Leave no transaction behind, and no connection that a late cancel could still reach."""
        session = self._session
        if session is None or session.closed or self._cancelled or self._timed_out:
            self._drop()
            return
        try:
            session.execute("ROLLBACK")
        except psycopg.Error:
            self._drop()
        except BaseException:  # Ctrl-C just now
            self._drop()
            raise

    def _told_role(self) -> str:
        found = self._catalog
        if not found.may_write:
            return f"{found.role}, which cannot write"
        return f"{found.role}, which could write outside of this read-only transaction"

    # --- one query

    @contextmanager
    def _watched(self, seconds: float) -> Iterator[None]:
        """Cancel what runs within when its time is over or somebody gave up.

        The server is asked to end the query; one that does not within ``_PATIENCE`` is left alone
        by cutting the line, so that nobody waits for a server that hangs.
        """
        done = threading.Event()
        deadline = time.monotonic() + seconds

        def watch() -> None:
            asked: float | None = None
            while not done.wait(_LOOK):
                self._timed_out = self._timed_out or time.monotonic() > deadline
                if not (self._timed_out or self._cancelled):
                    continue
                session = self._session
                if session is None:
                    continue  # it is just being made, which has a limit of its own
                if asked is not None and time.monotonic() - asked > _PATIENCE:
                    hang_up(session)
                    return
                asked = asked or time.monotonic()
                # One that comes before the query has begun is forgotten: it is repeated.
                with contextlib.suppress(psycopg.Error, OSError):
                    session.cancel_safe(timeout=_PATIENCE / 2)

        watcher = threading.Thread(target=watch, name="postgres-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _fetch(
        self, session: Session, sql: str, limits: Limits
    ) -> tuple[tuple[str, ...], list[Row]]:
        """Columns, and rows up to one more than the limit, by a cursor."""
        # The server ends a query by itself, too, should this program not live to see it.
        most = max(1, round(limits.seconds * 1000)) + 500
        session.execute(f"SET LOCAL statement_timeout = {most}".encode())
        # Binary, of which there is nothing here: psycopg then asks in the way in which the server
        # takes one statement and no second one.
        declared = f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR {sql}"
        session.execute(declared.encode(), prepare=False, binary=True)
        columns: tuple[str, ...] = ()
        rows: list[Row] = []
        size = 0
        while len(rows) <= limits.rows:
            wanted = min(_CHUNK, limits.rows + 1 - len(rows))
            cursor = session.execute(f"FETCH FORWARD {wanted} FROM {_CURSOR}".encode())
            columns = tuple(str(column.name) for column in cursor.description or ())
            chunk = cursor.fetchall()
            for row in chunk:
                size += sum(len(v) if isinstance(v, str) else 8 for v in row)
                longest = max((len(v) for v in row if isinstance(v, str)), default=0)
                if size > limits.length * _RESULT_FACTOR or longest > limits.length:
                    raise LimitExceeded("the answer is too long", "select fewer rows or columns")
            rows += chunk
            if len(chunk) < wanted:
                break
            if self._cancelled or self._timed_out:
                raise psycopg.errors.QueryCanceled("between two fetches")
        return columns, rows

    def _explain(self, error: psycopg.Error, limits: Limits) -> DatabaseError:
        if self._cancelled:
            return Cancelled("the query was cancelled", "run it again when you like")
        late = isinstance(error, psycopg.errors.QueryCanceled) and "timeout" in str(error)
        if self._timed_out or late:
            return LimitExceeded(
                f"the query took longer than {limits.seconds:g} s",
                "ask about fewer patients or a shorter time, or raise the time limit",
            )
        return errors.explained(error, lost=self._session is None or self._session.closed)
