"""What a panel shows of one patient, as of a time. Read-only, within limits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row

ADMISSIONS, MEDICATIONS, LABS, POINTS = 20, 30, 12, 12
_LIMITS = Limits(seconds=5.0, rows=2000)


@dataclass(frozen=True)
class Admission:
    """One hospital admission: times, type, where from and where to; ``end`` None: not over."""

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
    """The last values of one lab test, oldest first, at most POINTS."""

    name: str
    unit: str
    last: float
    at: str
    values: tuple[float, ...]
    times: tuple[str, ...]


@dataclass(frozen=True)
class PatientSummary:
    """One patient as of a time: the newest admissions, the drugs being given, the last labs.

    ``age`` is in years, at death for the dead. ``only_notes``: the tables do not know the patient.
    """

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
    database: Database | None, patient_id: int, as_of: str, notes_db: Path | None = None
) -> PatientSummary | None:
    """The patient's summary; None when neither tables nor notes know the id.

    ``notes_db`` is the EHR's path, by which its notes are found; ``database`` None: there are only
    those. Raises DatabaseError, LimitExceeded and Cancelled.
    """
    notes = _notes(notes_db, patient_id)
    ask = _Ask(database, int(patient_id), as_of)
    person = ask.rows("SELECT gender, dob, dod FROM patients WHERE subject_id = {patient}", limit=1)
    if not person:
        return PatientSummary(patient_id, notes=notes, only_notes=True) if notes else None
    sex, born, died = (_text(cell) for cell in person[0])
    died = died if died is not None and died <= as_of else None
    admissions = ask.rows(_ADMISSIONS, limit=ADMISSIONS)
    in_all = ask.rows(
        "SELECT count(*) FROM admissions WHERE subject_id = {patient} AND admittime <= {now}", 1
    )
    return PatientSummary(
        patient_id,
        sex=sex,
        age=_years(born, died or as_of),
        born=born,
        died=died,
        admissions=tuple(_admission(row, as_of) for row in admissions),
        admissions_in_all=int(in_all[0][0] or 0),
        medications=tuple(_medication(row) for row in ask.rows(_MEDICATIONS, limit=MEDICATIONS)),
        labs=_series(ask.rows(_VALUES, limit=_LIMITS.rows)),
        notes=notes,
    )


_ADMISSIONS = """
SELECT hadm_id, admittime, dischtime, admission_type, admission_location, discharge_location
FROM admissions WHERE subject_id = {patient} AND admittime <= {now} ORDER BY admittime DESC
"""
# A prescription without an end runs as long as its admission.
_MEDICATIONS = """
SELECT drug, dose_val_rx, dose_unit_rx, route, max(starttime) FROM prescriptions
WHERE subject_id = {patient} AND starttime <= {now} AND (stoptime IS NULL OR stoptime > {now})
AND hadm_id IN (SELECT hadm_id FROM admissions WHERE subject_id = {patient}
    AND admittime <= {now} AND (dischtime IS NULL OR dischtime > {now}))
GROUP BY drug, dose_val_rx, dose_unit_rx, route ORDER BY max(starttime) DESC, drug
"""
_VALUES = """
SELECT label, valuenum, valueuom, charttime FROM labevents
JOIN d_labitems ON d_labitems.itemid = labevents.itemid
WHERE subject_id = {patient} AND charttime <= {now} AND valuenum IS NOT NULL
ORDER BY charttime DESC
"""


class _Ask:
    """Small queries about one patient."""

    def __init__(self, database: Database | None, patient_id: int, as_of: str) -> None:
        self._database = database
        self._names = {"patient": patient_id, "now": "'" + as_of.replace("'", "''") + "'"}

    def rows(self, sql: str, limit: int) -> tuple[Row, ...]:
        """The first ``limit`` rows; none without a database."""
        if self._database is None:
            return ()
        text = f"{sql.strip().format(**self._names)} LIMIT {limit}"
        return self._database.execute(text, _LIMITS).rows


def _text(cell: Any) -> str | None:
    return None if cell in (None, "") else str(cell)


def _admission(row: Row, as_of: str) -> Admission:
    end = _text(row[2])
    over = end is not None and end <= as_of
    to = _text(row[5]) if over else None
    return Admission(
        int(row[0] or 0), str(row[1]), end if over else None, _text(row[3]), _text(row[4]), to
    )


def _medication(row: Row) -> Medication:
    dose = " ".join(str(cell) for cell in row[1:3] if cell not in (None, ""))
    return Medication(str(row[0]), dose, _text(row[3]), str(row[4]))


def _series(rows: tuple[Row, ...]) -> tuple[LabSeries, ...]:
    """Rows, newest first, as series: labs of the last day first, those measured most before."""
    points: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if isinstance(row[1], int | float):
            points[str(row[0])].append(row)
    order = sorted(points.items(), key=lambda item: (-len(item[1]), item[0]))
    order.sort(key=lambda item: str(item[1][0][3])[:10], reverse=True)
    out = []
    for name, found in order[:LABS]:
        last = [row for row in found if row[2] == found[0][2]][:POINTS]  # of one unit
        values = tuple(float(str(row[1])) for row in reversed(last))
        times = tuple(str(row[3]) for row in reversed(last))
        unit = _text(last[0][2]) or ""
        out.append(LabSeries(name, unit, values[-1], times[-1], values, times))
    return tuple(out)


def _years(born: str | None, until: str) -> int | None:
    """Whole years between two times as text; None where one is no date."""
    try:
        first, last = [int(x) for x in (born or "")[:10].split("-")], until[:10].split("-")
        now = [int(x) for x in last]
        return now[0] - first[0] - (now[1:] < first[1:])
    except (ValueError, IndexError):
        return None


def _notes(db: Path | None, patient_id: int) -> int:
    if db is None:
        return 0
    from ehrqa_cli.notes.store import NoteStore, notes_path

    if not notes_path(db).is_file():
        return 0
    with NoteStore.open(db) as store:
        sql = "SELECT count(*) FROM note WHERE patient_id = ?"
        return int(store.query(sql, (int(patient_id),))[0][0])
