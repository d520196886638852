"""Diagnoses by group: on items written here, in the forms of several records."""

from __future__ import annotations

import pytest

from ehrqa_cli.concepts.diagnoses import by_code, narrowed, resolve
from ehrqa_cli.concepts.icd_codes import CodeIndex, shown, spans, versions_of
from ehrqa_cli.concepts.icd_titles import folded, lines
from ehrqa_cli.contracts.concepts import Concept, Item

NAMES = {
    "icd9|0389": "Unspecified septicemia",
    "icd9|99592": "Severe sepsis",
    "icd9|78552": "Septic shock",
    "icd9|7907": "Bacteremia",
    "icd10|a419": "Sepsis, unspecified organism",
    "icd10|r6521": "Severe sepsis with septic shock",
    "icd10|z8619": "Personal history of other infectious and parasitic diseases",
    "icd9|51881": "Acute respiratory failure",
    "icd10|j9611": "Chronic respiratory failure with hypoxia",
    "icd10|j9601": "Acute respiratory failure with hypoxia",
    "icd10|e1142": "Type 2 diabetes mellitus with diabetic polyneuropathy",
    "icd10|e1042": "Type 1 diabetes mellitus with diabetic polyneuropathy",
    "icd10|e119": "Type 2 diabetes mellitus without complications",
    "icd10|e1152": "Type 2 diabetes mellitus with diabetic peripheral angiopathy with gangrene",
    "icd9|25060": "Diabetes with neurological manifestations, type II or unspecified type",
    "icd9|25061": "Diabetes with neurological manifestations, type I [juvenile type]",
    "icd10|i8500": "Esophageal varices without bleeding",
    "icd10|i8501": "Esophageal varices with bleeding",
    "icd10|c9101": "Acute lymphoblastic leukemia, in remission",
    "icd10|c9100": "Acute lymphoblastic leukemia not having achieved remission",
    "icd10|z853": "Personal history of malignant neoplasm of breast",
    "icd10|z803": "Family history of malignant neoplasm of breast",
    "icd10|c50911": "Malignant neoplasm of unspecified site of right female breast",
    "icd9|e8889": "Unspecified fall",
    "icd10|h5500": "Unspecified nystagmus",
    "icd9|37950": "Nystagmus, unspecified",
}
# Right by the index of ICD-9-CM, where GEM goes to a coarser or another code.
GEM_HAS_OTHERS = {
    "acute chest syndrome",
    "amaurosis fugax",
    "necrosis of bone jaw",
    "respiratory distress",
    "hypertensive crisis",
    "interstitial nephritis",
    "type 2 diabetes with ketoacidosis",
    "hyperglycemia",
    "lactose intolerance",
    "history of self harm",
    "mesothelioma",
    "osteopenia",
    "stage 2 pressure ulcer",
    "stage 3 pressure ulcer",
    "stage 4 pressure ulcer",
    "adverse effect of anticoagulants",
    "adverse effect of chemotherapy",
    "adverse effect of opioids",
    "adverse effect of steroids",
}
RECORD = [Item("diagnoses_icd", "icd_code", code, name, rows=1) for code, name in NAMES.items()]


@pytest.fixture(scope="module")
def known() -> dict[str, list[Concept]]:
    """The concepts of the record by phrase."""
    return _by_phrase(resolve(RECORD))


def _by_phrase(concepts: list[Concept]) -> dict[str, list[Concept]]:
    found: dict[str, list[Concept]] = {}
    for concept in concepts:
        for phrase in concept.phrases:
            found.setdefault(phrase, []).append(concept)
    return found


def _codes(known: dict[str, list[Concept]], phrase: str) -> set[str]:
    (concept,) = known[phrase]
    return {str(item.code) for item in concept.items}


