"""Names of a question as the concepts of a made-up record: which items are meant."""

from __future__ import annotations

import pytest

from ehrqa_cli.concepts.catalog import KIND_OF
from ehrqa_cli.concepts.meaning import build
from ehrqa_cli.contracts.concepts import Item
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker


def _lab(code: int, name: str, specimen: str, category: str, unit: str, rows: int) -> Item:
    return Item("labevents", "itemid", code, name, specimen, category, unit, rows)


def _named(table: str, column: str, *names: str) -> list[Item]:
    return [Item(table, column, name, name, rows=9) for name in names]


ITEMS = (
    _lab(1, "glucose", "blood", "chemistry", "mg/dl", 90),
    _lab(2, "glucose", "urine", "hematology", "mg/dl", 300),
    _lab(3, "ph", "blood", "blood gas", "units", 90),
    _lab(4, "ph", "urine", "hematology", "units", 400),
    _lab(5, "potassium", "blood", "chemistry", "meq/l", 400),
    _lab(6, "temperature", "blood", "blood gas", "", 200),
    *_named("prescriptions", "drug", "potassium chloride", "aspirin", "ibuprofen"),
    *_named("emar", "medication", "potassium chloride"),
    Item("inputevents", "itemid", 10, "potassium chloride", unit="meq", rows=30),
    Item("inputevents", "itemid", 11, "nacl 0.9%", unit="ml", rows=30),
    Item("diagnoses_icd", "icd_code", "icd10|a419", "sepsis, unspecified organism"),
    Item("diagnoses_icd", "icd_code", "icd9|99591", "sepsis"),
    Item("diagnoses_icd", "icd_code", "icd10|i5032", "chronic diastolic heart failure"),
    Item("diagnoses_icd", "icd_code", "icd10|i5031", "acute diastolic heart failure"),
    Item("outputevents", "itemid", 20, "foley", unit="ml", rows=90),
    Item("outputevents", "itemid", 21, "void", unit="ml", rows=60),
    Item("chartevents", "itemid", 30, "admission weight (kg)", unit="kg", rows=60),
    Item("chartevents", "itemid", 31, "admission weight (lbs.)", unit="lbs", rows=60),
    Item("chartevents", "itemid", 32, "temperature celsius", unit="°c", rows=60),
    *_named("microbiologyevents", "ab_name", "oxacillin", "vancomycin"),
    *_named("microbiologyevents", "org_name", "staph aureus coag +"),
    *_named("admissions", "race", "black/african american"),
    *_named("admissions", "discharge_location", "home", "against advice"),
    *_named("services", "curr_service", "cmed"),
)
_BY_MODEL = {"race", "service", "antibiotic"}  # what no model reads is in no index of values


@pytest.fixture(scope="module")
def linker() -> Linker:
    strings: dict[str, tuple[str, ...]] = {}
    for item in ITEMS:
        kind = KIND_OF[item.table, item.column]
        if kind not in _BY_MODEL:
            strings[kind] = tuple(dict.fromkeys((*strings.get(kind, ()), item.name)))
    return Linker(ValueIndex(strings), build(ITEMS))


def _meant(linked: LinkedQuestion) -> list[tuple[str, set[object]]]:
    """Kind and codes of each concept, in order."""
    links = (*linked.links, *linked.restrictions)
    return [
        (x.types[0], {i.code for c in x.concepts for i in c.items}) for x in links if x.concepts
    ]


@pytest.mark.parametrize(
    ("question", "text", "meant"),
    [
        ("last glucose", "last <lab>#1", [("lab", {1})]),
        ("last urine glucose", "last <lab>#1", [("lab", {2})]),
        ("last pH", "last <lab>#1", [("lab", {3})]),
        ("how many had sepsis?", "how many had <dx>#1?", [("dx", {"icd10|a419", "icd9|99591"})]),
        ("who had acute heart failure?", "who had <dx>#1?", [("dx", {"icd10|i5031"})]),
        ("who had heart failure?", "who had <dx>#1?", [("dx", {"icd10|i5031", "icd10|i5032"})]),
        ("total urine output", "total <output>#1", [("output", {20, 21})]),
        ("patients discharged home", "patients discharged <dischloc>#1", [("dischloc", {"home"})]),
        (
            "patients who left against medical advice",
            "patients who left <dischloc>#1",
            [("dischloc", {"against advice"})],
        ),
    ],
)
def test_a_name_is_a_set_of_items(
    linker: Linker, question: str, text: str, meant: list[tuple[str, set[object]]]
) -> None:
    linked = linker.link(question)
    assert (linked.text, _meant(linked)) == (text, meant)


@pytest.mark.parametrize(
    ("question", "kind", "tables"),
    [
        ("who was given potassium?", "drug", {"emar", "inputevents"}),
        ("who was ordered potassium?", "drug", {"prescriptions"}),
        ("who was on potassium chloride?", "drug", {"prescriptions", "emar", "inputevents"}),
        ("potassium chloride infused", "intake", {"inputevents"}),
        ("potassium below 3", "lab", {"labevents"}),
        ("last potassium", "lab", {"labevents"}),
    ],
)
def test_what_counts_is_said_by_the_words_around(
    linker: Linker, question: str, kind: str, tables: set[str]
) -> None:
    (link,) = [link for link in linker.link(question).links if link.concepts]
    assert link.types == (kind,)
    assert {item.table for item in link.concepts[0].items} == tables


def test_what_was_given_is_read_as_prescribed(linker: Linker) -> None:
    assert linker.link("who was given potassium?").text == "who was prescribed <drug>#1?"


@pytest.mark.parametrize("question", ["a temperature over 39", "the last temperature"])
def test_a_vital_sign_is_no_lab_of_the_same_name(linker: Linker, question: str) -> None:
    assert _meant(linker.link(question)) == [("vital", {32})]


