"""emrQA's kind of questions from a made-up tree of annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ehrqa_papers.emrqa.evidence import Piece, score
from ehrqa_papers.emrqa.load import load_emrqa
from ehrqa_papers.emrqa_sets import EmrOrder, build_emrqa, fill, i2b2
from ehrqa_papers.emrqa_sets.facts import AnnotatedNote, Lines
from ehrqa_papers.emrqa_sets.paraphrases import bleu, jaccard, paraphrase_figures, properties
from ehrqa_papers.emrqa_sets.templates import Type, filled, types

from ehrqa_cli.contracts.errors import BuildError, UsageError

from . import i2b2_tree


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return i2b2_tree.tree(tmp_path_factory.mktemp("i2b2") / "tree")


@pytest.fixture(scope="module")
def notes(annotated: Path) -> dict[str, AnnotatedNote]:
    return {f"{n.title} {n.note_id}": n for n in i2b2.read_annotations(annotated)}


def asked(note: AnnotatedNote, form: str) -> Any:
    """The record of the question with this form."""
    found = [r for r in fill.questions(note, 1, 10) if r["form"] == form]
    assert len(found) == 1, [r["form"] for r in fill.questions(note, 1, 10)]
    return found[0]


def test_a_dose_is_asked_and_answered_by_its_line(notes) -> None:
    record = asked(notes["medication 1001"], "MedicationEvent (aspirin) [dosage=x]")
    assert "What is the dosage of aspirin?" in record["question"]
    assert "Aspirin dosage?" in record["question"]  # a slot that begins the sentence
    (answer,) = record["answers"]
    assert answer["text"] == "81 mg" and answer["answer_entity_type"] == "single"
    assert answer["evidence"] == "1. Aspirin 81 mg po daily for chest pain."
    assert answer["answer_start"] == [2, 2]
    text = notes["medication 1001"].text
    assert text[answer["evidence_start"] :].startswith(answer["evidence"])


def test_several_attributes_are_one_answer_and_a_lacking_one_gives_none(notes) -> None:
    note = notes["medication 1001"]
    record = asked(note, "MedicationEvent (vancomycin) [dosage=x, route=x, frequency=x]")
    assert record["answers"][0]["text"] == ["1 gm", "iv", "q12h"]
    assert record["answers"][0]["answer_entity_type"] == "complex"
    assert asked(note, "MedicationEvent (aspirin) [startdate=x, enddate=x]")["answers"] is None
    assert asked(note, "MedicationEvent (aspirin) [adherence=x]")["answers"] is None


def test_one_drug_under_two_spellings_is_one_question(notes) -> None:
    record = asked(notes["medication 1002"], "MedicationEvent (vancomycin) [x]")
    assert [a["evidence"][:6] for a in record["answers"]] == ["3. Van", "The wo"]
    assert {a["answer_entity_type"] for a in record["answers"]} == {"empty"}


def test_co_reference_gives_it_a_name(notes) -> None:
    note = notes["relations record-1"]
    head = "{MedicationEvent (x) OR ProcedureEvent (x)} given/conducted"
    pain = "{ConditionEvent (chest pain) OR SymptomEvent (chest pain)}"
    assert asked(note, f"{head} {pain}")["answers"][0]["text"] == "nitroglycerin"
    # "it" is annotated only as "it": without another mention with a relation nothing asks of it.
    questions = [w for r in fill.questions(note, 1, 10) for w in r["question"]]
    assert questions and not any(w.endswith((" it?", " it.")) for w in questions)


def test_a_chain_joins_the_evidence_of_its_mentions() -> None:
    one, two = (fill.Mention("severe pain", 0, 0, 1), fill.Mention("it", 1, 1, 0))
    drug, other = fill.Mention("aspirin", 0, 0, 4), fill.Mention("heparin", 1, 1, 3)
    facts = tuple(
        fill.Fact("TrAP", {"treatment": t, "problem": p}) for t, p in ((drug, one), (other, two))
    )
    text = "the severe pain got aspirin\nit also got heparin"
    chained = AnnotatedNote("relations", "1", "1", text, facts, ((one, two),))
    form = "given/conducted {ConditionEvent (severe pain) OR SymptomEvent (severe pain)}"
    record = asked(chained, f"{{MedicationEvent (x) OR ProcedureEvent (x)}} {form}")
    assert [a["text"] for a in record["answers"]] == ["aspirin", "heparin"]
    apart = AnnotatedNote("relations", "1", "1", text, facts)
    record = asked(apart, f"{{MedicationEvent (x) OR ProcedureEvent (x)}} {form}")
    assert [a["text"] for a in record["answers"]] == ["aspirin"]


def test_numbers_are_compared(notes) -> None:
    note = notes["risk 200-02"]
    found = [r for r in fill.questions(note, 1, 10) if "blood pressure" in r["form"]]
    above = next(r for r in found if "|number|" in r["form_template"])
    number = int(above["form"].rpartition(">")[2].rstrip("]"))
    assert number in (150, 159 // 10 * 10)
    assert all(int(a["text"].split("/")[0]) > number for a in above["answers"])
    assert len(above["answers"]) == 2 and len({a["evidence"] for a in above["answers"]}) == 1
    sugar = next(r for r in fill.questions(note, 1, 10) if "a1c" in r["form"] and ">8" in r["form"])
    assert sugar["answers"][0]["text"] == "A1c 8.2"  # 8.2 exceeds 8; the 1 of A1c is no value


def test_entities_as_questions_name_them() -> None:
    assert fill.clean("The patient's Atrial Fibrillation .") == "atrial fibrillation"
    assert fill.clean("an EKG") == "ekg" and fill.clean("his own insulin") == "insulin"
    for nothing in ("it", "The", "this", "( open", "...", "b c d e f g h i j"):
        assert fill.clean(nothing) is None, nothing


def test_too_many_lines_have_a_form_and_no_answers() -> None:
    text = "\n".join(f"drug{k} daily" for k in range(4))
    facts = tuple(
        fill.Fact("medication", {"medication": fill.Mention(f"drug{k}", k, k, 0)}) for k in range(4)
    )
    note = AnnotatedNote("medication", "1", "1", text, facts)
    record = next(r for r in fill.questions(note, 1, 3) if r["form"] == "MedicationEvent (x)")
    assert record["answers"] is None and record["too_many"] == 4
    record = next(r for r in fill.questions(note, 1, 4) if r["form"] == "MedicationEvent (x)")
    assert len(record["answers"]) == 4


def test_types_are_sound() -> None:
    assert len({one.key for one in types()}) == len(types()) > 50
    for one in types():
        assert one.form.count("{") == one.form.count("}"), one.form
        assert len(set(one.wordings)) == len(one.wordings) >= 3, one.form
        values = dict.fromkeys([*one.slots, "number"], "7")
        for wording in one.wordings:  # every slot of a wording is one of the form
            assert "|" not in filled(wording, values) and wording[-1] in "?."
        assert one.labels or one.facts or one.answer


def test_paraphrases_are_measured() -> None:
    same = "What is the dose?"
    assert bleu(same, same) == pytest.approx(1.0) and jaccard(same, same) == 1.0
    # Of four words and a mark two and the mark are shared, no two words in a row but "the dose ?".
    assert 0 < bleu("What is the dose?", "Give the dose?") < 0.8
    assert jaccard("a b c", "b c d") == 0.5 and bleu("a b", "c d") == 0.0
    kinds = (Type("t", "LabEvent (x) [date=x, (result=x)>lab.refhigh]", ("One?", "Two?")),
             Type("t", "{A (x)} causes B (|problem|)", ("One?", "Two?")))  # fmt: skip
    assert properties(kinds) == {"fine_grained_answer": 0.5, "coarse_grained_answer": 0.5,
                                 "operators": 0.5, "medical_knowledge": 0.5,
                                 "event_relations": 0.5}  # fmt: skip
    figures = paraphrase_figures(kinds, 1)
    assert figures["wordings_per_type"] == 2.0
    assert figures["jaccard"] == {"mean": round(1 / 3, 3), "deviation": 0.0}  # the mark alone


def test_lines_count_as_annotations_do() -> None:
    lines = Lines("one two\nthree four five\n")
    assert lines.words(1, 1, 1, 2) == "four five" and lines.words(0, 1, 1, 0) == "two three"
    assert lines.words(1, 2, 1, 3) is None and lines.words(5, 0, 5, 0) is None
    assert lines.between(0, 1) == "one two\nthree four five" and lines.line_at(8) == 1


def order(annotated: Path, out: Path) -> EmrOrder:
    return EmrOrder(annotated, out, 1)


def test_gold_scores_100_and_what_is_written_is_read(annotated, tmp_path) -> None:
    card = build_emrqa(order(annotated, tmp_path / "set"))
    assert card["counts"]["questions"] == sum(card["counts"]["by_split"].values()) > 200
    assert card["counts"]["annotations_not_where_they_say"] == 0
    seen = 0
    for split in ("train", "valid", "test"):
        data = load_emrqa(tmp_path / "set" / split)
        gold = json.loads((tmp_path / "set" / split / "gold.json").read_text())
        assert {q.title for q in data.evidence} == {"medication", "relations", "risk"}
        for question in data.evidence:
            pieces = [Piece(p["text"], p["start"]) for p in gold[question.id]]
            assert score(question, pieces) == (1.0, 1.0), question.question
            assert all(g.start is not None for g in question.golds)
        for one in data.classes:
            assert gold[one.id].lower() == one.label
        seen += len(data.evidence) + len(data.classes)
        rows = (tmp_path / "set" / split / "forms.jsonl").read_text().splitlines()
        forms = [json.loads(row) for row in rows]
        assert len({(f["question"], f["form"]) for f in forms}) == len(forms)
        assert {f["emrQL-1"] for f in forms} == {f["emrQL-2"] for f in forms} == {"train", "test"}
    assert seen == card["counts"]["questions"]
    assert build_emrqa(order(annotated, tmp_path / "set")) == card


def test_what_is_wrong_is_said(annotated, tmp_path) -> None:
    with pytest.raises(BuildError, match="is not a folder"):
        build_emrqa(order(tmp_path / "nothing", tmp_path / "set"))
    with pytest.raises(UsageError, match="lies among the annotations"):
        build_emrqa(order(annotated, annotated / "set"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(BuildError, match="holds no annotations"):
        build_emrqa(order(empty, tmp_path / "set1"))
    (empty / "7.i2b2.entries").write_text('m="aspirin" 1:0 1:0\n')
    with pytest.raises(BuildError, match="annotates a note that is not there"):
        build_emrqa(order(empty, tmp_path / "set2"))
    (empty / "7").write_text("Heparin daily\n")  # other words than were annotated
    with pytest.raises(BuildError, match="no question over"):
        build_emrqa(order(empty, tmp_path / "set3"))
    (empty / "7.i2b2.entries").write_text("aspirin\n")
    with pytest.raises(BuildError, match=r"line 1 of .* is no annotation"):
        build_emrqa(order(empty, tmp_path / "set4"))
    (empty / "7.i2b2.entries").unlink()
    (empty / "8.xml").write_text("<root><TEXT>half")
    with pytest.raises(BuildError, match="is not XML"):
        build_emrqa(order(empty, tmp_path / "set5"))
