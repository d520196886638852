"""MIMIC-CXR-VQA: both layouts, scores by hand, predictions, AUROC, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vqa.fakes import FakeGraphs

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.mimic_cxr_vqa import MimicCxrVqa, VqaItem, load_vqa
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import label
from ehrqa_cli.evaluate.mimic_cxr_vqa.score import score
from ehrqa_cli.evaluate.runner import BenchmarkRun
from ehrqa_cli.evaluate.systems import Chosen
from ehrqa_cli.vqa import OracleGraphs, Vqa

LEFT = ("left lung", "pneumonia")


def own(number: int, question: str, answer: Any, **more: Any) -> dict[str, Any]:
    """A question as the data set writes it."""
    return {
        "split": "test",
        "idx": number,
        "subject_id": "10000001",
        "study_id": "50000001",
        "image_id": "a-b-c",
        "image_path": "p10/p10000001/s50000001/a-b-c.jpg",
        "question": question,
        "content_type": "presence",
        "semantic_type": "verify",
        "template": "Is there ${attribute} in the ${object}?",
        "template_program": "program_2",
        "template_arguments": {
            "object": {"0": "left lung"},
            "attribute": {"0": "pneumonia"},
            "category": {},
            "viewpos": {},
            "gender": {},
        },
        "answer": answer,
        **more,
    }


QUESTIONS = [
    own(0, "Is there pneumonia in the left lung?", ["yes"]),
    own(1, "Is there pneumonia in the left lung?", ["no"], study_id="50000002"),
    own(
        2,
        "Are there any diseases in the left lung?",
        ["yes"],
        template_program="program_1",
        template_arguments={"object": {"0": "left lung"}, "category": {"0": "disease"}},
    ),
    own(
        3,
        "What is the gender of this patient?",
        ["F"],
        content_type="gender",
        semantic_type="query",
        template_program="program_46",
        template_arguments={},
    ),
    own(
        4,
        "List all anatomical locations related to pneumonia.",
        [],
        study_id="50000002",
        content_type="anatomy",
        semantic_type="query",
        template_program="program_31",
    ),
    own(5, "Is there kyphosis in the left lung?", ["yes"]),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "vqa"
    folder.mkdir()
    (folder / "test.json").write_text(json.dumps(QUESTIONS))
    return folder


def reader(probability: float = 0.9) -> Vqa:
    relations = [LEFT, ("right lung", "pneumonia")]
    graphs = FakeGraphs(
        relations,
        {50000001: {LEFT: probability}, 50000002: {LEFT: 0.2}},
        possible=frozenset(relations),
        female=0.8,
    )
    return Vqa(graphs)


def run(data: Path, predictions: Path | None = None, split: str = "test", **more: Any):
    made = {k: more.pop(k) for k in ("labels", "reference", "text") if k in more}
    benchmark = MimicCxrVqa(more.pop("reader", reader()), **made)
    asked = benchmark.asked if predictions is None else None
    chosen = Chosen("ours" if asked else None, predictions)
    return BenchmarkRun(benchmark, data, split, chosen, asked, **more).run()


def test_own_layout(data: Path):
    found = load_vqa(data, "test")
    assert (found.layout, found.split, len(found.items)) == ("mimic-cxr-vqa", "test", 6)
    assert found.items[0] == VqaItem(
        id="0",
        question=QUESTIONS[0]["question"],
        answer=frozenset({"yes"}),
        study_id=50000001,
        content_type="presence",
        semantic_type="verify",
        template="program_2",
        of_category=False,
    )
    assert found.items[3].answer == {"female"} and found.items[4].answer == frozenset()
    assert [i.of_category for i in found.items] == [False, False, True, False, False, False]
    assert found.training == () and len(found.sha256) == 64


def test_the_study_is_found_by_path_or_image(data: Path):
    bare = {**QUESTIONS[0], "study_id": None}
    (data / "test.json").write_text(json.dumps([bare]))
    assert load_vqa(data, "test").items[0].study_id == 50000001
    bare["image_path"] = "images/a-b-c.jpg"
    (data / "test.json").write_text(json.dumps([bare]))
    studies = {"a-b-c": 7}
    assert load_vqa(data, "test", study_of=studies.get).items[0].study_id == 7
    with pytest.raises(EvaluationError, match=r"question 1 .* names no study"):
        load_vqa(data, "test")


def test_priors_are_chosen_on_train_and_for_test_on_valid_too(data: Path):
    for name, answers in (("train", ["no"] * 2), ("valid", ["yes"] * 3)):
        rows = [own(k, "q", [a]) for k, a in enumerate(answers)]
        (data / f"{name}.json").write_text(json.dumps(rows))
    assert len(load_vqa(data, "test").training) == 5
    assert len(load_vqa(data, "valid").training) == 2
    assert load_vqa(data, "train").training == ()
    table = run(data).tables[1]
    assert [row[:2] for row in table.blocks[0][1]] == [
        ("this system", ""),
        ("most common answer", "train"),
        ("most common per template", "train"),
    ]
    assert "train (" in table.notes[0] and "valid (" in table.notes[0]
    assert table.blocks[0][1][1][2].startswith("50.0")  # "yes" is right of three of six


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answer": "Will be generated"}, "no list"),
        ({"answer": None}, "no list"),
        ({"idx": 1}, "the id 1"),
    ],
)
def test_wrong_questions_are_said(data: Path, change: dict[str, Any], told: str):
    changed = [{**QUESTIONS[0], **change}, QUESTIONS[1]]
    (data / "test.json").write_text(json.dumps(changed))
    with pytest.raises(EvaluationError, match=told):
        load_vqa(data, "test")


def test_a_split_that_is_not_there(data: Path):
    with pytest.raises(EvaluationError, match=r"holds no MIMIC-CXR-VQA.*dev\.json"):
        load_vqa(data, "dev")


def test_labels_are_compared_plainly():
    assert [label(v) for v in ("Yes", " Left  Lung", "M", "f", "AP")] == [
        "yes",
        "left lung",
        "male",
        "female",
        "ap",
    ]


def record(
    gold: str, given: str | None, status: str = "answered", study: int = 1
) -> dict[str, Any]:
    """Labels are letters here."""
    labels = None if given is None else sorted(given)
    found = {"study_id": study, "gold": sorted(gold), "prediction": labels, "status": status}
    return {**found, "correct": labels == sorted(gold)}


def test_scores_by_hand():
    found = [
        record("ab", "ac"),  # 1 hit, 4 named
        record("a", "a"),  # 1 hit, 2 named
        record("", ""),  # exactly nothing is right
        record("y", None, "abstained"),
        record("y", None, "failed"),
    ]
    s = score(found)
    assert (s.questions, s.declined, s.failed) == (5, 1, 1)
    assert s.accuracy.value == pytest.approx(2 / 5)
    assert s.coverage.value == pytest.approx(3 / 5)
    assert s.accuracy_of_answered.value == pytest.approx(2 / 3)
    assert s.f1.value == pytest.approx(2 * 2 / (4 + 2 + 0 + 1 + 1))


def test_the_run(data: Path, tmp_path: Path):
    out = tmp_path / "out"
    report = run(data, out=out)
    rows = [json.loads(line) for line in (out / "records.jsonl").read_text().split("\n") if line]
    records = {row["id"]: row for row in rows[1:]}
    assert [records[k]["prediction"] for k in "012345"] == [
        ["yes"],
        ["no"],
        ["yes"],
        ["female"],
        [],
        None,
    ]
    assert [records[k]["correct"] for k in "012345"] == [True] * 5 + [False]
    assert records["5"]["status"] == "abstained" and records["5"]["why"] == "unknown_finding"
    assert records["0"]["confidence"] == 0.9
    assert report.scores["all"]["accuracy"]["value"] == pytest.approx(5 / 6)
    assert "4 of 4 templates were answered at all" in report.as_markdown()
    assert json.loads((out / "report.json").read_text())["header"]["predictor"]["ehrqa"] == "vqa"
    # What the answers decide of basic questions: one yes, one no, none of the category.
    pair = report.scores["relations"][0]
    assert (pair["relation"], pair["positives"], pair["support"]) == (LEFT, 1, 2)


def test_images_are_read_in_one_batch(data: Path):
    vqa = reader()
    run(data, reader=vqa)
    assert vqa.source.batches == [[50000001, 50000002]]


def test_a_run_goes_on_and_says_another_one(data: Path, tmp_path: Path):
    out = tmp_path / "out"
    run(data, out=out)
    whole = {p.name: p.read_bytes() for p in out.iterdir() if p.name != "timings.jsonl"}
    lines = whole["records.jsonl"].splitlines(keepends=True)
    (out / "records.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    run(data, out=out)
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.name != "timings.jsonl"} == whole
    with pytest.raises(EvaluationError, match="different seed"):
        run(data, out=out, seed=1)


def test_predictions_of_another_system(data: Path, tmp_path: Path):
    path = tmp_path / "p.jsonl"
    said = [1, ["no"], ["no"], ["m"], ["left lung"], None]
    chances = [0.7, 0.3, 0.4, None, None, None]
    path.write_text(
        "\n".join(
            json.dumps({"id": k, "prediction": a, "probability": p})
            for k, (a, p) in enumerate(zip(said, chances, strict=True))
        )
    )
    report = run(data, reader=None, predictions=path)
    assert report.scores["all"]["accuracy"]["value"] == pytest.approx(2 / 6)
    assert report.scores["all"]["declined"] == 1
    assert report.scores["relations"][0]["support"] == 2  # of the basic questions alone
    path.write_text(json.dumps({str(k): "SELECT 1" for k in range(6)}))
    with pytest.raises(EvaluationError, match="is a query"):
        run(data, reader=None, predictions=path)


def test_auroc_over_all_labels(tmp_path: Path, data: Path):
    """Gold labels give every relation of the studies asked about, not of others."""
    studies = {50000000 + k: {LEFT: float(k <= 10)} for k in range(1, 31)}
    rows = [
        own(k, "Is there pneumonia in the left lung?", ["no"], study_id=s)
        for k, s in enumerate(studies)
    ]
    (data / "test.json").write_text(json.dumps(rows))
    labels = Vqa(FakeGraphs([LEFT], {**studies, 1: {LEFT: 1.0}}))
    seen = Vqa(FakeGraphs([LEFT], {s: {LEFT: 0.9 - k / 40} for k, s in enumerate(studies)}))
    reference = tmp_path / "r.tsv"
    reference.write_text("object\tattribute\treference_auroc\nleft lung\tpneumonia\t0.8\n")
    report = run(data, reader=seen, labels=labels, reference=reference)
    by = {tuple(p["relation"]): p for p in report.scores["relations"]}
    assert (by[LEFT]["auroc"], by[LEFT]["positives"], by[LEFT]["support"]) == (1.0, 10, 30)
    assert by[("", "pneumonia")]["auroc"] == 1.0
    assert report.scores["auroc_rel"]["mean"] == pytest.approx(1.25)
    assert "AUROC_rel 1.250" in report.as_markdown()


def test_the_open_set_with_the_oracle(shared_data: Path):
    """480 of 480, in both wordings; its one split has any name."""
    folder = shared_data / "ehrxqa-open"
    vqa = Vqa(OracleGraphs.open(folder))
    for text in ("question", "template_text"):
        report = run(folder, split="dev", reader=vqa, text=text)
        found = report.scores["all"]
        assert (found["questions"], found["accuracy"]["value"], found["f1"]["value"]) == (480, 1, 1)
        assert report.header["split"] == "all"
    assert "48 of 48 templates" in report.as_markdown()
