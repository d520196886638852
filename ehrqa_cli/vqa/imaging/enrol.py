"""Studies into the table ``tb_cxr``, one by one, inside a transaction of the caller's.

As in EHRXQA (Bae et al. 2023, arXiv:2310.18652, B.2.2 and C.1) a study is one row with one
representative image, its earliest frontal one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.ehr.schema import BY_NAME
from ehrqa_cli.sqlitefile import database
from ehrqa_cli.vqa.imaging.decode import check
from ehrqa_cli.vqa.imaging.find import ImageRoot
from ehrqa_cli.vqa.imaging.shifts import Shifts
from ehrqa_cli.vqa.imaging.studies import BadValue, Row, moment

Progress = Callable[[int, int], None]  # studies done, of how many

TIME = "%Y-%m-%d %H:%M:%S"
_FIRST_STUDY = 90_000_001  # of those that have no number; MIMIC-CXR's begin with 5
_FRONTAL = ("ap", "pa")
_YEAR = 365.2425  # days
_STUDY = (
    "INSERT INTO tb_cxr (row_id, subject_id, hadm_id, study_id, image_id, studydatetime,"
    " viewposition) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PATIENT = "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, ?)"
_VISIT = (
    "SELECT hadm_id FROM admissions WHERE subject_id = ? AND admittime <= ?"
    " AND (dischtime IS NULL OR dischtime >= ?) ORDER BY admittime DESC LIMIT 1"
)


@dataclass
class Registration:
    """What was done with the studies, each counted once but for ``further``, ``undated``, ``late``.

    ``missing``: there is no image file. ``unreadable``: it is damaged or no image.
    ``unknown_patients``: the patient is not in the EHR. ``invalid``: a field is wrong.
    ``sideways``: there is no frontal image. ``beyond``: later than a database with shifted times
    goes. ``further`` images belong to studies that have another one. Of those added, ``undated``
    were given the database's "now", and ``late`` ones are dated after it. ``bad`` says where and
    why something was left out.
    """

    added: int = 0
    present: int = 0
    missing: int = 0
    unreadable: int = 0
    unknown_patients: int = 0
    invalid: int = 0
    sideways: int = 0
    beyond: int = 0
    further: int = 0
    undated: int = 0
    late: int = 0
    new_patients: int = 0
    bad: list[tuple[str, str]] = field(default_factory=list)

    def leave(self, where: str, kind: str, why: str) -> None:
        """Count one left out under ``kind``, a field of this class."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.bad.append((where, why))


