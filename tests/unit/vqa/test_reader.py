"""Answers from scene graphs: the ontology, partial coverage, thresholds, batches."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.images import ANYWHERE, NotAnswered, Relation
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORY_OF, OBJECTS
from ehrqa_cli.vqa import Vqa, VqaThresholds
from ehrqa_cli.vqa.ontology import (
    OBJECT_PARENT,
    POSSIBLE,
    children,
    members,
    parts,
)

from .fakes import NAN, FakeGraphs

LOWER: Relation = ("left lower lung zone", "consolidation")
LUNG: Relation = ("left lung", "consolidation")


def whole(*present: Relation, **more: float) -> Vqa:
    """One study, 7, seen with everything that is possible."""
    seen = sorted(POSSIBLE)
    return Vqa(FakeGraphs(seen, {7: dict.fromkeys(present, 1.0)}, **more))


def say(vqa: Vqa, question: str) -> list[str | int]:
    found = vqa.detail(question, 7)
    assert found.reason is None, found.reason
    return list(found.values)


def test_ontology_uses_known_names() -> None:
    assert {name for _, name in POSSIBLE} == set(ATTRIBUTES) == set(CATEGORY_OF)
    assert {place for place, _ in POSSIBLE} == set(OBJECTS)
    assert set(OBJECT_PARENT) | set(OBJECT_PARENT.values()) <= set(OBJECTS)
    assert all(children(name) <= set(ATTRIBUTES) for name in ATTRIBUTES)
    assert parts("mediastinum") >= {"svc", "upper mediastinum", "right atrium"}
    assert "rotated" not in members("abnormality") and len(members("abnormality")) == 65


def test_a_child_makes_its_parents_present() -> None:
    vqa = whole(LOWER)
    assert say(vqa, "Is there consolidation in the left lung?") == [1]
    assert say(vqa, "Is there lung opacity in the left lower lung zone?") == [1]
    assert say(vqa, "Is there airspace opacity?") == [1]
    assert say(vqa, "Is there pneumonia in the left lung?") == [0]
    assert say(vqa, "Is there consolidation in the right lung?") == [0]
    assert say(vqa, "Where is consolidation seen?") == ["left lower lung zone", "left lung"]
    assert say(vqa, "List all anatomical findings in the left lung.") == [
        "airspace opacity",
        "consolidation",
        "lung opacity",
    ]


def test_the_impossible_is_absent() -> None:
    assert say(whole(LOWER), "Is there pneumonia in the left clavicle?") == [0]


def test_compound_questions_in_one_call() -> None:
    vqa = whole(LOWER, ("spine", "scoliosis"))
    both = "Is there consolidation in the left lung and scoliosis in the spine?"
    assert say(vqa, both) == [1]
    assert say(vqa, "Are the left lung and the right lung both abnormal?") == [0]
    assert say(vqa, "Which is abnormal, the spine or the neck?") == ["spine"]
    assert say(vqa, "List all abnormalities only in the spine but not in the neck.") == [
        "scoliosis"
    ]


def test_view_sex_and_widths() -> None:
    vqa = whole(pa=0.9, female=0.2, heart=0.52, mediastinum=0.3)
    assert say(vqa, "What is the view?") == ["PA"]
    assert say(vqa, "Is this an AP view?") == [0]
    assert say(vqa, "Is the patient male or female?") == ["male"]
    assert say(vqa, "Is the cardiothoracic ratio above 1/2?") == [1]
    assert say(vqa, "Is the upper mediastinum wider than 1/3 of the thorax?") == [0]
    assert vqa.detail("Is this a PA view?", 7).probability == pytest.approx(0.9)


def test_what_a_source_cannot_say_is_declined() -> None:
    vqa = Vqa(FakeGraphs([LUNG], {7: {LUNG: 1.0}}))
    for question in (
        "What is the view?",
        "Is the patient male?",
        "Is the cardiothoracic ratio above 1/2?",
        "Is there a goiter?",
        "Is there consolidation in the right lung?",
    ):
        reason = vqa.ask(question).reason
        assert reason is not None and reason.kind == "not_covered", question
        with pytest.raises(NotAnswered):
            vqa.answer(question, [7])
        assert vqa.detail(question, 7).reason == reason


def test_a_category_partly_seen_says_yes_never_no_nor_a_list() -> None:
    source = FakeGraphs([LUNG], {7: {LUNG: 0.9}, 8: {LUNG: 0.1}})
    vqa = Vqa(source)
    question = "Are there any anatomical findings in the left lung?"
    found = vqa.answer(question, [7, 8])
    assert (list(found.yes), list(found.unknown)) == ([7], [8])
    assert vqa.detail(question, 8).reason is not None
    reason = vqa.ask("List all anatomical findings in the left lung.").reason
    assert reason is not None and reason.kind == "partly_covered"
    assert vqa.ask("Is the left lung normal?").reason is None
    assert list(vqa.answer("Is the left lung normal?", [7, 8]).unknown) == [8]


def test_a_finding_of_the_whole_image() -> None:
    seen = [(ANYWHERE, "pneumothorax")]
    vqa = Vqa(FakeGraphs(seen, {7: {seen[0]: 0.9}, 8: {seen[0]: 0.1}}))
    assert list(vqa.answer("Is there a pneumothorax?", [7, 8]).yes) == [7]
    # Which side it is on is not known; where there is none, no side has one. "Where" has no answer
    # at all: "none" would be one about places that the source has not learned.
    side = vqa.answer("Is there a pneumothorax in the left lung?", [7, 8])
    assert (list(side.yes), list(side.unknown)) == ([], [7])
    for study in (7, 8):
        where = vqa.detail("Where is the pneumothorax?", study)
        assert where.reason is not None and where.reason.kind == "not_covered"
        assert "not learned where pneumothorax is" in where.reason.sentence


def test_a_relation_unknown_for_one_study() -> None:
    vqa = Vqa(FakeGraphs([LUNG, LOWER], {7: {LUNG: NAN}, 8: {LUNG: NAN, LOWER: 1.0}}))
    found = vqa.answer("Is there consolidation in the left lung?", [7, 8])
    assert (list(found.yes), list(found.unknown)) == ([8], [7])


def test_thresholds_per_relation() -> None:
    source = FakeGraphs([LUNG, LOWER], {7: {LUNG: 0.6, LOWER: 0.3}})
    strict = VqaThresholds(relations={LUNG: 0.7})
    assert say(Vqa(source), "Is there consolidation in the left lung?") == [1]
    assert say(Vqa(source, strict), "Is there consolidation in the left lung?") == [0]
    loose = VqaThresholds(relations={LUNG: 0.7}, attributes={"consolidation": 0.2})
    assert say(Vqa(source, loose), "Is there consolidation in the left lung?") == [1]


def test_probability_and_relations_used() -> None:
    vqa = Vqa(FakeGraphs([LUNG, LOWER], {7: {LUNG: 0.6, LOWER: 0.8}, 8: {LUNG: 0.2}}))
    found = vqa.detail("Is there consolidation in the left lung?", 7)
    assert found.values == (1,) and found.probability == pytest.approx(0.8)
    assert [(r.object, r.probability) for r in found.relations] == [
        ("left lower lung zone", pytest.approx(0.8)),
        ("left lung", pytest.approx(0.6)),
    ]
    absent = vqa.detail("Is there consolidation in the left lung?", 8)
    assert absent.values == (0,) and absent.probability == pytest.approx(0.8)
    assert absent.relations


def test_each_image_is_read_once_and_in_batches() -> None:
    source = FakeGraphs([LUNG], {s: {LUNG: s % 2} for s in range(10)})
    steps: list[tuple[int, int]] = []
    vqa = Vqa(source, batch=4, on_batch=lambda done, of: steps.append((done, of)))
    first = vqa.answer("Is there consolidation in the left lung?", [*range(12), 3])
    assert [len(b) for b in source.batches] == [4, 4, 4]
    assert steps[-1] == (12, 12)
    assert (first.read, first.cached, first.batches) == (10, 0, 3)
    assert list(first.yes) == [1, 3, 5, 7, 9] and list(first.missing) == [10, 11]
    again = vqa.answer("Is the left lung abnormal?", range(12))
    assert (again.read, again.cached, again.batches) == (0, 10, 0)
    assert len(source.batches) == 3


def test_a_study_without_an_image() -> None:
    reason = whole().detail("Is there pneumonia?", 99).reason
    assert reason is not None and reason.kind == "no_image" and "99" in reason.sentence


def test_a_width_too_near_to_the_limit_is_not_told() -> None:
    source = FakeGraphs([], {7: {}}, heart=0.509)
    near = Vqa(source, VqaThresholds(margin=0.012))
    reason = near.detail("Is the cardiothoracic ratio above 1/2?", 7).reason
    assert reason is not None and reason.kind == "partly_covered"
    assert near.detail("Is the cardiothoracic ratio above 0.45?", 7).values == (1,)
    assert Vqa(source).detail("Is the cardiothoracic ratio above 1/2?", 7).values == (1,)
