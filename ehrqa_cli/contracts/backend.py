"""A database that has only to give rows: all that ``Limits`` says is kept here, once for every one.

A plugin derives from ``Backend`` and writes how a connection is made (``ready``), what a statement
gives (``rows``), how a running one is ended (``interrupt``) and what its errors mean
(``explained``). ``Backend`` runs a statement on a thread of its own, ends it when its time is over
or somebody gives up, counts and measures the rows as they come, and leaves a statement that does
not end to itself, so that nobody waits for it.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import ClassVar, Generic, TypeVar

from ehrqa_cli.aside import Aside, Left, settle
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result, Row, Scalar

Held = TypeVar("Held")  # a connection
Made = TypeVar("Made")
_GRACE = 0.5  # seconds that a statement has to end by itself once it is asked to
_RESULT_FACTOR = 16  # a whole result may be this many times Limits.length


class _Ended(Exception):
    """The statement was to end, and has, between two of its rows."""


class _Asked(Generic[Held]):
    """One statement that somebody waits for."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.held: Held | None = None  # what it runs on
        self.began = 0.0  # when its time began, by time.monotonic(); 0 before
        self.ending = 0.0  # when it was first asked to end; 0 before
        self.cancelled = self.late = False

    @property
    def stopped(self) -> bool:
        """Is it to end?"""
        return self.cancelled or self.late

    def look(self) -> bool:
        """Look at the clock: is it to end?"""
        if self.began and time.monotonic() > self.began + self.seconds:
            self.late = True
        return self.stopped


