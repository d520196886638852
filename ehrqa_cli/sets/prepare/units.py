"""One unit for each item: the commonest; values in another are left out.

EHRXQA (Bae et al. 2023, appendix C.1.1): "If a particular type of value has multiple associated
units of measurement, we retain only the value with the most common unit." Counted over the whole
source, so that both databases keep the same. Nothing is converted. No unit counts as a unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ehrqa_cli.sets.prepare.source import EhrSource

# Table: what names an item, its unit.
UNITS: Mapping[str, tuple[str, str]] = {
    "labevents": ("itemid", "valueuom"),
    "chartevents": ("itemid", "valueuom"),
    "inputevents": ("itemid", "totalamountuom"),
    "outputevents": ("itemid", "valueuom"),
    "prescriptions": ("drug", "dose_unit_rx"),
}


@dataclass(frozen=True)
class Units:
    """By table and item the rows in each unit; only items with several."""

    counts: Mapping[str, Mapping[str, Mapping[str, int]]]

    def kept(self, table: str) -> dict[str, str]:
        """The commonest unit of each item with several; of equal ones the first in the alphabet,
        and any before none."""
        return {item: _first(units) for item, units in self.counts.get(table, {}).items()}

    def lines(self) -> Iterator[str]:
        """A table for people: table, item, unit, rows, kept."""
        yield "table\titem\tunit\trows\tkept"
        for table, items in self.counts.items():
            for item, units in sorted(items.items()):
                best = _first(units)
                for unit, rows in sorted(units.items()):
                    yield f"{table}\t{item}\t{unit}\t{rows}\t{int(unit == best)}"


def read_units(source: EhrSource) -> Units:
    """Count the units of all items. Raises DatabaseError."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for table, (item, unit) in UNITS.items():
        counts: dict[str, Counter[str]] = {}
        sql = f"SELECT {item}, {unit}, count(*) FROM {table} GROUP BY {item}, {unit}"
        for name, text, rows in source.query(sql):
            counts.setdefault(key(name), Counter())[key(text)] += int(rows or 0)
        found[table] = {name: units for name, units in counts.items() if len(units) > 1}
    return Units(found)


def key(value: object) -> str:
    """An item's or a unit's name as units are compared: in lower case, "" for none."""
    return "" if value is None else str(value).strip().lower()


def _first(units: Mapping[str, int]) -> str:
    return min(units, key=lambda unit: (-units[unit], not unit, unit))
