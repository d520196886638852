"""Which images there are of which patient and study: from a CSV file or from DICOM headers."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from ehrqa_cli.contracts.errors import ImageError, ImportFailed
from ehrqa_cli.vqa.imaging.decode import dicom_header
from ehrqa_cli.vqa.imaging.find import ImageRoot

# What a column is, by its name in lower case without anything but letters; the first that is there.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "image": ("dicomid", "imageid", "image", "imageindex", "file", "filename", "imagepath", "path"),
    "patient": ("subjectid", "patientid", "subject", "patient"),
    "study": ("studyid", "study"),
    "date": ("studydate", "date"),
    "time": ("studydatetime", "datetime", "studytime", "time"),
    "view": ("viewposition", "view"),
    "sex": ("gender", "sex", "patientgender", "patientsex"),
    "birth": ("dob", "birthdate", "dateofbirth", "patientbirthdate"),
    "age": ("age", "patientage"),
}
_WHOLE = re.compile(r"[pPsS]?(\d{1,18})(?:\.0*)?")
_AGE = re.compile(r"0*(\d{1,3})(?:\.0*)?([YMWD]?)", re.I)
_VIEWS = {"posteroanterior": "pa", "anteroposterior": "ap", "ll": "lateral", "rl": "lateral"}
_LONG_ID = 6  # digits; hospitals number the studies of a patient 1, 2, 3
_WANTED = "it needs the columns image and patient_id, and may have study_id, time, view"
HOW = (
    "give --metadata CSV with the columns image and patient_id (and study_id, time, view), or"
    " MIMIC-CXR's mimic-cxr-2.0.0-metadata.csv.gz"
)


class BadValue(ValueError):
    """A field that is not what it should be; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One image, its fields as texts ("" is unknown). ``where`` is its line or its file.

    ``uid`` is one for all images of a study that may have no number.
    """

    where: str
    image: str
    patient: str
    study: str = ""
    date: str = ""
    time: str = ""
    view: str = ""
    sex: str = ""
    birth: str = ""
    age: str = ""
    uid: str = ""

    @property
    def dated(self) -> bool:
        """Whether anything says when the study was made."""
        return bool(self.date or self.time)

    def patient_id(self) -> int:
        """The patient's number. Raises BadValue."""
        return _whole(self.patient, "patient id")

    def study_id(self) -> int | None:
        """The study's number, None when it has none. Raises BadValue."""
        return _whole(self.study, "study id") if self.study else None

    def moment(self) -> datetime | None:
        """When the study was made, to the second; None when nothing says. Raises BadValue."""
        return moment(self.date, self.time) if self.dated else None

    def view_position(self) -> str:
        """``ap``, ``pa``, ``lateral``, another view in lower case, or ""."""
        plain = re.sub(r"[^a-z]", "", self.view.lower())
        return _VIEWS.get(plain, self.view.strip().lower())

    def gender(self) -> str:
        """``m`` or ``f``, else "": the database has no other."""
        letter = self.sex.strip().lower()
        return letter[0] if letter in ("m", "f", "male", "female") else ""

    def years(self) -> int | None:
        """The age in years, as ``57`` or DICOM's ``057Y``; None when nothing says."""
        found = _AGE.fullmatch(self.age.strip())
        if found is None:
            return None
        return int(found[1]) if found[2].upper() in ("", "Y") else 0


def moment(date: str, time: str) -> datetime:
    """A time from a date and a time of day, or from either that holds both. Raises BadValue.

    Dates are 2180-05-06 or 21800506, times 21:30, 21:30:14 or 213014.531; as MIMIC-CXR writes
    times as numbers, leading zeros may lack (93012.0 is 09:30:12).
    """
    text = f"{date.strip()} {time.strip()}".strip()
    if date and re.fullmatch(r"\d{1,6}(\.\d*)?", time.strip()):
        clock = time.strip().partition(".")[0].zfill(6)
        text = f"{date.strip()} {clock[:2]}:{clock[2:4]}:{clock[4:]}"
    try:
        found = datetime.fromisoformat(text.removesuffix(".0"))
    except ValueError:
        raise BadValue(f"{text[:40]!r} is not a time YYYY-MM-DD HH:MM:SS") from None
    return found.replace(microsecond=0, tzinfo=None)


def _whole(text: str, what: str) -> int:
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise BadValue(f"{what} {text[:40]!r} is not a whole number")
    return int(found[1])


def find_csv(folder: Path) -> Path | None:
    """The CSV file in ``folder`` that lists its images; None without one.

    MIMIC-CXR's metadata file wins. Raises ImportFailed when several others could be it.
    """
    fits: list[Path] = []
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        try:
            columns = _columns(next(_table(path), []))
        except ImportFailed:
            continue  # not text: whatever it is, it is not the list
        if {"image", "patient"} <= columns.keys():
            if {"study", "date", "time"} <= columns.keys():
                return path
            fits.append(path)
    if len(fits) > 1:
        names = ", ".join(path.name for path in fits)
        raise ImportFailed(f"{folder} holds several lists: {names}", "name one with --metadata")
    return fits[0] if fits else None


def read_csv(path: Path) -> list[Row]:
    """The rows of a list of images. Raises ImportFailed."""
    table = _table(path)
    header = next(table, None)
    if not header:
        raise ImportFailed(f"{path} is empty", HOW)
    columns = _columns(header)
    lacking = [name for name in ("image", "patient") if name not in columns]
    if lacking:
        what = " or ".join(f"{name} ids" for name in lacking)
        raise ImportFailed(f"{path} has no column of {what}", _WANTED)
    rows = []
    for number, fields in enumerate(table, start=2):
        if any(fields):
            cells = {n: fields[at].strip() for n, at in columns.items() if at < len(fields)}
            rows.append(Row(f"line {number}", **{"image": "", "patient": "", **cells}))
    return rows


def read_headers(root: ImageRoot) -> Iterator[tuple[str, Row | ImageError]]:
    """Of each DICOM file under ``root`` its path there, and a row or why it cannot be read."""
    for path in root:
        where = path.relative_to(root.folder).as_posix()
        try:
            header = dicom_header(path)
        except ImageError as error:
            yield where, error
            continue
        if header is not None:
            row = Row(
                where=where,
                image=where,
                patient=header.patient,
                study=_study_number(path, header.study),
                date=header.date,
                time=header.time,
                view=header.view,
                sex=header.sex,
                birth=header.birth,
                age=header.age,
                uid=header.study_uid,
            )
            yield where, row


def _study_number(path: Path, said: str) -> str:
    """The number of MIMIC-CXR's folder, or Study ID where it can be more than a running number."""
    folder = re.fullmatch(r"s(\d+)", path.parent.name)
    if folder:
        return folder[1]
    return said if said.isdigit() and len(said) >= _LONG_ID else ""


def _columns(header: list[str]) -> dict[str, int]:
    names = [re.sub(r"[^a-z]", "", name.lower()) for name in header]
    found = {
        what: names.index(name)
        for what, choices in _COLUMNS.items()
        for name in choices[::-1]
        if name in names
    }
    if "time" in found and names[found["time"]] in ("studydatetime", "datetime"):
        found.pop("date", None)  # the time says it all
    return found


def _table(path: Path) -> Iterator[list[str]]:
    try:
        with _text(path) as text:
            first = text.readline()
            delimiter = "\t" if "\t" in first and "," not in first else ","
            yield next(csv.reader([first], delimiter=delimiter), [])
            yield from csv.reader(text, delimiter=delimiter)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise ImportFailed(f"cannot read {path}: {what}", "check the file") from error


def _text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
