"""What a panel shows of one patient."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.plugins import Database


@dataclass(frozen=True)
class Admission:
    """One hospital admission."""

    hadm_id: int
    start: str
    end: str | None
    kind: str | None
    place: str | None
    to: str | None


@dataclass(frozen=True)
class Medication:
    """A drug that is being given."""

    name: str
    dose: str
    route: str | None
    since: str


@dataclass(frozen=True)
class LabSeries:
    """The last values of one lab test, oldest first."""

    name: str
    unit: str
    last: float
    at: str
    values: tuple[float, ...]
    times: tuple[str, ...]


@dataclass(frozen=True)
class PatientSummary:
    """One patient as of a time."""

    patient_id: int
    sex: str | None = None
    age: int | None = None
    born: str | None = None
    died: str | None = None
    admissions: tuple[Admission, ...] = ()
    admissions_in_all: int = 0
    medications: tuple[Medication, ...] = ()
    labs: tuple[LabSeries, ...] = ()
    notes: int = 0
    only_notes: bool = False


def patient_summary(
    database: Database, patient_id: int, as_of: str, notes_db: Path | None = None
) -> PatientSummary | None:
    """The summary; None when nobody knows this id."""
    return None
