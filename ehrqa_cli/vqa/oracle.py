"""Labels in place of a vision model: scene graphs read from a folder of tables."""

from __future__ import annotations

import csv
import gzip
import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TextIO

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Coverage, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.vqa.ontology import POSSIBLE

_LABELS, _STUDIES = ("scene_graph.tsv", "scene_graph.tsv.gz"), ("studies.tsv", "studies.tsv.gz")
_HINT = "the folder needs scene_graph.tsv[.gz] and studies.tsv, as data/ehrxqa-open has them"


class OracleGraphs(SceneGraphSource):
    """Labels as scene graphs of probability 0 or 1.

    ``scene_graph.tsv[.gz]`` has study_id, object, attribute, category, present (0 or 1; a
    probability is taken too), one row for each relation that the labels' own ontology allows;
    ``studies.tsv`` study_id, image_id, view (AP, PA), gender (male, female), ctr, mtr. A finding
    cannot be in a place where it is never listed; one that is listed nowhere is not covered; a
    row that lacks for one study only is unknown there.
    """

    name: ClassVar[str] = "oracle"

    def __init__(self, graphs: Mapping[int, SceneGraph], coverage: Coverage, source: str) -> None:
        """Use ``open``; ``source`` names the labels for provenance."""
        self._graphs = graphs
        self._coverage = coverage
        self._source = source

    @classmethod
    def open(cls, folder: Path) -> OracleGraphs:
        """Read a folder. Raises UsageError when it is not one of labels."""
        labels, studies = _find(folder, _LABELS), _find(folder, _STUDIES)
        relations: dict[Relation, int] = {}
        values: dict[int, list[tuple[int, float]]] = {}
        for row in _rows(labels, ("study_id", "object", "attribute", "present")):
            key = (row["object"].strip().lower(), row["attribute"].strip().lower())
            column = relations.setdefault(key, len(relations))
            with _readable(labels, row):
                values.setdefault(int(row["study_id"]), []).append((column, float(row["present"])))
        width = len(relations)
        graphs: dict[int, SceneGraph] = {}
        for row in _rows(studies, ("study_id",)):
            with _readable(studies, row):
                study = int(row["study_id"])
                graphs[study] = _graph(study, row, values.get(study, []), width)
        for study, cells in values.items():
            graphs.setdefault(study, _graph(study, {}, cells, width))
        coverage = Coverage(
            relations=tuple(relations),
            view=any(g.pa is not None for g in graphs.values()),
            sex=any(g.female is not None for g in graphs.values()),
            heart=any(g.heart is not None for g in graphs.values()),
            mediastinum=any(g.mediastinum is not None for g in graphs.values()),
            possible=frozenset(relations) | _unlisted(relations),
        )
        return cls(graphs, coverage, f"{folder.name}:{_digest(labels, studies)}")

    def coverage(self) -> Coverage:
        """What the labels hold."""
        return self._coverage

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """The graphs of those studies that have labels."""
        return {study: self._graphs[study] for study in studies if study in self._graphs}

    def provenance(self) -> Mapping[str, str]:
        """The folder's name and the hash of its files."""
        return {"scene_graphs": self._source}


def _unlisted(relations: Mapping[Relation, int]) -> frozenset[Relation]:
    listed = {name for _, name in relations}
    return frozenset(relation for relation in POSSIBLE if relation[1] not in listed)


def _graph(
    study: int, row: Mapping[str, str], cells: list[tuple[int, float]], width: int
) -> SceneGraph:
    found = array("f", [float("nan")]) * width
    for column, value in cells:
        found[column] = value
    return SceneGraph(
        study,
        found,
        pa=_coded(row.get("view"), {"pa": 1.0, "ap": 0.0}),
        female=_coded(row.get("gender"), {"female": 1.0, "f": 1.0, "male": 0.0, "m": 0.0}),
        heart=_number(row.get("ctr")),
        mediastinum=_number(row.get("mtr")),
        image=row.get("image_id") or "",
    )


def _coded(text: str | None, codes: Mapping[str, float]) -> float | None:
    return codes.get((text or "").strip().lower())


def _number(text: str | None) -> float | None:
    return float(text) if text and text.strip() else None


def _find(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", _HINT)
    raise UsageError(f"{folder} holds no {names[0]}", _HINT)


def _rows(path: Path, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    try:
        with _text(path) as file:
            reader = csv.DictReader(file, delimiter="\t")
            lacking = [name for name in needed if name not in (reader.fieldnames or ())]
            if lacking:
                raise UsageError(f"{path} has no column {', '.join(lacking)}", _HINT)
            yield from reader
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", _HINT) from None


def _text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


class _readable:
    """Turns a wrong number in a row into an error that shows the row."""

    def __init__(self, path: Path, row: Mapping[str, str]) -> None:
        self.path, self.row = path, row

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None and issubclass(kind, ValueError | TypeError):
            shown = "\t".join(str(v) for v in self.row.values())[:80]
            raise UsageError(f"{self.path} has a row that is no number: {shown}", _HINT) from None


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
