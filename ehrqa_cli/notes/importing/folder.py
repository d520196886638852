"""Notes as text files: one file, or a folder of them, the patient in the names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.importing.encoding import decode
from ehrqa_cli.notes.importing.record import LONGEST, BadRecord, Found, note_of

ENDINGS = frozenset({".txt", ".text"})
_PATIENT_HINT = "name it like 10000032-DS-21.txt or 10000032/note.txt, or give --patient ID"
_NOTE_ID = re.compile(r"(\d+)-[A-Za-z]{1,4}-\d+")  # MIMIC-IV-Note's, and data/noteqa's
_PATIENT_FOLDER = re.compile(r"[pP]?(\d+)")
_PATIENT_FIRST = re.compile(r"(?!\d{4}-\d\d-\d\d)[pP]?(\d+)(?=[-_. ]|$)")
_DATE = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)")


def text_files(folder: Path) -> Iterator[Path]:
    """The text files below ``folder`` in the order of their names; hidden ones are left out."""
    for name in sorted(entry.name for entry in os.scandir(folder)):
        path = folder / name
        if name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from text_files(path)
        elif path.suffix.lower() in ENDINGS and path.is_file():
            yield path


def read_text(path: Path, root: Path, patient: int | None, encoding: str | None) -> Found:
    """The note in one file; ``root`` is the folder that was given."""
    relative = path.relative_to(root)
    where = str(relative)
    try:
        if path.stat().st_size > LONGEST:
            raise BadRecord("the file is larger than 64 MB", "split it into its notes")
        text = decode(path.read_bytes(), encoding)
        return Found(where, _note(text, relative, patient))
    except BadRecord as error:
        return Found(where, error)
    except ImportFailed as error:
        return Found(where, BadRecord(error.message, error.hint))
    except OSError as error:
        return Found(where, BadRecord(f"cannot be read: {error.strerror}", "check the file"))


def _note(text: str, relative: Path, patient: int | None) -> Note:
    whose = patient if patient is not None else patient_of(relative)
    if whose is None:
        raise BadRecord("no telling whose note it is", _PATIENT_HINT)
    date = _DATE.search(relative.stem)
    fields = {
        "note_id": _id_of(relative, whose),
        "patient_id": whose,
        "text": text,
        "charttime": date[1] if date else None,
    }
    return note_of(fields)


def patient_of(relative: Path) -> int | None:
    """The patient that a file's name or folder names; None when neither does.

    A name like 10000032-DS-21 comes before a folder, which may be a year's or a ward's, and the
    nearest folder that is a number (10000032 or p10000032) before any other name.
    """
    named = _NOTE_ID.fullmatch(relative.stem)
    if named is None:
        folders = (_PATIENT_FOLDER.fullmatch(part) for part in reversed(relative.parent.parts))
        named = next((found for found in folders if found), None)
    named = named or _PATIENT_FIRST.match(relative.stem)
    return int(named[1]) if named else None


def _id_of(relative: Path, patient: int) -> str:
    """An id that no other patient's note has: the name, with the folders where there are some."""
    if _NOTE_ID.fullmatch(relative.stem):
        return relative.stem
    name = relative.with_suffix("").as_posix()
    return name if re.match(rf"[pP]?{patient}(?!\d)", name) else f"{patient}/{name}"