class Backend(Database, Generic[Held]):
    """A ``Database`` over connections of the kind ``Held``. Safe to use from several threads:
    statements wait for each other.

    A plugin's own ``__init__`` must call this one's. The methods to write run on the thread that
    ``Backend`` keeps, but for ``check``, ``interrupt``, ``abandon`` and ``explained``.
    """

    # Does the time that ``ready`` takes count against ``Limits.seconds``?
    ready_counts: ClassVar[bool] = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aside = Aside()
        self._held: Held | None = None
        self._asked: _Asked[Held] | None = None
        self._closed = False

    # --- what a plugin writes

    def check(self, sql: str, limits: Limits) -> None:
        """Refuse what can be told from the statement alone. Raises Refused, LimitExceeded."""

    @abstractmethod
    def ready(self, held: Held | None) -> Held:
        """The connection for the next statement, able to read and nothing else: ``held``, which
        the last one ran on, while it is good, else a new one. It releases ``held`` where it gives
        another, or nothing. Raises DatabaseError."""

    @abstractmethod
    def rows(self, held: Held, sql: str, limits: Limits) -> tuple[Sequence[str], Iterable[Row]]:
        """Run one SELECT: its columns, and its rows as plain values, one after the other. No more
        than ``limits.rows`` and one are taken; a generator is closed when they are."""

    @abstractmethod
    def interrupt(self, held: Held) -> None:
        """End what runs on ``held``. Called again every 50 ms until it has ended, because many
        engines forget one that comes too early."""

    def abandon(self, held: Held) -> None:
        """Nobody waits any more for what runs on ``held``, which has not ended when asked to; it is
        released when it does."""
        self.interrupt(held)

    @abstractmethod
    def release(self, held: Held) -> None:
        """Close a connection on which nothing runs."""

    @abstractmethod
    def explained(
        self, error: BaseException, held: Held | None, limits: Limits
    ) -> EhrqaError | None:
        """An error that ``ready`` or ``rows`` raised as one line with a hint; None for one that is
        a fault of the program. ``held`` is None where there was no connection yet."""

    # --- what the program calls

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of this database's within ``limits``.

        Raises Refused, LimitExceeded, Cancelled, DatabaseError for SQL that is wrong, or
        DatabaseFault for data that are damaged or gone.
        """
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        self.check(sql, limits)

        def work(held: Held, stopped: Callable[[], bool]) -> tuple[tuple[str, ...], list[Row]]:
            columns, rows = self.rows(held, sql, limits)
            return tuple(columns), _taken(rows, limits, stopped)

        (columns, rows), elapsed = self.within(limits, work)
        return Result(columns, tuple(rows[: limits.rows]), len(rows) > limits.rows, elapsed)

    def cancel(self) -> None:
        """End the running statement from another thread; whoever waits for it sees to that."""
        asked = self._asked
        if asked is not None:
            asked.cancelled = True

    def close(self) -> None:
        """Give the connection back, ending what runs on it; a second call does nothing."""
        self._closed = True
        self.cancel()
        with self._lock:
            held, self._held = self._held, None
            self._aside.close()
            if held is not None:
                self.release(held)

    def within(
        self, limits: Limits, work: Callable[[Held, Callable[[], bool]], Made]
    ) -> tuple[Made, float]:
        """What ``work`` gives, and the seconds that it took. It is called with a connection and
        with what says that it is to end, and ends after ``limits.seconds``. Raises as ``execute``.
        """
        with self._lock:
            if self._closed:
                raise DatabaseError("the database is closed", "open it again")
            asked = self._asked = _Asked[Held](limits.seconds)
            try:
                return self._run(asked, work), time.monotonic() - asked.began
            except EhrqaError:
                raise
            except (Exception, KeyboardInterrupt) as error:
                if (told := self._explained(error, asked, limits)) is None:
                    raise
                raise told from error
            finally:
                self._asked = None

    def _run(self, asked: _Asked[Held], work: Callable[[Held, Callable[[], bool]], Made]) -> Made:
        before, self._held = self._held, None

        def call() -> Made:
            asked.began = asked.began or (time.monotonic() if self.ready_counts else 0.0)
            asked.held = self.ready(before if asked.held is None else asked.held)
            asked.began = asked.began or time.monotonic()
            if asked.stopped:
                raise _Ended
            return work(asked.held, lambda: asked.stopped)

        def over() -> bool:
            if not asked.look():
                return False
            asked.ending = asked.ending or time.monotonic()
            with suppress(Exception):
                if asked.held is not None:
                    self.interrupt(asked.held)
            return time.monotonic() > asked.ending + _GRACE

        def late() -> None:
            if asked.held is not None:
                self.release(asked.held)

        try:
            try:
                made = self._aside.run(call, over, late)
            except MemoryError:  # statements that were left share this process's memory
                if not settle(asked.began + asked.seconds - time.monotonic()):
                    raise
                made = self._aside.run(call, over, late)
        except Left:
            self._abandoned(asked)
            raise
        except Exception:
            self._held = asked.held
            raise
        except BaseException:  # Ctrl-C, in the thread that waits
            self._abandoned(asked)
            raise
        self._held = asked.held
        return made

    def _abandoned(self, asked: _Asked[Held]) -> None:
        with suppress(Exception):  # it may have ended this moment
            if asked.held is not None:
                self.abandon(asked.held)

    def _explained(
        self, error: BaseException, asked: _Asked[Held], limits: Limits
    ) -> EhrqaError | None:
        if asked.cancelled:
            return Cancelled("the query was cancelled", "run it again when you like")
        if asked.late:
            return took_longer(f"{limits.seconds:g} s")
        if isinstance(error, KeyboardInterrupt):
            return Cancelled("the query was interrupted", "run it again when you like")
        return self.explained(error, asked.held, limits)


def took_longer(than: str) -> LimitExceeded:
    """The error of a statement whose time, such as "10 s", is over."""
    return LimitExceeded(
        f"the query took longer than {than}",
        "ask about fewer patients or a shorter time, or raise the time limit",
    )


def _taken(rows: Iterable[Row], limits: Limits, stopped: Callable[[], bool]) -> list[Row]:
    """The rows up to one more than the limit. Raises LimitExceeded for too much text."""
    taken: list[Row] = []
    size = 0
    try:
        for row in rows:
            length = sum(len(v) if isinstance(v, str) else 8 for v in row)
            size += length
            one = length > limits.length and any(_is_longer(v, limits.length) for v in row)
            if one or size > limits.length * _RESULT_FACTOR:
                raise LimitExceeded("the answer is too long", "select fewer rows or columns")
            taken.append(row)
            if len(taken) > limits.rows:
                break
            if stopped():
                raise _Ended
    finally:
        if callable(close := getattr(rows, "close", None)):
            close()
    return taken


def _is_longer(value: Scalar, length: int) -> bool:
    return isinstance(value, str) and len(value) > length
