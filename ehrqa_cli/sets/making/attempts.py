"""The attempts of one set, one after another: the same for every kind of set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.making.shares import Turns

_EVERY = 100  # questions between two reports of progress


class Attempts(ABC):
    """What an attempt gives depends on the seed, its number, and what those before it gave."""

    def __init__(self, turns: Turns, size: int, seed: int) -> None:
        self._turns = turns
        self._size = size
        self._seed = seed
        self._number = 0

    @property
    def made(self) -> int:
        """Questions made so far."""
        return self._turns.made

    def attempt(self, done: Plain | None) -> Plain | None:
        """The next attempt: the one ``done`` in an earlier run, or a new one; None when the set
        is complete, or nothing is left to ask."""
        name = self._turns.next() if self._turns.made < self._size else None
        if name is None:
            return None
        record = done if done is not None else self._new(name)
        self._turns.took(name, "failed" not in record)
        if "failed" not in record:
            self._count(name, record)
        self._number += 1
        return record

    def telling(
        self, progress: Callable[[int, int], None]
    ) -> Callable[[Plain | None], Plain | None]:
        """``attempt``, with a report of progress now and then: questions made, and wanted."""

        def told(done: Plain | None) -> Plain | None:
            found = self.attempt(done)
            if found is None or not self.made % _EVERY:
                progress(self.made, self._size)
            return found

        return told

    @abstractmethod
    def _new(self, name: str) -> Plain:
        """One attempt: a record, or why the template ``name`` gave none."""

    @abstractmethod
    def _count(self, name: str, record: Plain) -> None:
        """Take a question into account that was made, now or in an earlier run."""
