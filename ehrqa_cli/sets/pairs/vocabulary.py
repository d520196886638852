"""The values of an EHR that questions can speak of, read from its SQLite file.

Values that occur in events come first; the dictionaries hold many more that no patient has.
Nothing is kept beyond the run: another hospital's file gives another vocabulary.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.logical_form.compile.mapping import SOURCES

# The column that each kind of value stands in; of a code, its name in the dictionary is the value.
COLUMNS = {
    "drug": ("prescriptions", "drug"),
    "route": ("prescriptions", "route"),
    "lab": ("labevents", "itemid"),
    "dx": ("diagnoses_icd", "icd_code"),
    "proc": ("procedures_icd", "icd_code"),
    "specimen": ("microbiologyevents", "spec_type_desc"),
    "mtest": ("microbiologyevents", "test_name"),
    "organism": ("microbiologyevents", "org_name"),
    "intake": ("inputevents", "itemid"),
    "output": ("outputevents", "itemid"),
    "vital": ("chartevents", "itemid"),
    "careunit": ("transfers", "careunit"),
    "admloc": ("admissions", "admission_location"),
    "admtype": ("admissions", "admission_type"),
    "dischloc": ("admissions", "discharge_location"),
    "insurance": ("admissions", "insurance"),
    "language": ("admissions", "language"),
    "marital": ("admissions", "marital_status"),
    "study": ("tb_cxr", "study_id"),
}
_NOT_DRAWN = ("vital", "study")  # from a vocabulary: their samplers know them otherwise
LOOKUPS = {source.table: source.lookup for source in SOURCES.values() if source.lookup}
_ABBREVIATIONS = (
    "SELECT DISTINCT abbreviation FROM d_items WHERE lower(abbreviation) <> lower(label)"
)
_LAB_VALUES = (
    "SELECT l.label, e.valuenum FROM labevents e JOIN d_labitems l ON l.itemid = e.itemid "
    "WHERE e.valuenum IS NOT NULL GROUP BY l.label, e.row_id % 7"
)
_FEW = 3000


@dataclass(frozen=True)
class Vocabulary:
    """Values by type, patient ids, years of admissions, and some measured values of each lab."""

    values: dict[str, tuple[str, ...]]
    patients: tuple[int, ...]
    years: tuple[int, ...] = (2100,)
    dictionary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lab_values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    studies: tuple[int, ...] = ()

    def pick(self, kind: str, rng: random.Random) -> str:
        """A value of this type that occurs, or else stands in a dictionary. Raises KeyError
        when there is none: linking knows no others, so no question should speak of them."""
        known = self.values.get(kind) or self.dictionary.get(kind)
        if not known:
            raise KeyError(kind)
        return rng.choice(known)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary of the EHR in ``path``. Raises DatabaseError when it is not one."""
    if not path.is_file():
        raise DatabaseError(f"there is no file {path}", "name an EHR SQLite file")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            return _read(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatabaseError(
            f"{path} is not an EHR of the known schema: {error}",
            "make one with `ehrqa db import`",
        ) from error


def _read(connection: sqlite3.Connection) -> Vocabulary:
    def texts(sql: str) -> tuple[str, ...]:
        return _clean(row[0] for row in connection.execute(sql))

    def numbers(sql: str) -> tuple[int, ...]:
        return tuple(int(row[0]) for row in connection.execute(sql) if row[0] is not None)

    values = {
        kind: texts(_occurring(*place)) for kind, place in COLUMNS.items() if kind not in _NOT_DRAWN
    }
    dictionary: dict[str, tuple[str, ...]] = {}
    shuffle = random.Random(0)
    for kind in ("dx", "proc", "lab", "abbrev"):
        occurring = set(values.get(kind, ()))
        named = LOOKUPS[COLUMNS[kind][0]] if kind in COLUMNS else None
        every = texts(f"SELECT {named.label} FROM {named.table}" if named else _ABBREVIATIONS)
        found = [text for text in every if text not in occurring]
        shuffle.shuffle(found)
        dictionary[kind] = tuple(found[:_FEW])
    patients = numbers("SELECT subject_id FROM patients ORDER BY subject_id")
    years = numbers("SELECT DISTINCT strftime('%Y', admittime) FROM admissions ORDER BY 1")
    measured: dict[str, list[float]] = {}
    has_images = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tb_cxr'").fetchone()
    images = "SELECT DISTINCT study_id FROM tb_cxr ORDER BY 1"
    for label, value in connection.execute(_LAB_VALUES):
        measured.setdefault(label, []).append(float(value))
    return Vocabulary(
        values=values,
        patients=patients or (1,),
        years=years or (2100,),
        dictionary=dictionary,
        lab_values={label: tuple(sorted(set(found))) for label, found in measured.items()},
        studies=numbers(images) if has_images else (),
    )


def _occurring(table: str, column: str) -> str:
    """The query for the values of a column, or for the names of its codes."""
    named = LOOKUPS.get(table)
    if named is None or named.key != column:
        return f"SELECT DISTINCT {column} FROM {table}"
    codes = f"SELECT {column} FROM {table}"
    return f"SELECT DISTINCT {named.label} FROM {named.table} WHERE {named.key} IN ({codes})"


def _clean(found: Iterable[object]) -> tuple[str, ...]:
    """Lower-case texts, sorted; nothing without a letter, and nothing oddly spaced: a question
    would not be typed with the two blanks that some labels of the dictionaries hold."""
    kept = {str(value).lower() for value in found if value is not None}
    return tuple(
        sorted(t for t in kept if t == " ".join(t.split()) and any(c.isalpha() for c in t))
    )
