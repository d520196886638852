"""Made-up prices, for those who want to try questions about costs: MIMIC-IV has none.

As in EHRSQL-2024 every diagnosis, procedure, lab and prescription is one row of ``cost``, charged
at the event's time, and one kind of event has one price. A price is drawn from a normal
distribution with the mean and the spread that EHRSQL-2024's prices have, by hashing the seed with
the event's name: the same seed gives the same prices whatever else is imported.
"""

from __future__ import annotations

import hashlib
import sqlite3
from statistics import NormalDist

from ehrqa_cli.ehr.mimic.options import TableReport

# table: what names the kind of event, its time, and mean and deviation of the prices
_PRICED: tuple[tuple[str, str, str, float, float], ...] = (
    ("diagnoses_icd", "icd_code", "charttime", 7.0, 1.2),
    ("labevents", "itemid", "charttime", 9.7, 1.2),
    ("procedures_icd", "icd_code", "charttime", 8.0, 1.2),
    ("prescriptions", "drug", "starttime", 12.0, 1.2),
)
_LEAST = 0.5
# Of each table with prices: what names the kind of event, and its time.
PRICED = {table: (name, when) for table, name, when, _, _ in _PRICED}


def price(seed: int, table: str, name: object) -> float:
    """The price of one kind of event, with two decimals."""
    text = f"{seed}|{table}|{name}".encode()
    drawn = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
    mean, deviation = next((m, d) for t, _, _, m, d in _PRICED if t == table)
    share = (drawn + 0.5) / 2**64
    return round(max(_LEAST, NormalDist(mean, deviation).inv_cdf(share)), 2)


def add_costs(connection: sqlite3.Connection, seed: int) -> TableReport:
    """Fill ``cost`` from the events in the database."""
    known: dict[tuple[str, object], float] = {}

    def of(table: str, name: object) -> float:
        key = (table, name)
        if key not in known:
            known[key] = price(seed, table, name)
        return known[key]

    connection.create_function("price_of", 2, of, deterministic=True)
    for table, name, when, _, _ in _PRICED:
        connection.execute(
            "INSERT INTO cost (row_id, subject_id, hadm_id, event_type, event_id, chargetime, cost)"
            " SELECT (SELECT coalesce(max(row_id) + 1, 0) FROM cost)"
            "  + row_number() OVER (ORDER BY row_id) - 1,"
            f" subject_id, hadm_id, '{table}', row_id, {when}, price_of('{table}', {name})"
            f" FROM {table} WHERE hadm_id IS NOT NULL ORDER BY row_id"
        )
    made = int(connection.execute("SELECT count(*) FROM cost").fetchone()[0])
    return TableReport("cost", f"made up from seed {seed}", made, made)
