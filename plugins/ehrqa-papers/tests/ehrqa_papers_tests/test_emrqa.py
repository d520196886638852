"""emrQA: data.json and i2b2's files on made-up trees, evidence, classes, and logical forms."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ehrqa_papers.emrqa import EmrRun, load_emrqa, run_emrqa
from ehrqa_papers.emrqa.classes import ClassItem, cue_sentences, split
from ehrqa_papers.emrqa.evidence import Piece, bm25, by_vectors, exact_match, score
from ehrqa_papers.emrqa.i2b2 import read_i2b2
from ehrqa_papers.emrqa.load import EvidenceGold
from ehrqa_papers.emrqa.matching import fill, hm1, hm2
from ehrqa_papers.emrqa.pairs import (
    MIXED,
    SPLITS,
    FormPair,
    _cut,
    make_split,
    paraphrases,
)
from ehrqa_papers.emrqa.sequence import SequenceModel

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.sets.pairs.templates import Template
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.sets.pairs.wording import Node
from ehrqa_cli.text2sql.linking.linker import Linker

NOTE = """Record date: 2080-01-02
The patient takes furosemide 40 mg daily.
BMI: 33.4 Obese, high risk.
Hypertension borderline today.
"""


def answer(evidence: str, text: Any = "", kind: str = "empty", start: Any = None) -> dict[str, Any]:
    return {
        "answer_entity_type": kind,
        "answer_start": [2, 4],
        "text": text,
        "evidence": evidence,
        "evidence_start": start,
    }


def qa(questions: Sequence[str], answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": [[q, q] for q in questions],
        "question": list(questions),
        "answers": list(answers),
    }


def emrqa_tree(folder: Path) -> Path:
    folder.mkdir()
    dose, pressure = NOTE.split("\n")[1], NOTE.split("\n")[3]
    lines = NOTE.splitlines(keepends=True)
    asked = [
        qa(["What is the dosage of furosemide ?"], [answer(dose, "40 mg", "single", 2)]),
        qa(["Is the hypertension controlled ?", "How is her hypertension ?"], [answer(pressure)]),
    ]
    data = [
        {"title": "medication", "paragraphs": [{"note_id": "1", "context": lines, "qas": asked}]},
        {"title": "smoking", "paragraphs": smoking()},
    ]
    (folder / "data.json").write_text(json.dumps({"data": data}))
    return folder


SAID = {
    "current smoker": "He smokes two packs daily.",
    "non-smoker": "He does not smoke.",
    "past smoker": "He quit smoking in 2070.",
}


def smoking(copies: int = 12) -> list[dict[str, Any]]:
    """Records that say it in one sentence among others that say nothing of it."""
    rng = random.Random(0)
    filler = [
        "Lungs clear.",
        "Given heparin.",
        "Afebrile today.",
        "Home with services.",
        "No rash.",
    ]
    out = []
    for k in range(copies):
        for label, said in SAID.items():
            text = " ".join([*rng.sample(filler, 3), said, *rng.choices(filler, k=4)])
            answers = [answer("", label, "single")]
            asked = [qa(["What is the smoking status ?"], answers)]
            out.append({"note_id": f"{label}-{k}", "context": text, "qas": asked})
    return out


def test_loader(tmp_path):
    data = load_emrqa(emrqa_tree(tmp_path / "d"))
    first, second = data.evidence
    (gold,) = first.golds
    assert gold.entities == ("40 mg",) and NOTE[gold.start :].startswith("The patient takes")
    assert second.golds[0].entities == () and second.golds[0].start is not None
    assert {q.label for q in data.classes} == set(SAID)
    wordings = {load_emrqa(tmp_path / "d", seed).evidence[1].question for seed in range(9)}
    assert len(wordings) == 2  # one paraphrase at random


def test_evidence_that_is_split_otherwise_is_found(tmp_path):
    folder = emrqa_tree(tmp_path / "d")
    raw = json.loads((folder / "data.json").read_text())
    golds = raw["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    golds[0]["evidence"] = ["furosemide  40 mg", "daily."]
    golds.append(answer("words that are nowhere", start=3))
    (folder / "data.json").write_text(json.dumps(raw))
    found = load_emrqa(folder).evidence[0].golds
    assert found[0].start == NOTE.index("furosemide") and found[1].start is None


def test_exact_match_as_the_paper_has_it():
    """The entity where it is known, else both ends within 20 characters."""
    known = EvidenceGold("takes furosemide 40 mg daily", 100, ("40 mg",))
    assert exact_match(known, [Piece("nothing"), Piece("gave 40  MG", 5)])
    assert not exact_match(known, [Piece("takes furosemide", 100)])
    both = EvidenceGold("x", 0, ("40 mg", "daily"))
    assert not exact_match(both, [Piece("40 mg"), Piece("daily")])
    unknown = EvidenceGold("a" * 50, 100, ())
    assert exact_match(unknown, [Piece("b" * 50, 120)])
    assert not exact_match(unknown, [Piece("b" * 50, 121)])
    assert not exact_match(unknown, [Piece("b" * 90, 100)])


def test_score_averages_over_the_gold_lines_of_the_top_ten(tmp_path):
    item = load_emrqa(emrqa_tree(tmp_path / "d")).evidence[0]
    right, wrong = Piece(item.golds[0].evidence), Piece("zzz")
    assert score(item, [right]) == (1.0, 1.0)
    assert score(item, [wrong] * 9 + [right]) == (1.0, 1.0)
    assert score(item, [wrong] * 10 + [right]) == (0.0, 0.0)
    assert score(item, []) == (0.0, 0.0)


def test_finders():
    assert bm25("dosage of furosemide", NOTE)[0].text.startswith("The patient takes")
    assert bm25("dosage", "") == []

    def embed(texts: Sequence[str]) -> Any:
        return np.array([[float("ypertension" in t), 1.0] for t in texts])

    found = by_vectors(embed)("Hypertension ?", NOTE)
    assert found[0].text == "Hypertension borderline today."
    assert NOTE[found[0].start :].startswith(found[0].text)


def test_evidence_run(tmp_path):
    data, out = emrqa_tree(tmp_path / "d"), tmp_path / "out"
    report = run_emrqa(EmrRun("evidence", data, out=out))
    assert report.scores["em"]["value"] == 1.0 and "medication" in report.as_markdown()
    whole = (out / "records.jsonl").read_bytes()
    (out / "records.jsonl").write_bytes(whole[:-30])
    assert run_emrqa(EmrRun("evidence", data, out=out)).as_dict() == report.as_dict()
    assert (out / "records.jsonl").read_bytes() == whole
    items = load_emrqa(data).evidence
    path = tmp_path / "p.json"
    path.write_text(json.dumps({i.id: [g.evidence for g in i.golds] for i in items}))
    scores = run_emrqa(EmrRun("evidence", data, predictions=path)).scores
    assert scores["em"]["value"] == scores["f1"]["value"] == 1.0
    path.write_text(json.dumps({i.id: None for i in items}))
    scores = run_emrqa(EmrRun("evidence", data, predictions=path)).scores
    assert scores["em"]["value"] == scores["f1"]["value"] == 0.0
    path.write_text(json.dumps({i.id: [1] for i in items}))
    with pytest.raises(EvaluationError, match="holds no evidence"):
        run_emrqa(EmrRun("evidence", data, predictions=path))


def test_classes_run(tmp_path):
    folder = emrqa_tree(tmp_path / "d")
    report = run_emrqa(EmrRun("classes", folder, out=tmp_path / "out"))
    found = report.scores["accuracy"]
    assert found["cue sentences"] == 1.0  # each record says it in one of three sentences
    assert found["majority"] < 0.7 and found["majority"] < found["TF-IDF + logistic regression"]
    data = load_emrqa(folder)
    path = tmp_path / "p.json"
    path.write_text(json.dumps({q.id: q.label for q in data.classes}))
    assert (
        run_emrqa(EmrRun("classes", folder, predictions=path)).scores["accuracy"]["p.json"] == 1.0
    )


def test_no_record_stands_in_training_and_in_test():
    items = [
        ClassItem(f"{k}/{asked}", str(k), asked, "text", "y")
        for k in range(20)
        for asked in ("obesity", "asthma")
    ]
    data = split(items)
    assert not {i.group for i in data.train} & {i.group for i in data.test}
    assert (len(data.train), len(data.test)) == (32, 8)
    with pytest.raises(EvaluationError, match="too few"):
        split(items[:4])


def test_cue_sentences():
    text = "Lungs clear. Denies tobacco use.\nBMI 41; asthma since childhood."
    assert cue_sentences("What is the smoking status ?", text) == ["denies tobacco use."]
    assert cue_sentences("obesity", text) == ["bmi 41;"]
    assert cue_sentences("asthma", text) == ["asthma since childhood."]


def test_i2b2_layouts(tmp_path):
    (tmp_path / "smoking.xml").write_text(
        '<ROOT><RECORD ID="1"><SMOKING STATUS="PAST SMOKER"/><TEXT>quit</TEXT></RECORD></ROOT>'
    )
    (tmp_path / "records.xml").write_text(
        '<root><docs><doc id="5"><text>Obese.</text></doc></docs></root>'
    )
    judged = '<disease name="Obesity"><doc id="5" judgment="Y"/></disease>'
    (tmp_path / "labels.xml").write_text(
        f'<diseaseset><diseases source="intuitive">{judged}</diseases>'
        f'<diseases source="textual">{judged.replace("Y", "U")}</diseases></diseaseset>'
    )
    found, _ = read_i2b2(tmp_path)
    assert {(r.asked, r.label, r.text) for r in found} == {
        ("smoking status", "past smoker", "quit"),
        ("obesity", "present", "Obese."),
    }
    assert "unmentioned" in {r.label for r in read_i2b2(tmp_path, "textual")[0]}
    (tmp_path / "records.xml").unlink()
    with pytest.raises(EvaluationError, match="have no record"):
        read_i2b2(tmp_path)
    (tmp_path / "labels.xml").write_text("<diseaseset><dis")
    with pytest.raises(EvaluationError, match="is not XML"):
        read_i2b2(tmp_path)


def test_bad_files(tmp_path):
    with pytest.raises(EvaluationError, match="no labelled records"):
        run_emrqa(EmrRun("classes", tmp_path))
    (tmp_path / "data.json").write_text('{"data": [{"title": "a", "paragraphs": [{}]}]}')
    with pytest.raises(EvaluationError, match="is not emrQA's"):
        load_emrqa(tmp_path)
    (tmp_path / "data.json").write_text('{"data": [{"title": "a", "parag')
    with pytest.raises(EvaluationError, match="not JSON") as error:
        load_emrqa(tmp_path)
    assert "fetch it again" in error.value.hint


@pytest.fixture(scope="module")
def ehr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "ehr.sqlite"
    build_demo(path, seed=3, patients=20)
    return path


@pytest.fixture(scope="module")
def linker(ehr: Path) -> Linker:
    database = SqliteDatabase.open(ehr)
    try:
        return Linker(ValueIndex.build(database))
    finally:
        database.close()


@pytest.mark.parametrize("name", SPLITS)
def test_splits(ehr, linker, name):
    vocabulary = read_vocabulary(ehr)
    data = make_split(name, vocabulary, linker, 100, seed=2)
    assert (len(data.train), len(data.test)) == (80, 20)
    assert data == make_split(name, vocabulary, linker, 100, seed=2)
    assert sum(pair.form is None for pair in (*data.train, *data.test)) <= 10
    linked = next(p for p in data.train if p.form and "#1" in p.form)
    assert "#1" in linked.text


def test_paraphrases_are_kept_apart(ehr, linker):
    """Of a type with two wordings one is learnt and the other measured; mixed, both are both."""
    types, learnt, measured = paraphrases()
    assert types > 400 and measured < learnt / 3
    template = Template("t", "table", (), tuple(Node("text", w) for w in "abcde"))
    train, test = _cut(template, random.Random(0))
    assert (len(train.wordings), len(test.wordings)) == (4, 1)
    assert {*train.wordings} | {*test.wordings} == {*template.wordings}
    with pytest.raises(EvaluationError, match="no pairs"):
        make_split(MIXED, read_vocabulary(ehr), linker, 1)


def pair(text: str, form: str | None, *types: str) -> FormPair:
    return FormPair(text, text, tuple((t,) for t in types), form, "t")


TRAIN = (
    pair("last <lab>#1 of <pat>#2", "value last lab #1 patient #2", "lab", "pat"),
    pair("age of <pat>#1", "age patient #1", "pat"),
)


def test_hm1_is_identical_only():
    test = (TRAIN[1], pair("the age of <pat>#1", "age patient #1", "pat"))
    assert hm1(TRAIN, test) == ["age patient #1", None]


def test_hm2_takes_the_nearest_and_fills_its_slots():
    """The values stand in another order in the question that is asked."""

    def embed(texts: Sequence[str]) -> Any:
        assert not any("#" in text or "<" in text for text in texts)
        return np.array([[float("lab" in t), float("age" in t)] for t in texts])

    test = (
        pair("of <pat>#1 the <lab>#2", "value last lab #2 patient #1", "pat", "lab"),
        pair("which <lab>#1", None, "lab"),
    )
    assert hm2(TRAIN, test, embed) == ["value last lab #2 patient #1", None]
    assert fill("a #1 #2", [("lab",), ("lab", "drug")], [("lab",), ("drug",)]) == "a #1 #2"


def test_the_sequence_model_learns_and_writes_valid_forms():
    train = [
        pair(f"{ask} the age of <pat>#1", "age admission patient #1", "pat")
        for ask in ("what is", "tell me", "give")
    ] + [
        pair(f"{ask} the gender of <pat>#1", "gender person patient #1", "pat")
        for ask in ("what is", "tell me", "give")
    ]
    model = SequenceModel(epochs=5)
    model.fit(train)
    assert (
        model.write(pair("show the gender of <pat>#1", None, "pat")) == "gender person patient #1"
    )
    assert model.write(pair("show the age of <pat>#1", None, "pat")) == "age admission patient #1"
    assert model.write(pair("show the age", None)) == "age admission"  # no patient to refer to


def test_forms_run(ehr, tmp_path):
    out = tmp_path / "out"
    report = run_emrqa(EmrRun("forms", db=ehr, pairs=40, out=out))
    assert set(report.scores) == set(SPLITS)
    right = report.scores[MIXED]["right"]
    assert all(0 <= n <= report.scores[MIXED]["test"] == 8 for n in right.values())
    whole = (out / "records.jsonl").read_bytes()
    assert whole.count(b"\n") == 1 + 16 and b'"gold": ' in whole
    (out / "records.jsonl").write_bytes(whole[: len(whole) * 3 // 4])
    assert run_emrqa(EmrRun("forms", db=ehr, pairs=40, out=out)).as_dict() == report.as_dict()
    assert (out / "records.jsonl").read_bytes() == whole
