"""Units of measurement: their spellings, and conversions, by the mass of a mole too."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from ehrqa_cli.concepts.lab_names import known
from ehrqa_cli.concepts.names import lists, table

# Words that are units only after a slash or as part of another: "over 5 in the last week".
_NOT_ALONE = frozenset(("in", "d", "m", "#", "count", "cells", "cell", "mil", "st", "1000", "cal"))
_PER = ("volume", "field", "lowfield")  # "5 per ul" has a unit, "5 per day" is a count
_A1C, _A1C_SLOPE, _A1C_START = "hemoglobin a1c", 10.929, 2.15  # IFCC = (NGSP - 2.15) * 10.929
_SLASH = re.compile(r"\s*/\s*|\s+per\s+|^per\s+")
_Dimension = tuple[tuple[str, int], ...]


def convert(value: float, unit: str, to: str, analyte: str = "") -> float | None:
    """``value`` in the unit ``to``; None where that cannot be told.

    Mass becomes amount (mg/dL, mmol/L) by the weight of a mole of ``analyte``, equivalents become
    moles by its charge: known are those of moles.tsv, by any of their names.
    """
    name = known(analyte.partition(",")[0]) if analyte else ""
    if same(unit, to):
        return float(value)
    a, b = _parse(unit), _parse(to)
    if a is None or b is None:
        return None
    linear = _linear(value, _name(a[0]), _name(b[0]), name)
    if linear is not None:
        return linear
    ratio = 1.0 if a[0] == b[0] else _by_moles(a[0], b[0], name)
    return None if ratio is None else value * a[1] * ratio / b[1]


def same(first: str, second: str) -> bool:
    """Do the two spell one unit (mEq/L and MEQ/L, K/uL and 10^9/L)?"""
    if _plain(first) == _plain(second):
        return True
    a, b = _parse(first), _parse(second)
    return a is not None and b is not None and a[0] == b[0] and abs(a[1] / b[1] - 1) < 1e-9


def find_unit(text: str, start: int) -> tuple[str, int] | None:
    """The unit that ``text`` has at ``start``, behind blanks or a hyphen, and where it ends; None
    where no unit stands there. "11.1 mmol/L": ("mmol/l", 11)."""
    found = _unit_pattern().match(text, start)
    if not found or _plain(found["unit"]) in _NOT_ALONE:
        return None
    return _plain(found["unit"]), found.end()


def _linear(value: float, unit: str, to: str, analyte: str) -> float | None:
    if (unit, to) == ("celsius", "fahrenheit"):
        return value * 9 / 5 + 32
    if (unit, to) == ("fahrenheit", "celsius"):
        return (value - 32) * 5 / 9
    if analyte == _A1C and (unit, to) == ("ratio", "perthousand"):
        return (value - _A1C_START) * _A1C_SLOPE
    if analyte == _A1C and (unit, to) == ("perthousand", "ratio"):
        return value / _A1C_SLOPE + _A1C_START
    return None


def _by_moles(first: _Dimension, second: _Dimension, analyte: str) -> float | None:
    """What a number in ``first`` is to be multiplied with for ``second``; both in base units."""
    mass, charge = _moles().get(analyte, (0.0, 0.0))
    per_mole = {"mass": mass, "charge": charge, "amount": 1.0}
    change = Counter(dict(first))
    change.subtract(dict(second))
    moved = {name: power for name, power in change.items() if power}
    if sorted(moved.values()) != [-1, 1] or not all(per_mole.get(name) for name in moved):
        return None
    (gone,) = (name for name, power in moved.items() if power == 1)
    (come,) = (name for name, power in moved.items() if power == -1)
    return per_mole[come] / per_mole[gone]


@lru_cache(maxsize=1024)
def _parse(unit: str) -> tuple[_Dimension, float] | None:
    """The dimension of ``unit`` and its factor to base units; None if a part of it is unknown."""
    plain = _plain(unit)
    if plain in _units():
        return _units()[plain]
    above, *below = plain.split("/")
    powers: Counter[str] = Counter()
    factor = 1.0
    for power, part in ((1, above or "count"), *((-1, part) for part in below)):
        found = _units().get(part)
        if not plain or not found:
            return None
        for name, own in found[0]:
            powers[name] += power * own
        factor *= found[1] ** power
    return _ordered(powers), factor


def _ordered(powers: Counter[str]) -> _Dimension:
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _name(dimension: _Dimension) -> str:
    return dimension[0][0] if len(dimension) == 1 else ""


@lru_cache(maxsize=1024)
def _plain(unit: str) -> str:
    plain = " ".join(unit.lower().split()).strip(" .")
    return _SLASH.sub("/", plain)


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[_Dimension, float]]:
    found = {}
    for name, spellings, dimension, factor in table("units.tsv", 4):
        above, *below = dimension.split("/")
        powers = Counter([above])
        powers.subtract(below)
        for spelling in (name, *lists(spellings)):
            found[_plain(spelling)] = (_ordered(powers), float(factor))
    return found


@lru_cache(maxsize=1)
def _moles() -> dict[str, tuple[float, float]]:
    return {
        name: (float(mass or 0), float(charge or 0)) for name, mass, charge in table("moles.tsv", 3)
    }


@lru_cache(maxsize=1)
def _unit_pattern() -> re.Pattern[str]:
    words = "|".join(
        re.escape(word).replace(r"\ ", r"\s+") for word in sorted(_units(), key=len, reverse=True)
    )
    volumes = "|".join(
        re.escape(name) for name, (dimension, _) in _units().items() if _name(dimension) in _PER
    )
    word = rf"(?:{words})(?![\w^*])"
    slash = r"(?:\s*/\s*|\s+per\s+)"
    first = rf"(?:{word}|/\s*{word}|per\s+(?:{volumes})(?!\w))"
    return re.compile(rf"[\s-]*(?P<unit>{first}(?:{slash}{word})*)", re.I)
