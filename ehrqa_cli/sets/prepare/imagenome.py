"""Chest ImaGenome's scene graphs, read once into a work file.

    silver_dataset/scene_graph/<dicom_id>_SceneGraph.json, or scene_graph.zip beside it

Of each: the boxes of the 36 objects (``objects``: bbox_name, x1, x2) and what is said to be present
(``attributes``: ``category|yes|name``). As MIMIC-CXR-VQA does (Bae et al. 2023, appendix B.2.2) an
image without the box of an object is left out, and so is one with a width beyond three standard
deviations. A quarter of a million files take minutes, so what was read is kept as it comes.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zipfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, OBJECTS
from ehrqa_cli.sets.prepare.labels import Label

DEVIATIONS = 3.0
_NAMES = tuple(OBJECTS)
_NOT_RELATIONS = frozenset({"nlp", "severity", "texture", "temporal"})
_LOT = 500  # files between two commits
_HEART, _MEDIASTINUM = "cardiac silhouette", "upper mediastinum"
_LEFT, _RIGHT = "left lung", "right lung"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS graph (study INTEGER PRIMARY KEY, widths BLOB, heart REAL, "
    "mediastinum REAL, present TEXT, whole INTEGER)"
)


class Graphs:
    """The scene graphs of a release. Raises UsageError, saying what is expected where."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "silver_dataset" / "scene_graph"
        archive = folder / "silver_dataset" / "scene_graph.zip"
        self._zip: zipfile.ZipFile | None = None
        self._members: dict[str, str] = {}
        if self.folder.is_dir():
            return
        hint = "name the folder of Chest ImaGenome, which holds silver_dataset/"
        if not archive.is_file():
            raise UsageError(f"there is no {self.folder}/ and no {archive.name} beside it", hint)
        try:
            self._zip = zipfile.ZipFile(archive)
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"cannot read {archive}: {error}", "download it again") from None
        self._members = {Path(name).name: name for name in self._zip.namelist()}

    def names(self) -> list[tuple[str, int]]:
        """File names with sizes, for the settings."""
        if self._zip is not None:
            return sorted((Path(i.filename).name, i.file_size) for i in self._zip.infolist())
        return sorted((p.name, p.stat().st_size) for p in self.folder.glob("*_SceneGraph.json"))

    def of(self, image: str) -> dict[str, Any] | None:
        """The graph of one image, or None. Raises UsageError for a damaged file."""
        name = f"{image}_SceneGraph.json"
        try:
            if self._zip is not None:
                raw = self._zip.read(self._members[name]) if name in self._members else None
            else:
                path = self.folder / name
                raw = path.read_bytes() if path.is_file() else None
            found = None if raw is None else json.loads(raw)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise UsageError(f"cannot read {name}: {error}", "download it again") from None
        return found if isinstance(found, dict) else None


def read(
    graphs: Graphs, images: Sequence[tuple[int, str]], work: Path, note: Callable[[int, int], None]
) -> None:
    """Read the graphs of (study, image) into the work file; what is there is not read again."""
    work.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(work)
    try:
        connection.execute(_CREATE)
        there = {row[0] for row in connection.execute("SELECT study FROM graph")}
        for done, (study, image) in enumerate(images):
            if study in there:
                continue
            found = graphs.of(image)
            row = (study, None, None, None, "[]", 0) if found is None else _row(study, found)
            connection.execute("INSERT INTO graph VALUES (?, ?, ?, ?, ?, ?)", row)
            if done % _LOT == _LOT - 1:
                connection.commit()
                note(done + 1, len(images))
        connection.commit()
    finally:
        connection.close()


def labels(work: Path, steps: Counter[str]) -> dict[int, Label]:
    """The labels of all graphs in the work file but outliers; ``steps`` counts what went."""
    connection = sqlite3.connect(work)
    try:
        limits = _limits(_widths(connection))
        found = {}
        sql = "SELECT study, widths, heart, mediastinum, present, whole FROM graph ORDER BY study"
        for study, widths, heart, mediastinum, present, whole in connection.execute(sql):
            if widths is None:
                steps["without a scene graph"] += 1
            elif not whole:
                steps["without the box of a place"] += 1
            elif _outlying(array("f", widths), limits):
                steps["a width is an outlier"] += 1
            else:
                held = frozenset((str(o), str(a)) for o, a in json.loads(present))
                found[study] = Label(held, heart, mediastinum)
        return found
    finally:
        connection.close()


def relations(graph: Mapping[str, Any]) -> set[Relation]:
    """What a scene graph says is present, in names of the vocabulary. Of several mentions the
    last one counts, as in a report's impression."""
    said: dict[Relation, bool] = {}
    for place in graph.get("attributes", ()):
        name = str(place.get("bbox_name", "")).strip().lower()
        for phrase in place.get("attributes", ()):
            for mention in phrase:
                category, _, rest = str(mention).partition("|")
                answer, _, attribute = rest.partition("|")
                attribute = attribute.strip().lower()
                if category in _NOT_RELATIONS or name not in OBJECTS:
                    continue
                if attribute in ATTRIBUTES:
                    said[(name, attribute)] = answer == "yes"
    return {relation for relation, yes in said.items() if yes}


def _row(study: int, graph: Mapping[str, Any]) -> tuple[Any, ...]:
    boxes: dict[str, tuple[float, float]] = {}
    for item in graph.get("objects", ()):
        try:
            boxes[str(item["bbox_name"]).strip().lower()] = (float(item["x1"]), float(item["x2"]))
        except (KeyError, TypeError, ValueError):
            continue
    widths = array("f", (boxes[n][1] - boxes[n][0] if n in boxes else math.nan for n in _NAMES))
    # The thorax: from the right lung, at the left of the image, to the left lung.
    thorax = boxes[_LEFT][1] - boxes[_RIGHT][0] if _LEFT in boxes and _RIGHT in boxes else 0.0

    def ratio(name: str) -> float | None:
        found = boxes.get(name)
        return (found[1] - found[0]) / thorax if found and thorax > 0 else None

    present = json.dumps(sorted(relations(graph)))
    whole = int(all(name in boxes for name in _NAMES))
    return study, widths.tobytes(), ratio(_HEART), ratio(_MEDIASTINUM), present, whole


def _widths(connection: sqlite3.Connection) -> Iterator[array[float]]:
    for (widths,) in connection.execute("SELECT widths FROM graph WHERE whole ORDER BY study"):
        yield array("f", widths)


def _limits(rows: Iterator[array[float]]) -> list[tuple[float, float]]:
    """For each object the least and the greatest width that is no outlier."""
    count, sums, squares = 0, [0.0] * len(_NAMES), [0.0] * len(_NAMES)
    for row in rows:
        count += 1
        for at, width in enumerate(row):
            sums[at] += width
            squares[at] += width * width
    found = []
    for total, square in zip(sums, squares, strict=True):
        mean = total / max(count, 1)
        spread = DEVIATIONS * math.sqrt(max(square / max(count, 1) - mean * mean, 0.0))
        found.append((mean - spread - 1e-6, mean + spread + 1e-6))
    return found


def _outlying(row: array[float], limits: Sequence[tuple[float, float]]) -> bool:
    return any(not low <= width <= high for width, (low, high) in zip(row, limits, strict=True))
