"""AUROC by relation and AUROC_rel: by hand, by brute force, and the paper's own table."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from vqa.fakes import FakeGraphs

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.images import ANYWHERE
from ehrqa_cli.evaluate.mimic_cxr_vqa import relations
from ehrqa_cli.evaluate.mimic_cxr_vqa.relations import Case, PairAuroc, RelationScores
from ehrqa_cli.vqa import Vqa, parse

LEFT, RIGHT = ("left lung", "pneumonia"), ("right lung", "pneumonia")


def cases(positive: list[float], negative: list[float], relation=LEFT) -> list[Case]:
    scored = [(True, s) for s in positive] + [(False, s) for s in negative]
    return [Case(relation, k, present, s) for k, (present, s) in enumerate(scored)]


def one(*args, **options) -> PairAuroc:
    (found,) = relations.pair_aurocs(cases(*args), min_positives=1, **options)
    return found


@pytest.mark.parametrize(
    ("positive", "negative", "wanted"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9, 0.8], 0.0),
        ([0.5, 0.9], [0.5, 0.1], 0.875),  # one tie of four pairs
        ([0.4, 0.4], [0.4], 0.5),
    ],
)
def test_auroc_by_hand(positive, negative, wanted):
    assert one(positive, negative).auroc == wanted


def test_the_interval_is_that_of_resampling_studies():
    rng = random.Random(3)
    positive = [rng.gauss(1, 1) for _ in range(30)]
    negative = [rng.gauss(0, 1) for _ in range(50)]
    found = one(positive, negative, rounds=2000)
    scored = [(s, True) for s in positive] + [(s, False) for s in negative]
    drawn = []
    for _ in range(1000):
        draw = rng.choices(scored, k=len(scored))
        high, low = [s for s, y in draw if y], [s for s, y in draw if not y]
        drawn.append(sum(a > b for a in high for b in low) / (len(high) * len(low)))
    drawn.sort()
    assert found.low == pytest.approx(drawn[25], abs=0.015)
    assert found.high == pytest.approx(drawn[975], abs=0.015)
    assert found == one(positive, negative, rounds=2000)


def test_a_pair_counts_from_ten_positives_and_a_negative_on():
    few = [*cases([0.9] * 9, [0.1] * 5), *cases([0.9] * 10, [0.1], RIGHT)]
    left, right = relations.pair_aurocs(few)
    assert (left.auroc, left.positives, left.support) == (None, 9, 14)
    assert right.auroc == 1.0
    assert relations.pair_aurocs(cases([0.9] * 12, []))[0].auroc is None


def test_what_was_not_scored_or_asked_twice_does_not_count():
    found = one([0.9, 0.8], [0.1])
    more = [*cases([0.9, 0.8], [0.1]), Case(LEFT, 0, True, 0.0), Case(LEFT, 9, True, None)]
    (same,) = relations.pair_aurocs(more, min_positives=1)
    assert (same.auroc, same.support, same.unscored) == (found.auroc, 3, 1)


def test_auroc_rel_is_the_mean_ratio():
    reference = {LEFT: 0.5, RIGHT: 0.8, ("spine", "scoliosis"): 0.9}
    pairs = relations.pair_aurocs(
        [*cases([0.5, 0.9], [0.5, 0.1]), *cases([0.9], [0.1], RIGHT)], reference, min_positives=1
    )
    assert [p.relative for p in pairs] == [1.75, 1.25]
    found = relations.auroc_rel(pairs, reference)
    assert found is not None
    assert (found.mean, found.deviation, found.pairs, found.known) == (1.5, 0.25, 2, 3)
    assert 1.25 <= found.low <= found.mean <= found.high <= 1.75
    assert relations.auroc_rel(pairs, {}) is not None
    assert relations.auroc_rel([PairAuroc(LEFT, 0, 0, 0, None)], reference) is None


def test_the_papers_table_gives_the_papers_figure(shared_data: Path):
    """Table E13's columns give 1.05 ± 0.08, Table 4's AUROC_rel of M3AE to its rounding."""
    path = shared_data / "ehrxqa" / "reference_auroc.tsv"
    reference = relations.read_reference(path)
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    pairs = [
        PairAuroc(key, 10, 20, 0, float(row["m3ae_auroc"]), reference=reference[key])
        for row in rows
        for key in [(row["object"], row["attribute"])]
    ]
    found = relations.auroc_rel(pairs, reference)
    assert found is not None and found.pairs == found.known == 82
    assert (round(found.mean, 2), round(found.deviation, 2)) == (1.05, 0.08)


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        ("Is there pneumonia in the left lung?", "yes", [(LEFT, True)]),
        ("Is there pneumonia in the left lung?", "no", [(LEFT, False)]),
        (
            "Are both the left lung and the right lung related to pneumonia?",
            "yes",
            [(LEFT, True), (RIGHT, True)],
        ),
        (
            "Are both the left lung and the right lung related to pneumonia?",
            "no",
            [(LEFT, None), (RIGHT, None)],
        ),
        (
            "Is either the left lung or the right lung related to pneumonia?",
            "no",
            [(LEFT, False), (RIGHT, False)],
        ),
        (
            "Is either the left lung or the right lung related to pneumonia?",
            "yes",
            [(LEFT, None), (RIGHT, None)],
        ),
        (
            "Which anatomical location is related to pneumonia, the left lung or the right lung?",
            "right lung",
            [(LEFT, False), (RIGHT, True)],
        ),
        (
            "Which disease is related to the left lung, pneumonia or copd/emphysema?",
            "pneumonia",
            [(LEFT, True), (("left lung", "copd/emphysema"), False)],
        ),
        ("Is the left lung abnormal?", "yes", []),
        ("Are there any diseases in the left lung?", "yes", []),
        ("Is there pneumonia?", "yes", []),
        ("Is this an AP view?", "yes", []),
    ],
)
def test_questions_taken_apart(question, answer, wanted):
    assert list(relations.basics(parse(question), frozenset({answer}))) == wanted


def test_scores_are_what_answers_rest_on():
    """A child's probability counts for its parent; what is not covered has none."""
    graphs = FakeGraphs(
        [LEFT, ("left lung", "lung opacity"), ("", "hernia")],
        {1: {LEFT: 0.8, ("left lung", "lung opacity"): 0.3, ("", "hernia"): 0.1}},
    )
    score = RelationScores(Vqa(graphs))
    assert score(("left lung", "lung opacity"), 1) == pytest.approx(0.8)
    assert score((ANYWHERE, "pneumonia"), 1) == pytest.approx(0.8)
    assert score((ANYWHERE, "hernia"), 1) == pytest.approx(0.1)
    assert score(RIGHT, 1) is None and score(LEFT, 2) is None


def test_every_label_of_the_studies():
    labels = Vqa(FakeGraphs([LEFT, RIGHT], {1: {LEFT: 1.0}, 2: {}}))
    seen = Vqa(FakeGraphs([LEFT], {1: {LEFT: 0.7}, 2: {LEFT: 0.2}, 3: {}}))
    found = list(relations.labelled_cases(labels, [1, 2, 3], RelationScores(seen)))
    assert len(found) == 6  # two relations and the image as a whole, of two studies
    by = {(c.relation, c.study_id): c for c in found}
    assert by[LEFT, 1].present and by[LEFT, 1].score == pytest.approx(0.7)
    assert by[(ANYWHERE, "pneumonia"), 1].present
    assert not by[RIGHT, 1].present and by[RIGHT, 1].score is None


@pytest.mark.parametrize(
    "text", ["a\tb\n1\t2\n", "object\tattribute\treference_auroc\nneck\tgoiter\tmany\n", None]
)
def test_a_wrong_reference_is_said(tmp_path: Path, text: str | None):
    path = tmp_path / "r.tsv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EvaluationError, match=r"r\.tsv"):
        relations.read_reference(path)
