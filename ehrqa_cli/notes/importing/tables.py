"""Notes in one file: MIMIC-IV-Note's discharge.csv(.gz), and JSON Lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.importing.encoding import TextFile
from ehrqa_cli.notes.importing.record import FIELDS, LONGEST, REQUIRED, BadRecord, Found, note_of

_LAYOUT = "the first line must name note_id, subject_id (or patient_id) and text"
_JSON_HINT = "each line must be one JSON object with note_id, patient_id and text"


def csv_notes(file: TextFile, patient: int | None) -> Iterator[Found]:
    """The notes of a CSV file with a header, read row by row.

    Raises ImportFailed when the header lacks a column, or the file is not CSV from some line on.
    """
    with _long_fields():
        reader = csv.reader(file.text, strict=True)
        try:
            header = next(reader, [])
            places = _columns(file, header, patient)
            before = reader.line_num
            for row in reader:
                where = f"line {before + 1}"
                before = reader.line_num
                if row:
                    yield Found(where, _from_row(row, len(header), places, patient))
        except csv.Error as error:
            raise ImportFailed(
                f"{file.path} line {reader.line_num + 1}: not CSV ({error})",
                "is a quotation mark not closed? what stands before this line is kept",
            ) from error


def _columns(file: TextFile, header: list[str], patient: int | None) -> dict[str, int]:
    lowered = [name.strip().strip("\ufeff").lower() for name in header]
    places = {}
    for field, names in FIELDS.items():
        for name in names:
            if name in lowered:
                places[field] = lowered.index(name)
                break
    needed = [field for field in REQUIRED if field != "patient_id" or patient is None]
    lacking = [
        FIELDS[field][-1 if field == "patient_id" else 0] for field in needed if field not in places
    ]
    if lacking:
        raise ImportFailed(f"{file.path}: the header lacks {', '.join(lacking)}", _LAYOUT)
    return places


def _from_row(
    row: list[str], width: int, places: dict[str, int], patient: int | None
) -> Note | BadRecord:
    if len(row) != width:
        what = f"{len(row)} fields where the header has {width}"
        return BadRecord(what, "put the text in quotation marks")
    try:
        return note_of({field: row[place] for field, place in places.items()}, patient)
    except BadRecord as error:
        return error


@contextmanager
def _long_fields() -> Iterator[None]:
    """csv refuses fields of more than 131,072 characters unless told otherwise."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def jsonl_notes(file: TextFile, patient: int | None) -> Iterator[Found]:
    """The notes of a file with one JSON object a line; a broken line is found, not raised."""
    number = 0
    while line := file.text.readline(LONGEST):
        number += 1
        where = f"line {number}"
        if len(line) == LONGEST and not line.endswith("\n"):
            while rest := file.text.readline(LONGEST):
                if rest.endswith("\n"):
                    break
            yield Found(where, BadRecord("the line is longer than 64 MB", _JSON_HINT))
        elif line.strip(" \t\r\n\ufeff\x00"):
            yield Found(where, _from_json(line, patient))


def _from_json(line: str, patient: int | None) -> Note | BadRecord:
    try:
        record = json.loads(line, strict=False)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "") or str(error)
        column = getattr(error, "colno", 1)
        return BadRecord(f"not JSON ({what}, column {column})", _JSON_HINT)
    if not isinstance(record, dict):
        return BadRecord("not a JSON object", _JSON_HINT)
    fields = {}
    for field, names in FIELDS.items():
        for name in names:
            if record.get(name) is not None:
                fields[field] = record[name]
                break
    try:
        return note_of(fields, patient)
    except BadRecord as error:
        return error
