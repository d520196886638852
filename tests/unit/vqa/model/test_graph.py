"""Labels to relations, and what a card lets be asked."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ehrqa_cli.vqa.model import card, graph
from ehrqa_cli.vqa.model.network import VisionModel

from .films import CARD, PLAIN, film, picture

MASS = ("", "mass/nodule (not otherwise specified)")
EFFUSION = ("", "pleural effusion")


def with_labels(**fields: dict[str, float]) -> card.Card:
    """The fixture's card with some labels changed."""
    whole = card.load(CARD)
    assert whole.findings is not None
    labels = tuple(
        dataclasses.replace(label, **fields.get(label.name, {})) for label in whole.labels
    )
    return dataclasses.replace(whole, findings=dataclasses.replace(whole.findings, labels=labels))


def of(made: card.Card, **p: float) -> dict[tuple[str, str], float]:
    relations = graph.Relations(made)
    values = [p.get(label.name, 0.0) for label in made.labels]
    found = relations.probabilities(np.asarray(values, np.float32))
    return dict(zip(relations.names, found.tolist(), strict=True))


def test_a_label_without_relations_stands_for_none():
    relations = graph.Relations(card.load(CARD))
    assert relations.names == (EFFUSION, ("left lung", "pleural effusion"), MASS)


def test_a_label_gives_its_probability_to_each_of_its_relations():
    found = of(card.load(CARD), Effusion=0.3)
    assert found[EFFUSION] == found[("left lung", "pleural effusion")] == pytest.approx(0.3)


def test_between_no_below_and_threshold_nothing_is_said():
    made = with_labels(Effusion={"no_below": 0.2, "threshold": 0.6})
    assert np.isnan(of(made, Effusion=0.4)[EFFUSION])
    assert of(made, Effusion=0.1)[EFFUSION] == pytest.approx(0.1)
    assert of(made, Effusion=0.7)[EFFUSION] == pytest.approx(0.7)
    assert np.isnan(of(made, Effusion=float("nan"))[EFFUSION])


@pytest.mark.parametrize(
    ("mass", "nodule", "present"),
    [(0.1, 0.2, False), (0.1, 0.7, True), (0.35, 0.1, True), (0.25, 0.55, False)],
)
def test_of_two_labels_each_decides_by_its_own_threshold(mass, nodule, present):
    made = with_labels(Mass={"threshold": 0.3}, Nodule={"threshold": 0.6})
    found = of(made, Mass=mass, Nodule=nodule)[MASS]
    limit = graph.thresholds(made).of(MASS)
    assert (np.float32(found) >= np.float32(limit)) == present
    if (mass > 0.6) or (not present):
        assert found == pytest.approx(max(mass, nodule), abs=1e-6)


def test_one_label_that_is_sure_is_enough_and_one_unsure_is_not():
    made = with_labels(Mass={"no_below": 0.2}, Nodule={})
    assert of(made, Mass=0.3, Nodule=0.9)[MASS] == pytest.approx(0.9)
    assert np.isnan(of(made, Mass=0.3, Nodule=0.1)[MASS])
    assert of(made, Mass=0.1, Nodule=0.1)[MASS] == pytest.approx(0.1)


def test_only_what_is_validated_may_be_asked():
    whole = card.load(CARD)
    assert graph.coverage(whole).heart and graph.coverage(whole).view
    fewer = dataclasses.replace(whole, validated=frozenset({"sex", "mediastinum"}))
    found = graph.coverage(fewer)
    assert (found.view, found.sex, found.heart, found.mediastinum) == (False, True, False, False)
    plain = graph.coverage(dataclasses.replace(card.load(PLAIN), validated=frozenset({"view"})))
    assert not plain.view and plain.relations == (("", "pneumonia"), ("spine", "scoliosis"))


def test_thresholds_of_the_other_side():
    whole = card.load(CARD)
    assert whole.view is not None
    ap = dataclasses.replace(whole.view, positive="AP", threshold=0.3)
    assert graph.thresholds(dataclasses.replace(whole, view=ap)).view == pytest.approx(0.7)


@pytest.mark.parametrize("heart", [0.35, 0.5, 0.65])
def test_the_hearts_width_is_measured(heart: float):
    model = VisionModel.open(CARD)
    seen = model.see([picture(film(heart=heart))])[0]
    assert graph.heart_ratio(model.card, seen) == pytest.approx(heart, abs=0.07)


def test_no_width_without_a_chest():
    model = VisionModel.open(CARD)
    seen = model.see([picture(np.full((64, 64), 150, np.uint8))])[0]
    assert graph.heart_ratio(model.card, seen) is None
    assert graph.heart_ratio(model.card, seen, always=True) == 0.0
    plain = VisionModel.open(PLAIN)
    assert graph.heart_ratio(plain.card, plain.see([picture(film())])[0], always=True) is None


@pytest.mark.parametrize(
    ("p", "told"), [(0.05, True), (0.11, False), (0.5, False), (0.94, False), (0.95, True)]
)
def test_between_its_limits_neither_view_is_said(p: float, told: bool):
    view = card.load(CARD).view
    assert view is not None
    sure = dataclasses.replace(view, positive="PA", threshold=0.95, no_below=0.1)
    assert graph.told(sure, p, "PA") == (p if told else None)
    other = dataclasses.replace(sure, positive="AP")
    assert graph.told(other, 1 - p, "PA") == (pytest.approx(1 - p) if told else None)
    assert graph.told(sure, float("nan"), "PA") is None


def test_the_width_of_the_heart_counts_where_the_card_says_so():
    made = with_labels(Effusion={"ratio": 10.0})
    seen = dataclasses.replace(
        VisionModel(made).see([picture(film())])[0], findings=np.full(3, 0.5, np.float32)
    )
    at = [label.name for label in made.labels].index("Effusion")
    for heart, p in ((0.5, 0.5), (0.6, 1 / (1 + np.exp(-1))), (0.4, 1 / (1 + np.exp(1)))):
        found = graph.findings(made, seen, heart)
        assert found[at] == pytest.approx(p) and np.delete(found, at).tolist() == [0.5, 0.5]
    assert np.isnan(graph.findings(made, seen, None)[at])  # nothing is said without a ratio
