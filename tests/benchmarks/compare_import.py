"""Is an import of the MIMIC-IV demo the database that EHRSQL-2024 made from it?

    python tests/benchmarks/compare_import.py DATA [--ehrsql]

DATA holds ``mimic-iv-demo/`` and ``ehrsql-2024/mimic_iv.sqlite``. Imports the former (with the
defaults, or with every convention of EHRSQL) and prints, table by table: rows of the reference,
rows made, rows that are equal, rows only in the reference, and the rows only in the import: those
of hospital visits that the reference did not take, those after its present, and others.

Rows are equal when all the reference's columns but row_id are, after undoing its time shift (each
patient's is known from the visits in both) and forgetting what lies after its present: the end of
a visit, stay, transfer or prescription that was not over yet, and deaths to come.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW, ImportOptions
from ehrqa_cli.ehr.schema import TABLES, EhrTable

# what is not known yet of something that lasts beyond the present
_ENDS = {"dischtime": ("dischtime", "discharge_location")}
_ENDS |= {name: (name,) for name in ("outtime", "stoptime", "dod")}


@dataclass(frozen=True)
class Comparison:
    """Rows of one table, counted."""

    table: str
    reference: int
    made: int
    equal: int
    only_reference: int
    other_visits: int
    later: int
    rest: int


def _moved(text: str, days: timedelta) -> str:
    return str(datetime.fromisoformat(text) + days)


class _Comparer:
    def __init__(self, reference: sqlite3.Connection, made: sqlite3.Connection) -> None:
        self.reference, self.made = reference, made
        self.visits = dict(reference.execute("SELECT hadm_id, admittime FROM admissions"))
        self.shift: dict[int, timedelta] = {}
        for subject, hadm, time in made.execute(
            "SELECT subject_id, hadm_id, admittime FROM admissions"
        ):
            if hadm in self.visits:
                there = datetime.fromisoformat(self.visits[hadm])
                self.shift[subject] = datetime.fromisoformat(time) - there

    def rows(self, connection: sqlite3.Connection, table: EhrTable) -> Iterator[dict[str, Any]]:
        """Rows by column, of the columns that the reference has."""
        columns = [r[1] for r in self.reference.execute(f"PRAGMA table_info({table.name})")]
        names = [c for c in columns if c != "row_id"]
        for row in connection.execute(f"SELECT {', '.join(names)} FROM {table.name}"):
            yield dict(zip(names, row, strict=True))

    def _times(self, table: EhrTable) -> list[str]:
        times = [c.name for c in table.columns if c.type.startswith("TIMESTAMP")]
        there = {r[1] for r in self.reference.execute(f"PRAGMA table_info({table.name})")}
        return [name for name in times if name in there]

    def unshifted(self, table: EhrTable) -> Counter[tuple[Any, ...]]:
        """The reference's rows in the import's time."""
        found: Counter[tuple[Any, ...]] = Counter()
        for row in self.rows(self.reference, table):
            for name in self._times(table):
                if row[name] is not None:
                    row[name] = _moved(row[name], self.shift[row["subject_id"]])
            found[tuple(row.values())] += 1
        return found

    def compare(self, table: EhrTable) -> Comparison:
        """Count the rows of one table."""
        left = self.unshifted(table)
        total, made, equal, other, later, rest = left.total(), 0, 0, 0, 0, 0
        for row in self.rows(self.made, table):
            made += 1
            subject = row.get("subject_id")
            if subject is not None and subject not in self.shift:
                other += 1
                continue
            if "hadm_id" in row and row["hadm_id"] not in self.visits:
                other += 1
                continue
            if subject is not None:
                now = _moved(EHRSQL_NOW, self.shift[subject])
                if table.time is not None and (row[table.time] or "") > now:
                    later += 1
                    continue
                for end, forgotten in _ENDS.items():
                    if (row.get(end) or "") > now:
                        row |= dict.fromkeys(forgotten)
            key = tuple(row.values())
            if left[key]:
                left[key] -= 1
                equal += 1
            else:
                rest += 1
        return Comparison(table.name, total, made, equal, left.total(), other, later, rest)


def compare(reference: Path, made: Path) -> list[Comparison]:
    """Compare two databases, table by table; ``cost`` is left out, for it is random."""
    connections = [sqlite3.connect(f"{p.resolve().as_uri()}?mode=ro", uri=True) for p in
                   (reference, made)]  # fmt: skip
    try:
        comparer = _Comparer(*connections)
        return [comparer.compare(t) for t in TABLES if t.name != "cost"]
    finally:
        for connection in connections:
            connection.close()


def main() -> None:
    """Import, compare, print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--ehrsql", action="store_true", help="every convention of EHRSQL")
    args = parser.parse_args()
    options = ImportOptions().as_ehrsql() if args.ehrsql else ImportOptions()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ehr.sqlite"
        import_mimic(args.data / "mimic-iv-demo", out, options)
        found = compare(args.data / "ehrsql-2024/mimic_iv.sqlite", out)
    head = "table | reference | import | equal | only in reference | other visits | later | rest"
    print(f"| {head} |")
    print("|---|" + "---:|" * 7)
    for c in found:
        numbers = (c.reference, c.made, c.equal, c.only_reference, c.other_visits, c.later, c.rest)
        print(f"| {c.table} | " + " | ".join(f"{n:,}" for n in numbers) + " |")


if __name__ == "__main__":
    main()