def test_a_group_has_both_versions_and_not_what_is_only_like_it(
    known: dict[str, list[Concept]],
) -> None:
    sepsis = {"icd9|0389", "icd9|99592", "icd9|78552", "icd10|a419", "icd10|r6521"}
    assert _codes(known, "sepsis") == sepsis
    assert _codes(known, "septic shock") == {"icd9|78552", "icd10|r6521"}
    assert _codes(known, "bacteremia") == {"icd9|7907"}
    assert _codes(known, "bacteraemia") == {"icd9|7907"}


def test_the_level_follows_the_phrase(known: dict[str, list[Concept]]) -> None:
    assert _codes(known, "type 2 diabetes with neuropathy") == {"icd10|e1142", "icd9|25060"}
    assert _codes(known, "t1dm") == {"icd10|e1042", "icd9|25061"}
    assert len(_codes(known, "diabetes")) == 6
    assert _codes(known, "chronic respiratory failure") == {"icd10|j9611"}


def test_history_family_and_remission_are_not_the_disease(known: dict[str, list[Concept]]) -> None:
    assert _codes(known, "breast cancer") == {"icd10|c50911"}
    assert _codes(known, "history of breast cancer") == {"icd10|z853"}
    assert _codes(known, "family history of breast cancer") == {"icd10|z803"}
    assert _codes(known, "leukemia") == {"icd10|c9100"}
    assert _codes(known, "leukaemia") == {"icd10|c9100"}


def test_without_is_not_with(known: dict[str, list[Concept]]) -> None:
    assert _codes(known, "variceal bleed") == {"icd10|i8501"}
    assert _codes(known, "esophageal varices") == {"icd10|i8501", "icd10|i8500"}


def test_a_group_that_does_not_occur_is_known_all_the_same(
    known: dict[str, list[Concept]],
) -> None:
    assert _codes(known, "gout") == set()


def test_two_live_meanings_of_a_phrase_are_both_given(known: dict[str, list[Concept]]) -> None:
    assert {c.name for c in known["arf"]} == {"acute respiratory failure", "acute kidney injury"}


def test_titles_are_joined_across_versions(known: dict[str, list[Concept]]) -> None:
    assert _codes(known, "nystagmus") == {"icd10|h5500", "icd9|37950"}


def test_a_phrase_of_parts_is_read_over_titles(known: dict[str, list[Concept]]) -> None:
    gangrene = narrowed("type 2 diabetes with gangrene", known, RECORD)
    assert gangrene and [i.code for i in gangrene.items] == ["icd10|e1152"]
    assert narrowed("type 2 diabetes with purple spots", known, RECORD) is None
    assert narrowed("type 2 diabetes without any trouble", known, RECORD) is None
    assert narrowed("green elephants", known, RECORD) is None


def test_a_title_that_does_not_occur_is_known_too(known: dict[str, list[Concept]]) -> None:
    rare = narrowed("tularemia", known, RECORD)
    assert rare and rare.items == ()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("J96.01", {"icd10|j9601"}),
        ("J96.*, 518.81", {"icd10|j9601", "icd10|j9611", "icd9|51881"}),
        ("250.6x", {"icd9|25060", "icd9|25061"}),
        ("E11", {"icd10|e119", "icd10|e1142", "icd10|e1152"}),
        ("icd10 E10-E13", {"icd10|e1042", "icd10|e119", "icd10|e1142", "icd10|e1152"}),
        ("E888.9", {"icd9|e8889"}),
        ("icd9 785", {"icd9|78552"}),
        ("K70.3", set()),
    ],
)
def test_codes_given_in_a_question(text: str, codes: set[str]) -> None:
    concept = by_code(text, RECORD)
    assert concept and {i.code for i in concept.items} == codes


