"""Numbers with units, and routes, brought to one form so that two spellings can be compared."""

from __future__ import annotations

import re

from ehrqa_cli.engine.mixed.types import Measure

# unit: (dimension, factor to the dimension's own unit)
_UNITS: dict[str, tuple[str, float]] = {
    "mg": ("mass", 1.0), "g": ("mass", 1000.0), "mcg": ("mass", 0.001), "kg": ("mass", 1e6),
    "ng": ("mass", 1e-6), "ml": ("volume", 1.0), "l": ("volume", 1000.0), "unit": ("unit", 1.0),
    "meq": ("meq", 1.0), "mmol": ("mmol", 1.0), "tab": ("piece", 1.0), "puff": ("puff", 1.0),
    "drop": ("drop", 1.0), "spray": ("spray", 1.0), "patch": ("patch", 1.0), "neb": ("neb", 1.0),
    "%": ("%", 1.0), "mg/dl": ("mass/volume", 1.0), "g/dl": ("mass/volume", 1000.0),
    "mg/l": ("mass/volume", 0.1), "ug/dl": ("mass/volume", 0.001), "mcg/dl": ("mass/volume", 0.001),
    "g/l": ("mass/volume", 100.0), "ng/ml": ("mass/volume", 0.0001),
    "mcg/l": ("mass/volume", 0.0001), "ug/l": ("mass/volume", 0.0001),
    "pg/ml": ("mass/volume", 1e-7), "ng/dl": ("mass/volume", 1e-6), "ng/l": ("mass/volume", 1e-7),
    "meq/l": ("mmol/l", 1.0), "mmol/l": ("mmol/l", 1.0), "umol/l": ("mmol/l", 0.001),
    "iu/l": ("u/l", 1.0), "u/l": ("u/l", 1.0), "miu/l": ("iu/ml", 1e-6), "uiu/ml": ("iu/ml", 1e-6),
    "miu/ml": ("iu/ml", 0.001), "k/ul": ("cells", 1.0), "k/mcl": ("cells", 1.0),
    "x10^3/ul": ("cells", 1.0), "10^3/ul": ("cells", 1.0), "x10^9/l": ("cells", 1.0),
    "k": ("cells", 1.0), "/ul": ("cells", 0.001), "/mcl": ("cells", 0.001),
    "m/ul": ("cells", 1000.0),
    "sec": ("time", 1.0), "mm hg": ("pressure", 1.0), "mmhg": ("pressure", 1.0), "fl": ("fl", 1.0),
    "mm/hr": ("rate", 1.0), "ratio": ("ratio", 1.0),
}  # fmt: skip
_SPELT = {
    "milligram": "mg", "milligrams": "mg", "mgs": "mg", "gm": "g", "gms": "g", "gram": "g",
    "grams": "g", "microgram": "mcg", "micrograms": "mcg", "ug": "mcg", "µg": "mcg", "μg": "mcg",
    "units": "unit", "u": "unit", "iu": "unit", "cc": "ml", "milliliters": "ml", "liters": "l",
    "tablet": "tab", "tablets": "tab", "tabs": "tab", "cap": "tab", "caps": "tab", "capsule": "tab",
    "capsules": "tab", "puffs": "puff", "drops": "drop", "sprays": "spray", "patches": "patch",
    "ptch": "patch", "spry": "spray", "percent": "%", "seconds": "sec", "mmoles/l": "mmol/l",
    "mmole/l": "mmol/l", "meqs": "meq", "gm/dl": "g/dl", "thousand": "k", "mcl": "/mcl",
}  # fmt: skip
_ROUTES = {
    "po": ("po", "oral", "orally", "by mouth", "p.o", "per os", "po/ng", "ng"),
    "ng": ("ng", "po/ng", "og"),
    "iv": ("iv", "intravenous", "intravenously", "iv drip", "i.v", "iv bolus", "ivpb", "iv push",
           "drip"),
    "sc": ("sc", "sq", "subcut", "subcutaneous", "subcutaneously", "s.c", "subq", "s.q"),
    "im": ("im", "intramuscular", "intramuscularly", "i.m"),
    "pr": ("pr", "rectal", "rectally", "per rectum"),
    "sl": ("sl", "sublingual", "sublingually", "under the tongue"),
    "tp": ("tp", "topical", "topically", "td", "transdermal", "patch"),
    "ih": ("ih", "inh", "inhaled", "inhalation", "neb", "nebulized", "by inhaler", "in"),
    "eye": ("both eyes", "left eye", "right eye", "ophthalmic", "ou", "os", "od"),
}  # fmt: skip
_ROUTE_WORDS = sorted(
    {word for words in _ROUTES.values() for word in words} - {"in", "ng", "od", "os"},
    key=len,
    reverse=True,
)
ROUNDING = 0.025  # of a value, that writing it with fewer decimals may change
_ROUTE = re.compile(
    r"(?<![\w/])(?:" + "|".join(re.escape(word) for word in _ROUTE_WORDS) + r")(?![\w/])", re.I
)


def unit_of(text: str) -> str:
    """A unit in one spelling; "" for none."""
    plain = " ".join(text.lower().split()).strip(" .")
    return _SPELT.get(plain, plain)


def same_kind(first: str, second: str) -> bool:
    """Can values in these units be compared? An unknown unit can with any."""
    a, b = unit_of(first), unit_of(second)
    return (
        not a or not b or a == b or (a in _UNITS and b in _UNITS and _UNITS[a][0] == _UNITS[b][0])
    )


def order(first: Measure, second: Measure, *, rounded: bool = False) -> int | None:
    """-1, 0 or 1 as ``first`` is less than, the same as or more than ``second``; None where their
    units are of different kinds or one is no number.

    ``rounded``: values are the same too where the finer one rounds to the other, within ROUNDING.
    """
    if first.number is None or second.number is None or not same_kind(first.unit, second.unit):
        return None
    a = first.number * _factor(first.unit, second.unit)
    b = second.number * _factor(second.unit, first.unit)
    size = max(abs(a), abs(b))
    slack = 1e-9 * size
    one_unit = a == first.number and b == second.number
    if rounded and one_unit and _decimals(first) != _decimals(second):
        half = 0.5 * 10.0 ** -min(_decimals(first), _decimals(second))
        slack = max(slack, half * 1.000001 if half <= ROUNDING * size else 0.0)
    if abs(a - b) <= slack:
        return 0
    return -1 if a < b else 1


def routes(text: str) -> frozenset[str]:
    """The routes that ``text`` can mean, in one spelling each."""
    plain = text.lower().strip(" .")
    return frozenset(route for route, words in _ROUTES.items() if plain in words)


def find_route(text: str) -> tuple[int, int] | None:
    """Where ``text`` names a route; None where it names none."""
    found = _ROUTE.search(text)
    return found.span() if found else None


def _factor(unit: str, other: str) -> float:
    a = unit_of(unit)
    return _UNITS[a][1] if a in _UNITS and unit_of(other) in _UNITS else 1.0


def _decimals(measure: Measure) -> int:
    """Decimals as written; "40.0" has none, as databases write whole numbers so."""
    found = re.search(r"\d\.(\d+)", measure.text)
    return len(found[1].rstrip("0")) if found else 0
