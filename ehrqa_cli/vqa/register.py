"""The chest X-rays of a folder made known to an EHR, and where that folder is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from ehrqa_cli.contracts.errors import ImageError, ImportFailed
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.open import SQLITE, backend_of
from ehrqa_cli.vqa.imaging.enrol import TIME, Enrolment, Progress, Registration, prepare
from ehrqa_cli.vqa.imaging.find import ImageRoot
from ehrqa_cli.vqa.imaging.shifts import shifts_of
from ehrqa_cli.vqa.imaging.studies import HOW, Row, find_csv, read_csv, read_headers

_ROOTS = "image_roots"  # in ehrqa_meta: a JSON list, the one added last at its end


def register(
    folder: Path,
    db: Path,
    *,
    metadata: Path | None = None,
    new_patients: bool = False,
    mimic_iv: Path | None = None,
    progress: Progress | None = None,
) -> Registration:
    """Add the studies of ``folder`` to ``db``, all or, on an error, none; remember the folder.

    Which images there are says ``metadata``, else a CSV file in the folder, else the headers of
    its DICOM files. Adding twice adds nothing. With ``new_patients`` patients that the EHR lacks
    are added where sex and date of birth or age are given. ``mimic_iv`` is the release that a
    database with shifted times was imported from. Raises ImportFailed, DatabaseError, UsageError.
    """
    root = ImageRoot(folder.resolve())
    opened = SqliteDatabase.open(db)
    try:
        meta, now = opened.meta, opened.default_as_of()
    finally:
        opened.close()
    rows, unreadable = _rows(root, metadata)
    shifts = shifts_of(mimic_iv, meta, any(row.uid or row.date for row in rows))
    with bulk.changed(db) as connection:
        prepare(connection)
        present = datetime.strptime(now[:19], TIME)
        work = Enrolment(connection, root, present, shifts, new_patients)
        for where, why in unreadable:
            work.result.leave(where, "unreadable", why)
        work.add(_studies(rows), progress or (lambda done, of: None))
        if work.result.added or work.result.present:
            others = [str(other) for other in roots_in(meta) if other != root.folder]
            roots = [*others, str(root.folder)]
            bulk.write_meta(connection, {_ROOTS: json.dumps(roots)})
    return work.result


def image_roots(db: Path) -> tuple[Path, ...]:
    """The folders whose images were registered in ``db``, the one added last at the end."""
    if backend_of(db)[0] != SQLITE:
        return ()  # images are registered in SQLite files; --images names a folder elsewhere
    opened = SqliteDatabase.open_any(db)  # an EHR of another layout, too
    try:
        return roots_in(opened.meta)
    finally:
        opened.close()


def roots_in(meta: Mapping[str, str]) -> tuple[Path, ...]:
    """`image_roots` of an open database's ``meta``."""
    return tuple(Path(text) for text in json.loads(meta.get(_ROOTS, "[]")))


def _rows(root: ImageRoot, metadata: Path | None) -> tuple[list[Row], list[tuple[str, str]]]:
    """The images that are listed, and of headers that cannot be read (where, why)."""
    if not root.folder.is_dir():
        raise ImportFailed(f"{root.folder} is not a folder", "name the folder of the images")
    if len(root) == 0:
        what = f"{root.folder} holds no PNG, JPEG or DICOM files"
        raise ImportFailed(what, "name the folder of the images")
    path = metadata or find_csv(root.folder)
    if path is not None:
        return read_csv(path), []
    rows, unreadable = [], []
    for where, found in read_headers(root):
        if isinstance(found, ImageError):
            unreadable.append((where, found.message))
        else:
            rows.append(found)
    if not rows:
        raise ImportFailed(f"nothing in {root.folder} says whose images these are", HOW)
    return rows, unreadable


def _studies(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of the same study together, in the order of their first rows."""
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.study or row.uid or row, []).append(row)
    return list(groups.values())