@pytest.mark.parametrize("text", ["sepsis", "428", "2023", "a1c", "b12", "c diff", "12345", ""])
def test_what_is_no_code_is_left_to_others(text: str) -> None:
    assert by_code(text, RECORD) is None


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("icd9|v4582", ((9, "V4582"),)),
        ("icd10|v0010xa", ((10, "V0010XA"),)),
        ("250.00", ((9, "25000"),)),
        ("E11.9", ((10, "E119"),)),
        ("E888.9", ((9, "E8889"),)),
        ("E8600", ((9, "E8600"), (10, "E8600"))),
        ("428.0, I50.9", ((9, "4280"), (10, "I509"))),
        ("201826", ()),
        ("sepsis", ()),
    ],
)
def test_the_version_of_a_code(code: str, read: tuple[tuple[int, str], ...]) -> None:
    assert versions_of(code) == read


def test_a_code_of_two_versions_is_told_by_its_name() -> None:
    items = [
        Item("diagnoses_icd", "icd_code", "E8860", "Fall on same level in sports"),
        Item("diagnoses_icd", "icd_code", "E860", "Dehydration"),
        Item("diagnoses_icd", "icd_code", "I10", "Essential (primary) hypertension"),
    ]
    known = _by_phrase(resolve(items))
    assert _codes(known, "dehydration") == {"E860"}
    assert _codes(known, "fall") == {"E8860"}


def test_names_without_codes_of_icd() -> None:
    names = {
        201826: "Type 2 diabetes mellitus",
        28060: "Streptococcal sore throat",  # as ICD-9 it would be an anemia
        443767: "Retinopathy due to type 2 diabetes mellitus",
        40481087: "Viral sinusitis",
        4163735: "Hemorrhage of esophageal varices",
        4214956: "History of myocardial infarction",
        132797: "Sepsis",
        196236: "Septic shock",
    }
    items = [Item("condition_occurrence", "condition_concept_id", c, n) for c, n in names.items()]
    known = _by_phrase(resolve(items))
    assert _codes(known, "t2dm") == {"201826", "443767"}
    assert _codes(known, "diabetic retinopathy") == {"443767"}
    assert _codes(known, "anemia") == set()
    assert _codes(known, "sore throat") == {"28060"}
    assert _codes(known, "sinusitis") == {"40481087"}
    assert _codes(known, "heart attack") == set()
    assert _codes(known, "history of mi") == {"4214956"}
    assert _codes(known, "sepsis") == {"132797", "196236"}
    assert _codes(known, "variceal bleeding") == {"4163735"}


def test_patterns_are_read_and_shown() -> None:
    assert spans("250.4[02] !A40-A41") == [
        ("25040", "25040", False),
        ("25042", "25042", False),
        ("A40", "A41", True),
    ]
    assert shown("J96 518.81-518.84 !J96.2") == "J96.*, 518.81-518.84, not J96.2"
    with pytest.raises(ValueError, match="no pattern"):
        spans("J96,J97")


def test_the_groups_are_of_codes_that_exist_and_agree_across_versions() -> None:
    """Of each group with both versions, GEM takes some ICD-9 code into its ICD-10 codes."""
    pairs = [(nine, ten) for nine, tens in lines("gem.tsv") for ten in tens.split()]
    items = {code: Item("diagnoses_icd", "icd_code", code, "") for pair in pairs for code in pair}
    index = CodeIndex((v, pair[v == 10], items[pair[v == 10]]) for v in (9, 10) for pair in pairs)
    wrong = []
    for line in lines("diagnoses.tsv"):
        named, ten, nine = (*line, "", "")[:3]
        if ten and nine:
            tens, nines = index.codes(10, ten), index.codes(9, nine)
            if not any(a in nines and b in tens for a, b in pairs):
                wrong.append(named.split(" | ")[0])
    assert set(wrong) == GEM_HAS_OTHERS


def test_a_phrase_of_the_groups_means_one_thing_or_is_known_to_mean_two() -> None:
    seen: dict[str, list[str]] = {}
    for line in lines("diagnoses.tsv"):
        for phrase in line[0].split(" | "):
            assert phrase == " ".join(phrase.lower().split())
            seen.setdefault(folded(phrase), []).append(line[0].split(" | ")[0])
    assert {p for p, names in seen.items() if len(set(names)) > 1} == {"arf", "chd"}
