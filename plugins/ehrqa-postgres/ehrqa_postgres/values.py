"""PostgreSQL's values as the contract has them: text, numbers, NULL.

Times are taken as the server writes them (DateStyle ISO), which knows years that Python does not.
"""

from __future__ import annotations

import math
from typing import ClassVar

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Loader

from ehrqa_cli.contracts.types import Scalar


class _Text(Loader):
    def load(self, data: Buffer) -> Scalar:
        return bytes(data).decode("utf-8", "replace")


class _Padded(Loader):
    """CHAR(n), which is filled with blanks that do not count."""

    def load(self, data: Buffer) -> Scalar:
        return bytes(data).decode("utf-8", "replace").rstrip(" ")


class _Time(Loader):
    midnight: ClassVar[str] = " 00:00:00"

    def load(self, data: Buffer) -> Scalar:
        text = bytes(data).decode("ascii", "replace")
        return text + self.midnight if len(text) == 10 else text[:19]


class _Number(Loader):
    """A decimal: without a point it is an integer, as a sum of integers is."""

    def load(self, data: Buffer) -> Scalar:
        text = bytes(data).decode("ascii")
        if text.lstrip("-").isdigit():
            return int(text)
        return _finite(float(text))


class _Real(Loader):
    def load(self, data: Buffer) -> Scalar:
        return _finite(float(bytes(data)))


class _Truth(Loader):
    def load(self, data: Buffer) -> Scalar:
        return int(bytes(data) == b"t")


class _Bytes(Loader):
    def load(self, data: Buffer) -> Scalar:
        return bytes(data).decode("ascii", "replace").removeprefix("\\x")


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_OIDS: dict[int, type[Loader]] = {
    16: _Truth,  # boolean
    17: _Bytes,  # bytea
    700: _Real,  # real
    701: _Real,  # double precision
    1042: _Padded,  # character(n)
    1082: _Time,  # date
    1114: _Time,  # timestamp
    1184: _Time,  # timestamp with time zone
    1700: _Number,  # numeric
}
# Integers and texts: psycopg's own loaders give what is wanted, and are quick.
_AS_THEY_ARE = frozenset({18, 19, 20, 21, 23, 25, 26, 705, 1043})


def plain_values(connection: Connection[tuple[Scalar, ...]]) -> None:
    """Make ``connection`` give plain values only: a type that has no line here comes as text."""
    adapters = connection.adapters
    for info in adapters.types:
        for oid in (info.oid, info.array_oid):
            if oid and oid not in _AS_THEY_ARE:
                adapters.register_loader(oid, _OIDS.get(oid, _Text))
