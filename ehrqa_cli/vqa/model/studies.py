"""Which image file stands for a study: by ``tb_cxr`` where it says, else by what is in the folder.

Of several images the frontal ones count; the first PA is taken, else the first AP, in the order of
their ids. Those that ``tb_cxr`` does not list are told apart by the view that the model sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits

TABLE = "tb_cxr"
_RANKS = {"pa": 0, "ap": 1, "": 2}  # an unknown view may be frontal
_AT_ONCE = 2000  # study ids in one statement
_LIMITS = Limits(seconds=60.0, rows=1_000_000)


class Files(Protocol):
    """What is needed of an image root (``ehrqa_cli.vqa.imaging.find.ImageRoot``)."""

    def of_image(self, image_id: str) -> Path | None:
        """The file of an image id."""

    def of_study(self, study_id: int) -> list[Path]:
        """The files of a study, sorted."""


class Folders:
    """Several image roots as one: the first that has an image gives it."""

    def __init__(self, roots: Sequence[Files] = ()) -> None:
        self._roots = roots

    def of_image(self, image_id: str) -> Path | None:
        """The file of an image id."""
        found = (root.of_image(image_id) for root in self._roots)
        return next((path for path in found if path is not None), None)

    def of_study(self, study_id: int) -> list[Path]:
        """The files of a study, of the first root that has any."""
        return next((paths for root in self._roots if (paths := root.of_study(study_id))), [])


def has_studies(database: Database) -> bool:
    """Does the database have a table of chest X-rays?"""
    return TABLE in {name.lower() for name in database.schema()}


def all_studies(database: Database) -> list[int]:
    """Every study of the database, in order. Raises DatabaseError."""
    if not has_studies(database):
        return []
    sql = f"SELECT DISTINCT study_id FROM {TABLE} ORDER BY study_id"
    return [int(row[0]) for row in database.execute(sql, _LIMITS).rows]  # type: ignore[arg-type]


def image_ids(database: Database | None, studies: Sequence[int]) -> dict[int, list[str]]:
    """The ids of each study's images, best first; a study that has only others than frontal ones
    has an empty list, one that the database does not know is left out. Raises DatabaseError."""
    if database is None or not has_studies(database):
        return {}
    found: dict[int, list[tuple[int, str]]] = {}
    for start in range(0, len(studies), _AT_ONCE):
        chosen = ", ".join(str(int(study)) for study in studies[start : start + _AT_ONCE])
        sql = f"SELECT study_id, image_id, viewposition FROM {TABLE} WHERE study_id IN ({chosen})"
        for study, image, view in database.execute(sql, _LIMITS).rows:
            ranked = found.setdefault(int(study or 0), [])
            rank = _RANKS.get(str(view or "").strip().lower())
            if rank is not None:
                ranked.append((rank, str(image)))
    return {study: [image for _, image in sorted(ranked)] for study, ranked in found.items()}


def candidates(study: int, ids: Mapping[int, Sequence[str]], files: Files) -> list[Path]:
    """The files that may stand for a study: one that ``tb_cxr`` names, else all in its folder."""
    for image_id in ids.get(study, ()):
        path = files.of_image(image_id)
        if path is not None:
            return [path]
    return [] if study in ids and not ids[study] else list(files.of_study(study))


def best(paths: Iterable[Path], views: Mapping[Path, float | None], pa_from: float) -> Path | None:
    """Of several images the first PA, else the first that is a frontal X-ray, else the first.

    ``views`` has the probability of PA of those that look like frontal X-rays.
    """
    listed = list(paths)
    frontal = [path for path in listed if path in views]
    for path in frontal:
        view = views[path]
        if view is not None and view >= pa_from:
            return path
    return next(iter([*frontal, *listed]), None)
