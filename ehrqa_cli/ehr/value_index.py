"""The values that occur in a database, by type: what a question's words can be linked to.

Only what occurs in events is indexed (in MIMIC-IV demo 1,801 strings of the 196,614 in the
dictionaries): a string that never occurred can only give empty answers. The index is made from
the user's own database; none is shipped. It holds patient ids, so its cache file is private.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits

_FORMAT = 5
_LIMITS = Limits(seconds=600.0, rows=20_000_000, length=10_000_000)
Runner = Callable[[str], Iterable[tuple[Any, ...]]]


def _items(table: str) -> str:
    return f"SELECT DISTINCT label FROM d_items WHERE itemid IN (SELECT itemid FROM {table})"


def _column(table: str, column: str) -> str:
    return f"SELECT DISTINCT {column} FROM {table}"


# type -> [(tables it needs, query)]
_STRINGS: dict[str, list[tuple[tuple[str, ...], str]]] = {
    "drug": [(("prescriptions",), _column("prescriptions", "drug"))],
    "lab": [
        (
            ("d_labitems", "labevents"),
            "SELECT DISTINCT label FROM d_labitems WHERE itemid IN (SELECT itemid FROM labevents)",
        )
    ],
    "dx": [
        (
            ("d_icd_diagnoses", "diagnoses_icd"),
            "SELECT DISTINCT long_title FROM d_icd_diagnoses "
            "WHERE icd_code IN (SELECT icd_code FROM diagnoses_icd)",
        )
    ],
    "proc": [
        (
            ("d_icd_procedures", "procedures_icd"),
            "SELECT DISTINCT long_title FROM d_icd_procedures "
            "WHERE icd_code IN (SELECT icd_code FROM procedures_icd)",
        )
    ],
    "intake": [(("d_items", "inputevents"), _items("inputevents"))],
    "output": [(("d_items", "outputevents"), _items("outputevents"))],
    "vital": [(("d_items", "chartevents"), _items("chartevents"))],
    "specimen": [(("microbiologyevents",), _column("microbiologyevents", "spec_type_desc"))],
    "mtest": [(("microbiologyevents",), _column("microbiologyevents", "test_name"))],
    "organism": [(("microbiologyevents",), _column("microbiologyevents", "org_name"))],
    "careunit": [
        (("transfers",), _column("transfers", "careunit")),
        (("icustays",), _column("icustays", "first_careunit")),
    ],
    "route": [(("prescriptions",), _column("prescriptions", "route"))],
    "admloc": [(("admissions",), _column("admissions", "admission_location"))],
    "admtype": [(("admissions",), _column("admissions", "admission_type"))],
    "dischloc": [(("admissions",), _column("admissions", "discharge_location"))],
    "insurance": [(("admissions",), _column("admissions", "insurance"))],
    "language": [(("admissions",), _column("admissions", "language"))],
    "marital": [(("admissions",), _column("admissions", "marital_status"))],
    "abbrev": [(("d_items",), _column("d_items", "abbreviation"))],
}

# strings that could occur, of the small dictionary (always read) and of the large ones (on demand)
_ITEMS = "SELECT DISTINCT label FROM d_items WHERE linksto = '{}'"
_UNUSED = {
    "intake": ("d_items", _ITEMS.format("inputevents")),
    "output": ("d_items", _ITEMS.format("outputevents")),
}
_DICTIONARIES = {
    "dx": ("d_icd_diagnoses", _column("d_icd_diagnoses", "long_title")),
    "proc": ("d_icd_procedures", _column("d_icd_procedures", "long_title")),
    "lab": ("d_labitems", _column("d_labitems", "label")),
}

# labels that several items share: their specimens, say, differ
_SHARED = {
    "lab": (
        ("d_labitems", "labevents"),
        "SELECT label, COUNT(*) FROM d_labitems WHERE itemid IN (SELECT itemid FROM labevents) "
        "AND label IS NOT NULL GROUP BY label HAVING COUNT(*) > 1",
    )
}
_WORD = re.compile(r"[^\W_]+")


def stems(text: str) -> tuple[str, ...]:
    """The words of a text, lower-case, each without a plural s."""
    found = _WORD.findall(text.lower())
    return tuple(w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] != "s" else w for w in found)


@dataclass(frozen=True)
class ValueIndex:
    """What occurs in one database.

    ``strings`` maps a type to its strings as the database spells them; ``dictionary`` those of
    the dictionaries that no event uses (intake and output; on demand dx, proc and lab).
    ``years`` are the first and last calendar year of the admissions. ``studies`` are chest X-ray
    study ids; ``imaging`` says that there is a table of them. ``shared`` maps a type to the
    strings that are the label of several items, with their number. ``admissions`` and ``stays``
    are the ids of hospital visits and ICU stays, where these are numbers.
    """

    strings: Mapping[str, tuple[str, ...]]
    patients: frozenset[int] = frozenset()
    studies: frozenset[int] = frozenset()
    years: tuple[int, int] | None = None
    imaging: bool = False
    dictionary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    admissions: frozenset[int] = frozenset()
    stays: frozenset[int] = frozenset()

    @cached_property
    def _by_word(self) -> dict[str, dict[str, set[str]]]:
        found: dict[str, dict[str, set[str]]] = {}
        for kind, values in self.strings.items():
            words = found.setdefault(kind, {})
            for value in values:
                for word in stems(value):
                    words.setdefault(word, set()).add(value)
        return found

    def holding(self, kind: str, words: Iterable[str]) -> list[str]:
        """The strings of a type that hold all of these ``stems``, in alphabetical order."""
        by_word = self._by_word.get(kind, {})
        sets = [by_word.get(word, set()) for word in words]
        return sorted(set.intersection(*sets)) if sets else []

    @classmethod
    def build(
        cls,
        database: Database | sqlite3.Connection,
        *,
        dictionary: bool = False,
        cache: bool = False,
    ) -> ValueIndex:
        """Read the index from an open database.

        ``dictionary`` also takes the diagnoses, procedures and labs that no event uses.
        ``cache`` keeps the index on disk (mode 0600, named by the database's fingerprint) and
        reads it back next time; a bare connection has no fingerprint and is never cached.
        Raises DatabaseError from the database.
        """
        path = None
        if cache and isinstance(database, Database):
            path = _cache_path(database.fingerprint(), dictionary)
            known = _load(path)
            if known is not None:
                return known
        run, schema = _runner(database)
        index = _read(run, schema, dictionary)
        if path is not None:
            _save(path, index)
        return index


def _runner(database: Database | sqlite3.Connection) -> tuple[Runner, set[str]]:
    if isinstance(database, Database):
        return (
            lambda sql: database.execute(sql, _LIMITS).rows,
            {table.lower() for table in database.schema()},
        )
    rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return (lambda sql: database.execute(sql).fetchall()), {str(row[0]).lower() for row in rows}


def _read(run: Runner, schema: set[str], dictionary: bool) -> ValueIndex:
    strings: dict[str, tuple[str, ...]] = {}
    for kind, queries in _STRINGS.items():
        found: set[str] = set()
        for tables, sql in queries:
            if schema.issuperset(tables):
                found.update(str(row[0]) for row in run(sql) if row[0] not in (None, ""))
        strings[kind] = tuple(sorted(found))
    unused: dict[str, tuple[str, ...]] = {}
    for kind, (table, sql) in {**_UNUSED, **(_DICTIONARIES if dictionary else {})}.items():
        if table in schema:
            every = {str(row[0]) for row in run(sql) if row[0]}
            unused[kind] = tuple(sorted(every.difference(strings[kind])))
    patients = _ids(run, "patients", "subject_id") if "patients" in schema else frozenset()
    imaging = "tb_cxr" in schema
    studies = _ids(run, "tb_cxr", "study_id") if imaging else frozenset()
    years = _years(run) if "admissions" in schema else None
    shared = {
        kind: {str(label): int(n) for label, n in run(sql)}
        for kind, (tables, sql) in _SHARED.items()
        if schema.issuperset(tables)
    }
    visits = [
        _ids(run, table, column, strict=False) if table in schema else frozenset()
        for table, column in (("admissions", "hadm_id"), ("icustays", "stay_id"))
    ]
    return ValueIndex(strings, patients, studies, years, imaging, unused, shared, *visits)


def _ids(run: Runner, table: str, column: str, *, strict: bool = True) -> frozenset[int]:
    found = [row[0] for row in run(_column(table, column)) if row[0] is not None]
    try:
        return frozenset(map(int, found))
    except ValueError:
        if not strict:
            return frozenset()
        odd = next(value for value in found if not str(value).strip().lstrip("+-").isdigit())
        raise DatabaseError(
            f"{table}.{column} holds {str(odd)[:40]!r}, which is no whole number",
            "map it to one (docs/schemas.md); `ehrqa db map --check` tells more",
        ) from None


def _years(run: Runner) -> tuple[int, int] | None:
    for row in run("SELECT MIN(admittime), MAX(COALESCE(dischtime, admittime)) FROM admissions"):
        first, last = (str(value)[:4] for value in row)
        if first.isdigit() and last.isdigit():
            return int(first), int(last)
    return None


def _cache_path(fingerprint: str, dictionary: bool) -> Path:
    from platformdirs import user_cache_path

    text = f"{_FORMAT}:{int(dictionary)}:{fingerprint}"
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return user_cache_path("ehrqa") / "values" / f"{name}.json"


def _load(path: Path) -> ValueIndex | None:
    """The cached index, or None where there is none or it cannot be read (then it is rebuilt)."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        years = data["years"]
        return ValueIndex(
            strings={kind: tuple(values) for kind, values in data["strings"].items()},
            patients=frozenset(data["patients"]),
            studies=frozenset(data["studies"]),
            years=(years[0], years[1]) if years else None,
            imaging=bool(data["imaging"]),
            dictionary={kind: tuple(values) for kind, values in data["dictionary"].items()},
            shared={kind: dict(values) for kind, values in data["shared"].items()},
            admissions=frozenset(data["admissions"]),
            stays=frozenset(data["stays"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _save(path: Path, index: ValueIndex) -> None:
    """Write the cache; a disk that is full or read-only costs time next time, nothing else."""
    data = {
        "strings": {kind: list(values) for kind, values in index.strings.items()},
        "patients": sorted(index.patients),
        "studies": sorted(index.studies),
        "admissions": sorted(index.admissions),
        "stays": sorted(index.stays),
        "years": list(index.years) if index.years else None,
        "imaging": index.imaging,
        "dictionary": {kind: list(values) for kind, values in index.dictionary.items()},
        "shared": {kind: dict(values) for kind, values in index.shared.items()},
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkstemp creates the file with mode 0600 and the rename is atomic
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(name, path)
    except OSError:
        return