class _Left(Exception):
    """Why an image is not taken; ``kind`` is the field of Registration that counts it."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class _Candidate(NamedTuple):
    """An image that may represent its study; sorted, the best comes first."""

    unknown_view: bool
    when: datetime
    order: int
    row: Row


def prepare(connection: sqlite3.Connection) -> None:
    """Make the table ``tb_cxr`` if there is none."""
    known = connection.execute("SELECT 1 FROM sqlite_schema WHERE lower(name) = 'tb_cxr'")
    if known.fetchone() is None:
        table = BY_NAME["tb_cxr"]
        connection.execute(table.ddl())
        db = database(connection)
        for name, columns, unique in table.every_index():
            db.table("tb_cxr").create_index(columns, name, unique)


class Enrolment:
    """Adds studies and knows what is in the database; ``result`` counts.

    ``now`` is what the database takes for the present; ``make_patients`` adds those it lacks.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        root: ImageRoot,
        now: datetime,
        shifts: Shifts,
        make_patients: bool,
    ) -> None:
        self.result = Registration()
        self._connection, self._root, self._now, self._shifts = connection, root, now, shifts
        self._make_patients = make_patients
        select = connection.execute
        self._patients = {row[0] for row in select("SELECT subject_id FROM patients")}
        stored = select("SELECT image_id, study_id, subject_id FROM tb_cxr").fetchall()
        self._images = {image for image, _, _ in stored}
        self._owner = {study: patient for _, study, patient in stored}
        self._row = select("SELECT coalesce(max(row_id), -1) FROM tb_cxr").fetchone()[0]
        self._person = select("SELECT coalesce(max(row_id), -1) FROM patients").fetchone()[0]
        self._next_study = max(_FIRST_STUDY, max(self._owner, default=0) + 1)

    def add(self, studies: list[list[Row]], progress: Progress) -> None:
        """Add ``studies``, each the rows of its images, in order."""
        undated = sum(not any(row.dated for row in rows) for rows in studies)
        assumed = self._now - timedelta(seconds=undated)  # a second apart: the order is kept
        for done, rows in enumerate(studies):
            progress(done, len(studies))
            if not any(row.dated for row in rows):
                assumed += timedelta(seconds=1)
            self._study(rows, assumed)
        progress(len(studies), len(studies))

    def _study(self, rows: list[Row], assumed: datetime) -> None:
        candidates, refused = [], len(self.result.bad)
        for order, row in enumerate(rows):
            try:
                patient = row.patient_id()
                if patient != rows[0].patient_id():
                    raise BadValue(f"study {row.study} is of patient {rows[0].patient} before")
                when = row.moment()
                when = assumed if when is None else self._shifts.moved(patient, when)
                view = row.view_position()
            except BadValue as error:
                self.result.leave(row.where, "invalid", str(error))
                continue
            if not view or view in _FRONTAL:
                candidates.append(_Candidate(not view, when, order, row))
        for at, candidate in enumerate(sorted(candidates, key=lambda c: c[:3])):
            try:
                self._image(candidate.row, candidate.when)
            except (_Left, BadValue) as error:
                kind = error.kind if isinstance(error, _Left) else "invalid"
                self.result.leave(candidate.row.where, kind, str(error))
                continue
            self.result.further += len(candidates) - at - 1
            return
        self.result.sideways += not candidates and refused == len(self.result.bad)

    def _image(self, row: Row, when: datetime) -> None:
        """Add the study of ``row`` with this image. Raises _Left or BadValue."""
        patient, study = row.patient_id(), row.study_id()
        if study in self._owner:
            if self._owner[study] != patient:
                raise BadValue(f"study {study} is of patient {self._owner[study]} in the database")
            self.result.present += 1
            return
        born = None if patient in self._patients else self._birth(row, patient, when)
        path = self._root.of_image(row.image) if row.image else None
        if path is None:
            raise _Left("missing", f"there is no image {row.image!r} in {self._root.folder}")
        image = self._image_id(path)
        if image in self._images:
            if study is not None:
                raise BadValue(f"image {image} belongs to another study in the database")
            self.result.present += 1
            return
        if self._shifts.ends is not None and when > self._shifts.ends:
            raise _Left("beyond", f"{when} is after {self._shifts.ends}, where the database ends")
        try:
            check(path)
        except ImageError as error:
            raise _Left("unreadable", error.message) from error
        if born is not None:
            self._insert_patient(patient, row.gender(), born)
        if study is None:
            study, self._next_study = self._next_study, self._next_study + 1
        self._insert_study(patient, study, image, when, row)

    def _insert_study(self, patient: int, study: int, image: str, when: datetime, row: Row) -> None:
        time = when.strftime(TIME)
        visit = self._connection.execute(_VISIT, (patient, time, time)).fetchone()
        self._row += 1
        values = (patient, visit[0] if visit else None, study, image, time, row.view_position())
        self._connection.execute(_STUDY, (self._row, *values))
        self._images.add(image)
        self._owner[study] = patient
        self.result.added += 1
        self.result.undated += not row.dated
        self.result.late += when > self._now

    def _birth(self, row: Row, patient: int, when: datetime) -> datetime:
        """When a new patient was born: as given, else in the middle of the year of that age."""
        if not self._make_patients:
            raise _Left("unknown_patients", f"patient {patient} is not in the EHR")
        years = row.years()
        if not row.gender() or not (row.birth or years is not None):
            what = f"patient {patient} is not in the EHR, and sex or date of birth and age lack"
            raise _Left("unknown_patients", what)
        if row.birth:
            born = moment(row.birth, "")
        else:
            born = when - timedelta(days=round((years or 0) * _YEAR + _YEAR / 2))
        if born > when:
            raise BadValue(f"patient {patient} would be born ({born}) after the study ({when})")
        return born.replace(hour=0, minute=0, second=0)

    def _insert_patient(self, patient: int, gender: str, born: datetime) -> None:
        self._person += 1
        values = (self._person, patient, gender, born.strftime(TIME))
        self._connection.execute(_PATIENT, values)
        self._patients.add(patient)
        self.result.new_patients += 1

    def _image_id(self, path: Path) -> str:
        """The name without its suffix, or the path in the folder where another image has that."""
        if self._root.of_image(path.stem) == path:
            return path.stem
        return path.relative_to(self._root.folder).as_posix()
