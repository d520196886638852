"""The shipped vision model on real films, where they are at hand: what it must not say."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.images import NO_STUDY
from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.vqa.answer import image_answer
from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model import card, choose
from ehrqa_cli.vqa.model.source import ModelGraphs, OneGraph
from ehrqa_cli.vqa.reader import Vqa

FILMS = 24  # each further one takes 0.03 s


@pytest.fixture(scope="module")
def source() -> ModelGraphs:
    path = modelstore.models_root() / choose.SHIPPED / choose.CARD
    if not path.is_file():
        pytest.skip("needs the shipped vision model")
    made = choose.model_graphs(choose.Wanted(None, Path("none")))
    assert made is not None
    return made


@pytest.fixture(scope="module")
def rows(shared_data: Path) -> list[dict[str, str]]:
    """The labels of the validation films."""
    with (shared_data / "cxr" / "nih" / "labels.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["split"] == "valid"]


@pytest.fixture(scope="module")
def films(shared_data: Path) -> Path:
    return shared_data / "cxr" / "nih" / "images"


def pictures(films: Path, rows: list[dict[str, str]]) -> list[Picture]:
    return [decode(films / row["file"], size=224) for row in rows]


def turned(picture: Picture, quarters: int) -> Picture:
    pixels = np.ascontiguousarray(np.rot90(picture.pixels, quarters))
    return replace(picture, pixels=pixels, width=pixels.shape[1], height=pixels.shape[0])


def reader(source: ModelGraphs, picture: Picture) -> Vqa:
    graph = source.graph_of(source.model.see([picture])[0], picture)
    return Vqa(OneGraph(source, graph), source.thresholds())


def test_yes_and_no_need_nine_to_one() -> None:
    made = card.load(modelstore.models_root() / choose.SHIPPED)
    for label in made.labels:
        assert label.threshold >= 0.9 and (label.no_below or 0.0) <= 0.1, label.name
    for binary in (made.view, made.sex):
        assert binary is not None and binary.threshold >= 0.98 and binary.no_below is not None


def test_turned_films_are_unknown_and_upright_ones_are_not(
    source: ModelGraphs, films: Path, rows: list[dict[str, str]]
) -> None:
    upright = pictures(films, rows[:FILMS])
    known = [seen.in_distribution for seen in source.model.see(upright)]
    assert sum(known) >= 0.9 * FILMS
    for quarters in (1, 2, 3):
        seen = source.model.see([turned(picture, quarters) for picture in upright])
        assert sum(one.in_distribution for one in seen) <= 0.05 * FILMS, quarters


def test_a_turned_film_is_declined_as_not_seen(
    source: ModelGraphs, films: Path, rows: list[dict[str, str]]
) -> None:
    picture = turned(pictures(films, rows[:1])[0], 1)
    vqa = reader(source, picture)
    answer = image_answer(Question(text="Is there an effusion?"), "film", "0", vqa)
    assert answer.status is Status.ABSTAINED and answer.reason_public == "not_seen"
    assert "it is turned" in answer.text and "none" not in answer.text


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Cardiomegaly", "Is the heart enlarged?"),
        ("Pneumothorax", "Is there a pneumothorax?"),
        ("Mass", "Is there a mass?"),
        ("Emphysema", "Is there emphysema?"),
    ],
)
def test_a_finding_that_is_there_is_not_denied(
    source: ModelGraphs, films: Path, rows: list[dict[str, str]], name: str, question: str
) -> None:
    having = [row for row in rows if name in row["findings"].split("|")]
    said = [reader(source, p).detail(question, NO_STUDY) for p in pictures(films, having)]
    assert sum(one.values == (0,) for one in said) <= 0.05 * len(having)


def test_the_place_of_a_finding_is_never_none(
    source: ModelGraphs, films: Path, rows: list[dict[str, str]]
) -> None:
    for picture in pictures(films, rows[:8]):
        answer = image_answer(
            Question(text="Where is the pneumothorax?"), "film", "0", reader(source, picture)
        )
        assert answer.status is Status.ABSTAINED and answer.reason_public == "not_seen"
        assert "pneumothorax" in answer.text
