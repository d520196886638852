"""A part of a session that is opened at first use, and of which can be seen whether it is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Opened(Generic[T]):
    """What ``make`` gives, or what is given ready, from the first ``get`` until ``close``."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[()] | tuple[T] = ()

    def give(self, value: T) -> None:
        """Take a ready one instead of making it."""
        self._made = (value,)

    def get(self) -> T:
        """The part, made now if it is not open. Raises what making it raises."""
        made = self._made or (self._make(),)
        self._made = made
        return made[0]

    @property
    def is_open(self) -> bool:
        """Was it given or made, if only to find that there is none?"""
        return bool(self._made)

    @property
    def open(self) -> T | None:
        """The part if it is open, else None; nothing is made."""
        return self._made[0] if self._made else None

    def tell(self, name: str) -> None:
        """Call its method ``name``, if it is open and has one."""
        _call(self.open, name)

    def close(self) -> None:
        """Close and forget it; a later ``get`` makes another."""
        part, self._made = self.open, ()
        _call(part, "close")


def _call(part: object, name: str) -> None:
    method = getattr(part, name, None)
    if method is not None:
        method()
