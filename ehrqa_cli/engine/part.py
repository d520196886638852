"""A part of a session: an attribute that is opened at first use, and can be seen to be open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload


class Holder(Protocol):
    """What has parts; ``opened`` are those that were opened or given, by name."""

    opened: dict[str, Any]


H = TypeVar("H", bound=Holder)
T = TypeVar("T")


class Part(Generic[H, T]):
    """The method that opens a part, as an attribute that is the part.

    On the class it is this object, which tells of a holder's part without opening it:
    ``SessionParts.database.open(session)``.
    """

    def __init__(self, make: Callable[[H], T]) -> None:
        self._make = make
        self.name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, holder: None, owner: type[H]) -> Part[H, T]: ...
    @overload
    def __get__(self, holder: H, owner: type[H]) -> T: ...
    def __get__(self, holder: H | None, owner: type[H]) -> Part[H, T] | T:
        if holder is None:
            return self
        if self.name not in holder.opened:
            holder.opened[self.name] = self._make(holder)
        part: T = holder.opened[self.name]
        return part

    def __set__(self, holder: H, ready: T) -> None:
        holder.opened[self.name] = ready

    def is_open(self, holder: H) -> bool:
        """Was it given or opened, if only to find that there is none?"""
        return self.name in holder.opened

    def open(self, holder: H) -> T | None:
        """The part if it is open, else None."""
        return holder.opened.get(self.name)

    def tell(self, holder: H, what: str) -> None:
        """Call its method ``what``, if it is open and has one."""
        method = getattr(self.open(holder), what, None)
        if method is not None:
            method()

    def close(self, holder: H) -> None:
        """Close and forget it; at its next use it is opened again."""
        close = getattr(holder.opened.pop(self.name, None), "close", None)
        if close is not None:
            close()
