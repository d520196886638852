"""The limits that `Backend` keeps for every database, over one that is a list of rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from ehrqa_cli.contracts.backend import Backend
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.types import Limits, Row


class Line:
    """A connection: what was done with it."""

    def __init__(self) -> None:
        self.interrupted = 0
        self.released = threading.Event()
        self.ended = threading.Event()


class Listed(Backend[Line]):
    """Its statements are names of its own methods that give rows."""

    dialect: ClassVar[str] = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []
        self.slow_to_open = 0.0
        self.free = threading.Event()  # lets what is stuck go on

    @classmethod
    def open(cls, target: str) -> Listed:
        return cls()

    def schema(self) -> Mapping[str, Sequence[str]]:
        return {}

    def fingerprint(self) -> str:
        return "listed"

    def ready(self, held: Line | None) -> Line:
        if held is None:
            time.sleep(self.slow_to_open)
            held = Line()
            self.lines.append(held)
        return held

    def rows(self, held: Line, sql: str, limits: Limits) -> tuple[Sequence[str], Iterable[Row]]:
        rows: Callable[[Line], Iterable[Row]] = getattr(self, sql)
        return ["x"], rows(held)

    def interrupt(self, held: Line) -> None:
        held.interrupted += 1

    def release(self, held: Line) -> None:
        held.released.set()

    def explained(
        self, error: BaseException, held: Line | None, limits: Limits
    ) -> EhrqaError | None:
        return DatabaseError(f"list: {error}", "look") if isinstance(error, KeyError) else None

    def endless(self, held: Line) -> Iterator[Row]:
        """Rows by and by, for ever."""
        try:
            while True:
                time.sleep(0.01)
                yield (1,)
        finally:
            held.ended.set()

    def deaf(self, held: Line) -> Iterator[Row]:
        """Takes two wishes to end."""
        while held.interrupted < 2:
            time.sleep(0.01)
        raise KeyError("interrupted")
        yield ()

    def stuck(self, held: Line) -> Iterator[Row]:
        """Does not end when asked to."""
        self.free.wait(20)
        yield (1,)

    def three(self, held: Line) -> list[Row]:
        return [(1,), (2,), (3,)]

    def long(self, held: Line) -> list[Row]:
        return [("x" * 2001,)]

    def wide(self, held: Line) -> list[Row]:
        return [("x" * 1999,)] * 17

    def wrong(self, held: Line) -> list[Row]:
        raise KeyError("no such thing")

    def broken(self, held: Line) -> list[Row]:
        raise TypeError("a fault of the plugin")


MANY = Limits(seconds=30.0, rows=10**9)


@pytest.fixture
def database() -> Iterator[Listed]:
    opened = Listed()
    yield opened
    opened.free.set()
    opened.close()


def test_rows_are_cut_and_said_to_be(database: Listed) -> None:
    cut = database.execute("three", Limits(rows=2))
    assert (cut.columns, cut.rows, cut.truncated) == (("x",), ((1,), (2,)), True)
    whole = database.execute("three", Limits(rows=3))
    assert (len(whole.rows), whole.truncated) == (3, False)
    assert len(database.lines) == 1  # one connection for both


@pytest.mark.parametrize("sql", ["long", "wide", "x" * 2001])
def test_a_text_a_result_and_a_statement_have_a_length(database: Listed, sql: str) -> None:
    with pytest.raises(LimitExceeded, match=r"too long|longer than 2,000"):
        database.execute(sql, Limits(length=2000))
    assert database.execute("long", Limits(length=2001)).rows


@pytest.mark.parametrize("sql", ["endless", "deaf"])
def test_time_ends_a_statement_that_can_be_ended(database: Listed, sql: str) -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match=r"longer than 0\.2 s"):
        database.execute(sql, Limits(seconds=0.2, rows=10**9))
    assert time.monotonic() - started < 1.2
    (line,) = database.lines
    assert line.ended.is_set() == (sql == "endless")  # its generator was closed
    assert database.execute("three").rows == ((1,), (2,), (3,))
    assert database.lines == [line], "it has ended, and its connection is good"


def test_a_statement_that_does_not_end_is_left_to_itself(database: Listed) -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded):
        database.execute("stuck", Limits(seconds=0.1))
    assert time.monotonic() - started < 1.1
    left = database.lines[0]
    assert database.execute("three").rows
    assert len(database.lines) == 2, "the next one has a connection of its own"
    assert not left.released.is_set()
    database.free.set()
    assert left.released.wait(5), "and the first is closed when what runs on it is over"
    assert not database.lines[1].released.is_set()


@pytest.mark.parametrize("sql", ["endless", "stuck"])
def test_another_thread_can_give_up(database: Listed, sql: str) -> None:
    threading.Timer(0.1, database.cancel).start()
    started = time.monotonic()
    with pytest.raises(Cancelled, match="was cancelled"):
        database.execute(sql, MANY)
    assert time.monotonic() - started < 1.1
    database.cancel()  # nothing runs: it does no harm
    assert database.execute("three").rows


def test_errors_are_the_plugin_s_to_explain(database: Listed) -> None:
    with pytest.raises(DatabaseError, match="list: 'no such thing'"):
        database.execute("wrong")
    with pytest.raises(TypeError, match="a fault of the plugin"):
        database.execute("broken")
    assert database.execute("three").rows


def test_the_time_of_opening_counts_or_not(
    database: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.slow_to_open = 0.4
    with pytest.raises(LimitExceeded):
        database.execute("three", Limits(seconds=0.1))
    monkeypatch.setattr(Listed, "ready_counts", False)
    again = Listed()
    again.slow_to_open = 0.4
    assert again.execute("three", Limits(seconds=0.1)).elapsed < 0.1
    again.close()


def test_closing_ends_what_runs_and_closes_once(database: Listed) -> None:
    database.execute("three")
    threading.Timer(0.1, database.close).start()
    with pytest.raises(Cancelled):
        database.execute("endless", MANY)
    (line,) = database.lines
    assert line.released.wait(5)
    database.close()
    with pytest.raises(DatabaseError, match="closed"):
        database.execute("three")
