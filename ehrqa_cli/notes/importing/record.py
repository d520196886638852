"""One note as a file gives it, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ehrqa_cli.contracts.notes import Note

LONGEST = 64 * 1024 * 1024  # characters of one record; more is a quotation mark never closed
_MOST = 2**63 - 1  # of an id

# Field -> its names in MIMIC-IV-Note, in JSON Lines, and in MIMIC-III's NOTEEVENTS.
FIELDS: dict[str, tuple[str, ...]] = {
    "note_id": ("note_id", "row_id"),
    "patient_id": ("patient_id", "subject_id"),
    "text": ("text",),
    "hadm_id": ("hadm_id",),
    "charttime": ("charttime", "chartdate"),
    "category": ("category", "note_type"),
}
REQUIRED = ("note_id", "patient_id", "text")

# MIMIC-IV-Note's note_type.
_CATEGORIES = {
    "DS": "discharge summary",
    "AD": "discharge addendum",
    "RR": "radiology report",
    "AR": "radiology addendum",
}
_WHOLE = re.compile(r"\s*(\d{1,19})(?:\.0+)?\s*")  # pandas writes ids with gaps as 123.0
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_HALF = re.compile("[\ud800-\udfff]")  # half of a surrogate pair has no UTF-8


@dataclass(frozen=True)
class Problem:
    """A note that was left out: where it stands, what is wrong and what to do."""

    where: str
    message: str
    hint: str = ""


class BadRecord(ValueError):
    """A record that is no note: what is wrong, and the next step."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Found:
    """What a reader found at ``where`` of its file: a note, or why there is none."""

    where: str
    note: Note | BadRecord


def note_of(fields: Mapping[str, Any], patient: int | None = None) -> Note:
    """The note with these fields, named as in `FIELDS`. Raises BadRecord.

    ``patient`` is whose it is where the record does not say.
    """
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip(" \t\r\n\x00\ufeff\xa0"):
        raise BadRecord("the note has no text", "leave it out, or look for its text")
    note_id = fields.get("note_id")
    if isinstance(note_id, bool) or not isinstance(note_id, str | int) or not str(note_id).strip():
        raise BadRecord("the note has no note_id", "give each note an id of its own")
    given = fields.get("patient_id")
    if given in (None, ""):
        if patient is None:
            raise BadRecord("the note names no patient", "add patient_id, or give --patient ID")
        given = patient
    return Note(
        note_id=whole_text(str(note_id).strip()),
        patient_id=_whole("patient_id", given),
        text=whole_text(text),
        hadm_id=_optional_whole("hadm_id", fields.get("hadm_id")),
        charttime=_time(fields.get("charttime")),
        category=_category(fields.get("category")),
    )


def whole_text(text: str) -> str:
    """``text`` with each half of a surrogate pair replaced, so that it has an UTF-8 form."""
    return _HALF.sub("\ufffd", text)


def _whole(name: str, value: Any) -> int:
    found = None if isinstance(value, bool) else _WHOLE.fullmatch(str(value))
    if found is None or int(found[1]) > _MOST:
        raise BadRecord(
            f"{name} {str(value)[:40]!r} is not a whole number",
            "patients and admissions are numbers, as in the EHR",
        )
    return int(found[1])


def _optional_whole(name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "nan", "null")):
        return None
    return _whole(name, value)


def _time(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "nan", "null")):
        return None
    text = str(value).strip()
    if not _TIME.fullmatch(text):
        raise BadRecord(
            f"charttime {text[:40]!r} is not a date or time",
            "write it as 2180-05-07 or 2180-05-07 10:30:00, or leave it out",
        )
    return text


def _category(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "discharge summary"
    text = whole_text(" ".join(value.split()))
    return _CATEGORIES.get(text.upper(), text.lower())
