"""Films that the measurements here read, as ``ehrqa vqa FILE QUESTION`` reads them."""

from __future__ import annotations

import csv
from pathlib import Path

from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.model import choose
from ehrqa_cli.vqa.model.source import ModelGraphs, OneGraph
from ehrqa_cli.vqa.reader import Vqa


def valid_films(nih: Path) -> list[dict[str, str]]:
    """The labels of the validation films of NIH ChestX-ray14: labels.csv in the folder."""
    with (nih / "labels.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["split"] == "valid"]


def model_of(vision: str | None) -> ModelGraphs:
    """The vision model of this name or card, else the shipped one."""
    source = choose.model_graphs(choose.Wanted(vision, Path("models")))
    assert source is not None, "there is no vision model"
    return source


def reader_of(path: Path, source: ModelGraphs) -> tuple[Vqa, str]:
    """What answers about this film alone, and the film's hash. Raises ImageError."""
    picture = decode(path, size=max(source.model.card.input.size))
    graph = source.graph_of(source.model.see([picture])[0], picture)
    return Vqa(OneGraph(source, graph), source.thresholds()), picture.sha256
