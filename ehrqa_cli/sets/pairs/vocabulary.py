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

_OCCURRING = {
    "drug": "SELECT DISTINCT drug FROM prescriptions",
    "route": "SELECT DISTINCT route FROM prescriptions",
    "lab": "SELECT DISTINCT label FROM d_labitems WHERE itemid IN (SELECT itemid FROM labevents)",
    "dx": "SELECT DISTINCT long_title FROM d_icd_diagnoses WHERE icd_code IN "
    "(SELECT icd_code FROM diagnoses_icd)",
    "proc": "SELECT DISTINCT long_title FROM d_icd_procedures WHERE icd_code IN "
    "(SELECT icd_code FROM procedures_icd)",
    "intake": "SELECT DISTINCT label FROM d_items WHERE itemid IN (SELECT itemid FROM inputevents)",
    "output": "SELECT DISTINCT label FROM d_items WHERE itemid IN "
    "(SELECT itemid FROM outputevents)",
    "specimen": "SELECT DISTINCT spec_type_desc FROM microbiologyevents",
    "mtest": "SELECT DISTINCT test_name FROM microbiologyevents",
    "organism": "SELECT DISTINCT org_name FROM microbiologyevents",
    "careunit": "SELECT DISTINCT careunit FROM transfers",
    "admloc": "SELECT DISTINCT admission_location FROM admissions",
    "admtype": "SELECT DISTINCT admission_type FROM admissions",
    "dischloc": "SELECT DISTINCT discharge_location FROM admissions",
    "insurance": "SELECT DISTINCT insurance FROM admissions",
    "language": "SELECT DISTINCT language FROM admissions",
    "marital": "SELECT DISTINCT marital_status FROM admissions",
}
_DICTIONARY = {
    "dx": "SELECT long_title FROM d_icd_diagnoses ORDER BY row_id",
    "proc": "SELECT long_title FROM d_icd_procedures ORDER BY row_id",
    "lab": "SELECT label FROM d_labitems WHERE label IS NOT NULL ORDER BY row_id",
    "abbrev": "SELECT DISTINCT abbreviation FROM d_items WHERE lower(abbreviation) <> lower(label)",
}
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

    values = {kind: texts(sql) for kind, sql in _OCCURRING.items()}
    dictionary: dict[str, tuple[str, ...]] = {}
    shuffle = random.Random(0)
    for kind, sql in _DICTIONARY.items():
        occurring = set(values.get(kind, ()))
        found = [text for text in texts(sql) if text not in occurring]
        shuffle.shuffle(found)
        dictionary[kind] = tuple(found[:_FEW])
    patients = tuple(
        int(row[0])
        for row in connection.execute("SELECT subject_id FROM patients ORDER BY subject_id")
    )
    years = tuple(
        int(row[0])
        for row in connection.execute(
            "SELECT DISTINCT strftime('%Y', admittime) FROM admissions ORDER BY 1"
        )
        if row[0]
    )
    measured: dict[str, list[float]] = {}
    has_images = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tb_cxr'").fetchone()
    images = "SELECT DISTINCT study_id FROM tb_cxr ORDER BY 1"
    studies = [int(row[0]) for row in connection.execute(images)] if has_images else []
    for label, value in connection.execute(_LAB_VALUES):
        measured.setdefault(label, []).append(float(value))
    return Vocabulary(
        values=values,
        patients=patients or (1,),
        years=years or (2100,),
        dictionary=dictionary,
        lab_values={label: tuple(sorted(set(found))) for label, found in measured.items()},
        studies=tuple(studies),
    )


def _clean(found: Iterable[object]) -> tuple[str, ...]:
    """Lower-case texts, sorted; nothing without a letter, and nothing oddly spaced: a question
    would not be typed with the two blanks that some labels of the dictionaries hold."""
    kept = {str(value).lower() for value in found if value is not None}
    return tuple(
        sorted(t for t in kept if t == " ".join(t.split()) and any(c.isalpha() for c in t))
    )
