"""What a table of an EHR is, and the columns that many of them share."""

from __future__ import annotations

from dataclasses import dataclass

META_TABLE = "ehrqa_meta"
TIME_TYPE = "TIMESTAMP(0)"


@dataclass(frozen=True)
class Column:
    """One column: its SQL type, whether it may be NULL, and where MIMIC-IV has it."""

    name: str
    type: str
    required: bool = True
    source: str = ""
    extra: bool = False  # ours, not EHRSQL-2024's: a database without it is still an EHR

    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        return f"{self.name} {self.type}{' NOT NULL' if self.required else ''}"


@dataclass(frozen=True)
class EhrTable:
    """One table. ``time`` is the column that dates an event; ``indexes`` are column lists.

    The indexes are those that SQLite chose for EHRSQL-2024's gold queries, and their like.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    foreign_keys: tuple[tuple[str, str, str], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    unique: str | None = None  # what other tables refer to it by
    optional: bool = False

    @property
    def key(self) -> str:
        """The column whose value names one row."""
        return "row_id"

    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(c.name for c in self.columns)

    def ddl(self) -> str:
        """CREATE TABLE; ``row_id`` is the rowid itself, which saves an index a table."""
        lines = [f"{self.key} INTEGER NOT NULL PRIMARY KEY"]
        lines += [c.ddl() for c in self.columns if c.name != self.key]
        lines += [f"FOREIGN KEY({c}) REFERENCES {t}({r})" for c, t, r in self.foreign_keys]
        return f"CREATE TABLE {self.name} (\n    " + ",\n    ".join(lines) + "\n)"

    def index_ddl(self) -> list[str]:
        """CREATE INDEX statements, to run after the rows are in."""
        out = []
        if self.unique:
            name = f"ux_{self.name}_{self.unique}"
            out.append(f"CREATE UNIQUE INDEX {name} ON {self.name}({self.unique})")
        for cols in self.indexes:
            name = f"ix_{self.name}_{'_'.join(cols)}"
            out.append(f"CREATE INDEX {name} ON {self.name}({', '.join(cols)})")
        return out


def row_id() -> Column:
    """The number of a row."""
    return Column("row_id", "INT", source="numbered here, from 0, in file order")


def integer_id(name: str) -> Column:
    """A number that names something."""
    return Column(name, "INT", source=name)


def text(name: str, width: int, source: str = "", required: bool = True) -> Column:
    """A text of at most ``width`` characters."""
    return Column(name, f"VARCHAR({width})", required, source or name)


def time(name: str, source: str = "", required: bool = True) -> Column:
    """A time, as text."""
    return Column(name, TIME_TYPE, required, source or name)


def number(name: str, source: str = "", extra: bool = False, required: bool = False) -> Column:
    """A real number."""
    return Column(name, "DOUBLE PRECISION", required, source or name, extra)


PATIENT = ("subject_id", "patients", "subject_id")
VISIT = ("hadm_id", "admissions", "hadm_id")
STAY = ("stay_id", "icustays", "stay_id")
ITEM = ("itemid", "d_items", "itemid")
SUBJECT, HADM, STAYID, ITEMID = (
    integer_id("subject_id"),
    integer_id("hadm_id"),
    integer_id("stay_id"),
    integer_id("itemid"),
)
# MIMIC-IV has labs, cultures and transfers outside hospital visits; the importer can keep them
VISIT_IF_ANY = Column("hadm_id", "INT", False, "hadm_id")
