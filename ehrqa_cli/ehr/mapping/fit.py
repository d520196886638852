"""A mapping laid over one database: what it has of our tables, and the SELECTs that give them.

A table or column that a piece of the mapping needs and the database lacks leaves out no more than
what depends on it: a release without its ICU files is still an EHR. What is left out is remembered
with the reason, so that a question about it can be declined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ehrqa_cli import sqltext
from ehrqa_cli.ehr.mapping.document import Part, SchemaMap, reading
from ehrqa_cli.ehr.schema import BY_NAME, OPTIONAL_TABLES, TABLES, Column, EhrTable

# NULL with a type: databases that type columns take a bare NULL for a number.
_NOTHING = {
    "integer": "nullif(0, 0)",
    "real": "nullif(0.0, 0.0)",
    "text": "nullif('', '')",
    "timestamp": "datetime(nullif('', ''))",
}
_KEYS = frozenset({"itemid", "icd_code", "drug", "image_id"})
# What only joins: taken as it is, so that an index on it serves.
_CODES = frozenset({"row_id", "itemid", "icd_code", "image_id"})

Schema = Mapping[str, Sequence[str]]


def kind(column: Column) -> str:
    """What a column of ours holds, as ``Database.types`` says it."""
    for start, name in (("INT", "integer"), ("DOUBLE", "real"), ("VARCHAR", "text")):
        if column.type.startswith(start):
            return name
    return "timestamp" if column.type.startswith("TIMESTAMP") else "real"


@dataclass(frozen=True)
class FittedTable:
    """One of our tables over a database: ``parts`` is empty where there is none of it.

    ``lacking`` maps columns without data (``""``: the whole table) to what is missing.
    """

    table: EhrTable
    parts: tuple[Part, ...]
    lacking: Mapping[str, str]
    lower: bool

    def names(self) -> tuple[str, ...]:
        """Its columns, as an import would have them: of ours only those with data."""
        columns = self.table.columns
        return tuple(c.name for c in columns if not (c.extra and c.name in self.lacking))

    def select(self, columns: Collection[str]) -> str:
        """The rows with these of our columns, as SQLite's SQL; all its rows if ``columns`` is
        empty."""
        wanted = [c for c in self.table.columns if c.name in columns]
        if not self.parts:
            return f"SELECT {self._none(wanted)} WHERE 1 = 0"
        return " UNION ALL ".join(self._part(part, wanted) for part in self.parts)

    def value(self, part: Part, column: Column) -> str:
        """One column of a part as an expression, NULL where it has none."""
        sql = part.columns.get(column.name)
        if sql is None:
            return _NOTHING[kind(column)]
        if kind(column) != "text":
            return sql
        if not self.lower or column.name in _CODES:
            return sql if sqltext.is_column(sql) else f"CAST({sql} AS TEXT)"
        # CAST, so that it is compared as a column of text is (SQLite: affinity).
        return f"CAST(nullif(lower(trim({sql})), '') AS TEXT)"

    def _part(self, part: Part, wanted: Sequence[Column]) -> str:
        values = ((self.value(part, c), c.name) for c in wanted)
        listed = ", ".join(v if v == name else f"{v} AS {name}" for v, name in values)
        where = f" WHERE {part.where}" if part.where else ""
        return f"SELECT {listed or '1 AS one'} FROM {part.source}{where}"

    def _none(self, wanted: Sequence[Column]) -> str:
        return ", ".join(f"{_NOTHING[kind(c)]} AS {c.name}" for c in wanted) or "1 AS one"


@dataclass(frozen=True)
class Fitted:
    """A mapping over one database. ``broken`` says why it is none for it, empty where it is."""

    mapping: SchemaMap
    tables: Mapping[str, FittedTable]
    broken: tuple[str, ...]
    sources: frozenset[str]

    def schema(self) -> dict[str, tuple[str, ...]]:
        """Our tables and their columns; of those beyond EHRSQL's only what there is."""
        return {name: fitted.names() for name, fitted in self.tables.items()}

    def types(self) -> dict[str, dict[str, str]]:
        """What each column of ours holds."""
        return {
            name: {c.name: kind(c) for c in fitted.table.columns}
            for name, fitted in self.tables.items()
        }


