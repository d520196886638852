"""What occurs in a record: every code of its events, with its name, how often and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.concepts import Item
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.ehr.schema import BY_NAME

_LIMITS = Limits(seconds=3600.0, rows=5_000_000, length=10_000_000)


@dataclass(frozen=True)
class Source:
    """A column of codes. ``names`` is the table that names them, by its column of the same name
    (or ``key``); ``unit`` are columns that may hold the unit of a value, the first there counts."""

    kind: str
    table: str
    column: str
    names: str = ""
    label: str = "label"
    unit: tuple[str, ...] = ()


_AMOUNTS = ("amountuom", "totalamountuom")
SOURCES = (
    Source("lab", "labevents", "itemid", "d_labitems", unit=("valueuom",)),
    Source("vital", "chartevents", "itemid", "d_items", unit=("valueuom",)),
    Source("vital", "omr", "result_name", unit=("valueuom",)),
    Source("intake", "inputevents", "itemid", "d_items", unit=_AMOUNTS),
    Source("output", "outputevents", "itemid", "d_items", unit=("valueuom",)),
    Source("dx", "diagnoses_icd", "icd_code", "d_icd_diagnoses", "long_title"),
    Source("proc", "procedures_icd", "icd_code", "d_icd_procedures", "long_title"),
    Source("proc", "procedureevents", "itemid", "d_items"),
    Source("proc", "hcpcsevents", "hcpcs_cd", "", "short_description"),
    Source("drug", "prescriptions", "drug"),
    Source("drug", "emar", "medication"),
    Source("route", "prescriptions", "route"),
    Source("specimen", "microbiologyevents", "spec_type_desc"),
    Source("mtest", "microbiologyevents", "test_name"),
    Source("organism", "microbiologyevents", "org_name"),
    Source("antibiotic", "microbiologyevents", "ab_name"),
    Source("careunit", "transfers", "careunit"),
    Source("careunit", "icustays", "first_careunit"),
    Source("careunit", "icustays", "last_careunit"),
    Source("admloc", "admissions", "admission_location"),
    Source("admtype", "admissions", "admission_type"),
    Source("encounter", "admissions", "encounter"),
    Source("dischloc", "admissions", "discharge_location"),
    Source("insurance", "admissions", "insurance"),
    Source("language", "admissions", "language"),
    Source("marital", "admissions", "marital_status"),
    Source("race", "admissions", "race"),
    Source("service", "services", "curr_service"),
)
KIND_OF = {(source.table, source.column): source.kind for source in SOURCES}


def read_items(database: Database) -> list[Item]:
    """Every code that occurs in the record's events, of the tables that it has.

    Raises DatabaseError.
    """
    schema = {t.lower(): {c.lower() for c in cs} for t, cs in database.schema().items()}
    found: list[Item] = []
    for source in SOURCES:
        if source.column in schema.get(source.table, ()):
            found += _items(database, source, schema)
    return found


def _items(database: Database, source: Source, schema: Mapping[str, set[str]]) -> list[Item]:
    table, column = source.table, source.column
    time = BY_NAME[table].time if table in BY_NAME else None
    dated = f"MIN({time}), MAX({time})" if time in schema[table] else "NULL, NULL"
    unit = next((name for name in source.unit if name in schema[table]), None)
    label = source.label if not source.names and source.label in schema[table] else None
    keys = ", ".join(name for name in (column, label, unit) if name)
    sql = (
        f"SELECT {column}, {label or 'NULL'}, {unit or 'NULL'}, COUNT(*), {dated} "
        f"FROM {table} WHERE {column} IS NOT NULL GROUP BY {keys}"
    )
    groups: dict[str | int, list[Row]] = {}
    for row in database.execute(sql, _LIMITS).rows:
        groups.setdefault(_code(row[0]), []).append(row)
    named = _names(database, source, schema) if source.names in schema else {}
    return [_item(source, code, rows, named.get(code)) for code, rows in groups.items()]


def _names(
    database: Database, source: Source, schema: Mapping[str, set[str]]
) -> dict[str | int, Row]:
    """Name, specimen and category of the codes that occur."""
    table, column = source.names, source.column
    more = ", ".join(c if c in schema[table] else "NULL" for c in ("fluid", "category"))
    used = f"SELECT {column} FROM {source.table}"
    sql = f"SELECT {column}, {source.label}, {more} FROM {table} WHERE {column} IN ( {used} )"
    return {_code(row[0]): row[1:] for row in database.execute(sql, _LIMITS).rows}


def _item(source: Source, code: str | int, rows: Sequence[Row], named: Row | None) -> Item:
    commonest = max(rows, key=lambda row: row[3] or 0)
    name, specimen, category = named or (commonest[1] or code, None, None)
    return Item(
        source.table,
        source.column,
        code,
        str(name or code),
        str(specimen or ""),
        str(category or ""),
        str(commonest[2] or ""),
        sum(int(row[3] or 0) for row in rows),
        min((str(row[4]) for row in rows if row[4]), default=""),
        max((str(row[5]) for row in rows if row[5]), default=""),
    )


def _code(value: object) -> str | int:
    return value if isinstance(value, int) else str(value)