def test_a_lab_of_that_name_is_meant_where_it_is_called_one(linker: Linker) -> None:
    assert _meant(linker.link("last temperature level")) == [("lab", {6})]


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("who had sepsis (septicemia)?", {"icd10|a419", "icd9|99591"}),
        ("who had any kind of sepsis?", {"icd10|a419", "icd9|99591"}),
        ("who was on NSAIDs other than aspirin?", {"ibuprofen"}),
        ("who was on NSAIDs including aspirin?", {"aspirin", "ibuprofen"}),
    ],
)
def test_names_that_stand_together_are_one(
    linker: Linker, question: str, codes: set[object]
) -> None:
    linked = linker.link(question)
    assert linked.text.endswith("#1?")
    assert [meant for _, meant in _meant(linked)] == [codes]


def test_two_names_that_share_nothing_stay_two(linker: Linker) -> None:
    found = _meant(linker.link("who had sepsis or heart failure?"))
    assert [len(codes) for _, codes in found] == [2, 2]


def test_what_does_not_occur_is_meant_all_the_same(linker: Linker) -> None:
    linked = linker.link("how many patients had a stroke?")
    assert linked.unknown == ()
    assert [(c.name, c.items) for x in linked.links for c in x.concepts] == [("stroke", ())]


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("glucose over 11.1 mmol/L", "<lab>#1 over <num>#2", 199.973),
        ("potassium over 4 mmol/l", "<lab>#1 over <num>#2", 4.0),
        ("glucose over 200", "<lab>#1 over <num>#2", 200),
        ("glucose of 10-11.1 mmol/L", "<lab>#1 of <num>#2-<num>#3", 180.156),
        ("a temperature above 100.4 F", "a <vital>#1 above <num>#2", 38.0),
        ("urine output over 1.5 l", "<output>#1 over <num>#2", 1500.0),
    ],
)
def test_a_number_is_in_the_unit_of_the_record(
    linker: Linker, question: str, text: str, value: float
) -> None:
    linked = linker.link(question)
    assert linked.text == text
    assert linked.links[1].value == pytest.approx(value)
    assert linked.unknown == ()


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("who had a41.9?", [{"icd10|a419"}]),
        ("who had 995.91?", [{"icd9|99591"}]),
        ("who had icd-9 code 995.91?", [{"icd9|99591"}]),
        ("the last temperature, 995.91", [{32}]),
        ("glucose over 995.91", [{1}]),
        ("who had 995.91 mg/dl?", []),
    ],
)
def test_a_code_is_a_diagnosis_and_a_value_is_none(
    linker: Linker, question: str, codes: list[set[object]]
) -> None:
    assert [found for _, found in _meant(linker.link(question))] == codes


def test_a_unit_that_cannot_be_converted_is_told(linker: Linker) -> None:
    linked = linker.link("glucose over 5 kg")
    assert (linked.links[1].value, linked.unknown) == (5, (("unit", "5 kg"),))


@pytest.mark.parametrize(("unit", "code"), [("pounds", 31), ("kg", 30)])
def test_a_value_asked_in_a_unit_is_of_the_items_with_it(
    linker: Linker, unit: str, code: int
) -> None:
    linked = linker.link(f"the last weight in {unit}")
    assert (linked.text, _meant(linked)) == ("the last <vital>#1", [("vital", {code})])


@pytest.mark.parametrize(
    ("question", "text", "kind", "codes"),
    [
        ("how many black patients had sepsis?", "how many <race>#1 patients had <dx>#2?",
         "race", {"black/african american"}),
        ("which patients are black?", "which patients are <race>#1?",
         "race", {"black/african american"}),
        ("patients under the cardiology service", "patients under the <service>#1", "service",
         {"cmed"}),
        ("staph aureus resistant to oxacillin", "<organism>#1 resistant to <drug>#2", "antibiotic",
         {"oxacillin"}),
        ("staph aureus sensitive to vancomycin", "<organism>#1 sensitive to <drug>#2", "antibiotic",
         {"vancomycin"}),
    ],
)  # fmt: skip
def test_a_name_that_the_words_beside_it_tell_apart(
    linker: Linker, question: str, text: str, kind: str, codes: set[object]
) -> None:
    linked = linker.link(question)
    assert linked.text == text
    (found,) = [c for x in linked.links for c in x.concepts if c.kind == kind]
    assert {item.code for item in found.items} == codes


def test_an_organism_that_is_called_resistant(linker: Linker) -> None:
    linked = linker.link("oxacillin resistant staph aureus")
    assert linked.text == "<organism>#1"
    assert [link.types for link in linked.restrictions] == [("resistant",)]


def test_outside_of_any_visit(linker: Linker) -> None:
    linked = linker.link("last glucose of this patient outside of any admission")
    assert "admission" not in linked.text
    assert [link.types for link in linked.restrictions] == [("outside",)]
    during = linker.link("last glucose of this patient during any admission")
    assert during.restrictions == ()


def test_no_is_not_said_of_what_is_called_so_elsewhere() -> None:
    """No pacemaker was put in here, and yet somebody has one."""
    there = (
        Item("diagnoses_icd", "icd_code", "icd10|z950", "presence of cardiac pacemaker", rows=3),
        Item("procedures_icd", "icd_code", "icd10|0dj08zz", "inspection of upper intestinal tract"),
    )
    strings = {KIND_OF[item.table, item.column]: (item.name,) for item in there}
    linked = Linker(ValueIndex(strings), build(there)).link("how many patients had a pacemaker?")
    assert [kind for kind, _ in linked.unknown] == ["ambiguous"]