def fit(mapping: SchemaMap, schema: Schema) -> Fitted:
    """Lay ``mapping`` over a database with these tables and columns."""
    held = {t.lower(): frozenset(c.lower() for c in columns) for t, columns in schema.items()}
    tables: dict[str, FittedTable] = {}
    for table in TABLES:
        tables[table.name] = _table(mapping, table, held)
    for table in OPTIONAL_TABLES:
        found = _table(_with_own(mapping, table, held), table, held)
        if found.parts:
            tables[table.name] = found
    broken = [
        f"{name}: {tables[name].lacking['']}"
        for name in ("patients", "admissions")
        if not tables[name].parts
    ]
    used = {t for table in tables.values() for part in table.parts for t in tables_of(part)}
    return Fitted(mapping, tables, tuple(broken), frozenset(used))


def signed(mapping: SchemaMap, schema: Schema) -> bool:
    """Has a database all that this mapping's layout is known by?"""
    held = {t.lower(): {c.lower() for c in columns} for t, columns in schema.items()}
    known = {f"{t}.{c}" for t, columns in held.items() for c in columns}
    return bool(mapping.signature) and all(s in known or s in held for s in mapping.signature)


def _with_own(mapping: SchemaMap, table: EhrTable, held: Mapping[str, frozenset[str]]) -> SchemaMap:
    """A table of ours that the database has by its own name (``tb_cxr``) is taken as it is."""
    if table.name in mapping.tables or not held.get(table.name, frozenset()) >= set(table.names()):
        return mapping
    part = Part(table.name, "", {name: name for name in table.names()})
    return replace(mapping, tables={**mapping.tables, table.name: (part,)}, lower=False)


def _table(mapping: SchemaMap, table: EhrTable, held: Mapping[str, frozenset[str]]) -> FittedTable:
    whys: list[str] = []
    parts: list[Part] = []
    lacking: dict[str, str] = {}
    for part in mapping.tables.get(table.name, ()):
        kept, gone = _part(part, held)
        if kept is not None:
            essential = [c for c in gone if is_essential(table, c)]
            if not essential:
                parts.append(kept)
                lacking.update(gone)
                continue
            gone = {"": ", ".join(dict.fromkeys(gone[c] for c in essential))}
        whys.append(gone[""])
    if not parts:
        told = mapping.absent.get(table.name) or "; ".join(whys)
        return FittedTable(table, (), {"": told}, mapping.lower)
    for column in table.columns:
        if not any(column.name in part.columns for part in parts):
            told = mapping.absent.get(f"{table.name}.{column.name}", "")
            lacking[column.name] = told or lacking.get(column.name, "")
        else:
            lacking.pop(column.name, None)
    return FittedTable(table, tuple(parts), lacking, mapping.lower)


def is_essential(table: EhrTable, column: str) -> bool:
    """Is a table of no use without this column: what names its rows, says whose they are, what of
    and when?"""
    required = next((c.required for c in table.columns if c.name == column), False)
    named = column.endswith("_id") or column in _KEYS
    return required and (named or column == table.time)


def _part(part: Part, held: Mapping[str, frozenset[str]]) -> tuple[Part | None, dict[str, str]]:
    """The part with the columns that the database has, and what the others lack; None where the
    part as such lacks something ("")."""
    unknown = [name for name in tables_of(part) if name not in held]
    if unknown:
        return None, {"": f"there is no table {', '.join(unknown)}"}
    qualified, every = _visible(part, held)
    for sql in (part.source, part.where):
        lost = _lost(f"SELECT 1 FROM {sql}" if sql is part.source else f"SELECT {sql or 1}", every)
        if lost:
            return None, {"": f"there is no column {lost}"}
    columns: dict[str, str] = {}
    gone: dict[str, str] = {}
    for column, sql in part.columns.items():
        lost = _lost(f"SELECT {sql}", every, qualified)
        if lost:
            gone[column] = f"there is no column {lost}"
        else:
            columns[column] = sql
    return replace(part, columns=columns), gone


