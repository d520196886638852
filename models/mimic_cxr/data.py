"""MIMIC-CXR-JPG's films with Chest ImaGenome's relations, read from the layouts of PhysioNet.

    MIMIC-CXR-JPG 2.x   mimic-cxr-2.0.0-metadata.csv[.gz], mimic-cxr-2.0.0-split.csv[.gz],
                        files/p10/p10000032/s50414267/<dicom_id>.jpg
    Chest ImaGenome 1.0 silver_dataset/scene_graph/<dicom_id>_SceneGraph.json (or scene_graph.zip)
    MIMIC-IV            hosp/patients.csv[.gz], for the sex (optional)

Both need a credentialed PhysioNet account; nothing of either is shipped.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.sets.prepare.imagenome import Graphs
from ehrqa_cli.sets.prepare.images import opened

FRONTAL = {"AP", "PA"}


@dataclass(frozen=True)
class Film:
    """One frontal image; ``sex`` and ``view`` are None where they are not known."""

    dicom_id: str
    patient: int
    study: int
    path: Path
    split: str
    view: str | None
    sex: str | None
    present: frozenset[Relation]
    absent: frozenset[Relation]


def films(cxr: Path, imagenome: Path, mimic: Path | None = None) -> Iterator[Film]:
    """All frontal films that have a scene graph and a file. Raises SystemExit on a wrong layout."""
    split = {row["dicom_id"]: row["split"] for row in rows(cxr, "mimic-cxr-2.0.0-split.csv")}
    sexes = _sexes(mimic)
    try:
        graphs = Graphs(imagenome)
    except UsageError as error:
        raise SystemExit(str(error)) from None
    for row in rows(cxr, "mimic-cxr-2.0.0-metadata.csv"):
        name, patient, study = row["dicom_id"], int(row["subject_id"]), int(row["study_id"])
        if row["ViewPosition"] not in FRONTAL or name not in split:
            continue
        path = cxr / "files" / f"p{str(patient)[:2]}" / f"p{patient}" / f"s{study}" / f"{name}.jpg"
        graph = graphs.of(name)
        if graph is None or not path.is_file():
            continue
        present, absent = relations(graph)
        yield Film(
            name, patient, study, path, split[name], row["ViewPosition"],
            sexes.get(patient), present, absent,
        )  # fmt: skip


def relations(graph: Mapping[str, Any]) -> tuple[frozenset[Relation], frozenset[Relation]]:
    """What a scene graph says is present and what it denies, as (object, attribute).

    Its attributes are written ``category|yes|name``; of several mentions the last one counts,
    as in a report's impression. Normality and severity are not relations.
    """
    said: dict[Relation, bool] = {}
    for place in graph.get("attributes", ()):
        name = str(place.get("bbox_name", "")).strip().lower()
        for phrase in place.get("attributes", ()):
            for mention in phrase:
                category, _, rest = str(mention).partition("|")
                answer, _, attribute = rest.partition("|")
                if category in {"nlp", "severity", "texture", "temporal"} or not attribute:
                    continue
                said[(name, attribute.strip().lower())] = answer == "yes"
    present = frozenset(relation for relation, yes in said.items() if yes)
    return present, frozenset(said) - present


def vocabulary(films: Sequence[Film], least: int) -> list[Relation]:
    """The relations present in at least ``least`` films, sorted (563 at the paper's size)."""
    counts: dict[Relation, int] = {}
    for film in films:
        for relation in film.present:
            counts[relation] = counts.get(relation, 0) + 1
    return sorted(relation for relation, count in counts.items() if count >= least)


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file, compressed or not. Raises SystemExit without it."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            with opened(path) as file:
                yield from csv.DictReader(file)
            return
    raise SystemExit(f"{folder} holds no {name} or {name}.gz")


def _sexes(mimic: Path | None) -> dict[int, str]:
    if mimic is None:
        return {}
    found = rows(mimic / "hosp", "patients.csv")
    return {int(row["subject_id"]): row["gender"] for row in found}
