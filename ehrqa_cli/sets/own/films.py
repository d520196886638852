"""Which images questions are made of: one frontal film of a study, without outliers.

As MIMIC-CXR-VQA selects them (Bae et al. 2023, appendix B.2.2), on a folder of labels with
``scene_graph.tsv[.gz]`` and ``studies.tsv``. That has no bounding boxes, only the two widths made
of them: a film without them, or with one beyond three standard deviations, is left out.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.contracts.images import SceneGraph
from ehrqa_cli.sets.making.shares import splits_among, splits_of
from ehrqa_cli.sets.prepare.images import STEPS, Study, one_each, opened
from ehrqa_cli.vqa import OracleGraphs, VqaThresholds
from ehrqa_cli.vqa.matrix import Known, Matrix

DEVIATIONS = 3.0
_NAMES = ("studies.tsv", "studies.tsv.gz")


@dataclass(frozen=True)
class Film(Study):
    """An image with what is known of it; widths are of the thorax's. Where nothing says whose it
    is, it stands for a patient of its own: ``patient`` is then the study's number, negative."""

    sex: str = ""
    heart: float | None = None
    mediastinum: float | None = None

    @property
    def owner(self) -> int | None:
        """Whose it is, where that is known."""
        return self.patient if self.patient >= 0 else None


@dataclass(frozen=True)
class Pool:
    """The films left, their graphs in a matrix, their splits, and how many each step took out.

    ``present`` are the relations that are there, by study, after they were carried from parts and
    kinds to what they are part and kind of; impossible ones are not among them.
    """

    films: tuple[Film, ...]
    matrix: Matrix
    present: Mapping[int, tuple[tuple[str, str], ...]]
    splits: Mapping[int, str]
    steps: Mapping[str, int]


def select(
    folder: Path,
    patients: Mapping[int, tuple[int, str]],
    seed: int,
    given: Mapping[int, str] | None = None,
) -> Pool:
    """Choose the films of a folder of labels. ``patients`` gives patient and time of a study, from
    the EHR (may be empty); ``given`` the split of each patient, where they were divided before.
    Raises UsageError for another folder, BuildError when none is left."""
    source = OracleGraphs.open(folder)
    steps: Counter[str] = Counter(dict.fromkeys(STEPS, 0))
    found = one_each(_rows(folder, patients), steps)
    capped = sorted((f for own in found.values() for f in own), key=lambda f: f.study)
    graphs = source.read([film.study for film in capped])
    labelled = [film for film in capped if film.study in graphs]
    steps["without labels"] = len(capped) - len(labelled)
    kept = _inliers(labelled, steps)
    if not kept:
        raise BuildError(
            f"no image of {folder} is left to ask about",
            "it needs frontal images (view AP or PA in studies.tsv) with labels",
        )
    if given is not None:
        owners = splits_among([film.patient for film in kept], given, seed)
        steps["of patients without a split"] = sum(f.patient not in owners for f in kept)
        kept = [film for film in kept if film.patient in owners]
    steps["left"] = len(kept)
    known = Known(source.coverage())
    matrix = Matrix(known, VqaThresholds())
    matrix.add(_graph(graphs[film.study], film) for film in kept)
    present = _present(kept, matrix)
    if given is None:
        splits = _splits(kept, present, seed)
    else:
        splits = {film.study: owners[film.patient] for film in kept}
    return Pool(tuple(kept), matrix, present, splits, dict(steps))


def _rows(folder: Path, patients: Mapping[int, tuple[int, str]]) -> Iterable[Film]:
    path = next(folder / name for name in _NAMES if (folder / name).is_file())
    with opened(path) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            study = int(row["study_id"])
            patient, time = patients.get(study, (-study, ""))
            given = row.get("subject_id") or ""
            yield Film(
                int(given) if given.isdigit() else patient,
                study,
                row.get("image_id") or str(study),
                row.get("studydatetime") or time,
                (row.get("view") or "").strip().upper(),
                sex=(row.get("gender") or "").strip().lower(),
                heart=_number(row.get("ctr")),
                mediastinum=_number(row.get("mtr")),
            )


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text and text.strip() else None
    except ValueError:
        raise UsageError(
            f"studies.tsv has a width that is no number: {text[:40] if text else ''}",
            "ctr and mtr are ratios to the width of the thorax, or empty",
        ) from None


def _inliers(films: Sequence[Film], steps: Counter[str]) -> list[Film]:
    kept = list(films)
    for name in ("heart", "mediastinum"):
        values = [v for f in films if (v := getattr(f, name)) is not None]
        if not values:  # nobody measured it: no question asks about it either
            continue
        mean = math.fsum(values) / len(values)
        limit = DEVIATIONS * math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
        measured = [f for f in kept if getattr(f, name) is not None]
        steps["a width was not measured"] += len(kept) - len(measured)
        kept = [f for f in measured if abs(getattr(f, name) - mean) <= limit]
        steps["a width is an outlier"] += len(measured) - len(kept)
    return kept


def _graph(graph: SceneGraph, film: Film) -> SceneGraph:
    """The graph with what is known of the film that was chosen."""
    sex = {"female": 1.0, "f": 1.0, "male": 0.0, "m": 0.0}.get(film.sex)
    return replace(
        graph,
        pa=float(film.view == "PA"),
        female=sex,
        heart=film.heart,
        mediastinum=film.mediastinum,
        image=film.image,
    )


def _present(films: Sequence[Film], matrix: Matrix) -> dict[int, tuple[tuple[str, str], ...]]:
    cells = sorted(r for r in matrix.known.possible if matrix.known.seen(r))
    truths = {cell: matrix.cell(cell).yes for cell in cells}
    return {film.study: tuple(c for c in cells if truths[c][row]) for row, film in enumerate(films)}


def _splits(
    films: Sequence[Film], present: Mapping[int, tuple[tuple[str, str], ...]], seed: int
) -> dict[int, str]:
    """The split of each study: patients stay together, and those with an image that shows
    nothing are divided apart from the others, so that each split has its share of them."""
    owners: dict[int, list[int]] = {}
    for film in films:
        owners.setdefault(film.patient, []).append(film.study)
    normal = {o for o, studies in owners.items() if any(not present[s] for s in studies)}
    found: dict[int, str] = {}
    for group in (normal, owners.keys() - normal):
        for owner, split in splits_of(group, seed).items():
            found.update(dict.fromkeys(owners[owner], split))
    return found