def tables_of(part: Part) -> list[str]:
    """The database's tables that a part reads, lower case."""
    pieces = [f"SELECT 1 FROM {part.source}"]
    pieces += [f"SELECT {sql}" for sql in (part.where, *part.columns.values()) if sql]
    found = {r.table for piece in pieces for r in reading(piece).references}
    return sorted(found)


def _visible(
    part: Part, held: Mapping[str, frozenset[str]]
) -> tuple[dict[str, frozenset[str]], set[str]]:
    """The columns of the tables of FROM by the names they go by, and every name that a piece may
    use: columns of all its tables and names given within."""
    read = reading(f"SELECT 1 FROM {part.source}")
    given = set(sqltext.given_names(f"SELECT 1 FROM {part.source}"))
    for sql in (part.where, *part.columns.values()):
        if sql:
            given.update(sqltext.given_names(f"SELECT {sql}"))
    qualified = {r.called: held[r.table] for r in read.references}
    every = {c for name in tables_of(part) for c in held[name]} | given
    return qualified, every


def _lost(
    sql: str, every: set[str], qualified: Mapping[str, frozenset[str]] | None = None
) -> str | None:
    """The first column that is not there."""
    inner = {r.called for r in reading(sql).references}
    for of, name in sorted(reading(sql).columns):
        of_table = (qualified or {}).get(of) if of not in inner else None
        if name not in (every if of_table is None else of_table):
            return f"{of}.{name}" if of else name
    return None


def lacking_words(fitted: Fitted, sql: str) -> Iterator[str]:
    """What a statement over our tables asks for that the database does not hold, in words."""
    read = sqltext.reading(sql)
    called = {r.called: r.table for r in read.references}
    for name in dict.fromkeys(r.table for r in read.references):
        table = fitted.tables.get(name)
        if table is not None and "" in table.lacking:
            yield _words(_PLURALS.get(name, name), table.lacking[""])
    for of, column in sorted(read.columns):
        tables = [called[of]] if of in called else [] if of else list(called.values())
        owners = [
            fitted.tables[t] for t in tables if t in fitted.tables and column in BY_NAME[t].names()
        ]
        if owners and all(column in owner.lacking for owner in owners):
            yield _words(column_words(column), owners[0].lacking[column])


def column_words(column: str) -> str:
    """A column as a person would say it."""
    plain = column.replace("uom", " unit").replace("_desc", "").replace("_", " ")
    return f"the {_COLUMNS.get(column, plain)}"


def table_words(table: str) -> str:
    """A table as a person would say it."""
    return _PLURALS.get(table, table)


def _words(what: str, why: str) -> str:
    return f"{what} ({why})" if why else what


_PLURALS = {
    "cost": "costs",
    "chartevents": "vital signs",
    "inputevents": "intakes",
    "outputevents": "outputs",
    "labevents": "lab tests",
    "microbiologyevents": "cultures",
    "diagnoses_icd": "diagnoses",
    "procedures_icd": "procedures",
    "icustays": "ICU stays",
    "d_icd_diagnoses": "names of diagnoses",
    "d_icd_procedures": "names of procedures",
    "d_labitems": "names of lab tests",
    "d_items": "names of vital signs, intakes and outputs",
}
_COLUMNS = {
    "dob": "date of birth",
    "dod": "date of death",
    "dischtime": "time of discharge",
    "admittime": "time of admission",
    "intime": "time it began",
    "outtime": "time it ended",
    "careunit": "care unit",
    "first_careunit": "first care unit",
    "last_careunit": "last care unit",
    "dose_val_rx": "dose",
    "dose_unit_rx": "unit of the dose",
    "stoptime": "time it was stopped",
    "valueuom": "unit of the value",
    "totalamountuom": "unit of the amount",
    "totalamount": "amount",
    "valuenum": "value",
    "org_name": "organism",
    "ref_range_lower": "normal range",
    "ref_range_upper": "normal range",
}
