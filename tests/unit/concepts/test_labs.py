"""Laboratory tests: one concept for each analyte and specimen."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from ehrqa_cli.concepts import labs
from ehrqa_cli.concepts.lab_names import read
from ehrqa_cli.contracts.concepts import Concept, Item


def lab(
    code: int, name: str, specimen: str = "", category: str = "Chemistry", rows: int = 10
) -> Item:
    return Item("labevents", "itemid", code, name, specimen, category if specimen else "", "", rows)


RECORD = [
    lab(1, "Glucose", "Blood", rows=50),
    lab(2, "Glucose", "Blood", "Blood Gas", rows=900),
    lab(3, "Glucose", "Urine", "Hematology", rows=300),
    lab(4, "Glucose, CSF", "Cerebrospinal Fluid"),
    lab(5, "pH", "Blood", "Blood Gas", rows=90),
    lab(6, "pH", "Urine", "Hematology", rows=400),
    lab(7, "Calcium, Total", "Blood"),
    lab(8, "Free Calcium", "Blood", "Blood Gas"),
    lab(9, "Bilirubin, Direct", "Blood", rows=80),
    lab(10, "Bilirubin, Total", "Blood"),
    lab(11, "Hemoglobin", "Blood", "Hematology"),
    lab(12, "% Hemoglobin A1c", "Blood", rows=70),
    lab(13, "Troponin T", "Blood", rows=5),
    lab(14, "Troponin I", "Blood", rows=7),
    lab(15, "Nitrite", "Urine", "Hematology"),
    lab(16, "Leukocytes", "Urine", "Hematology", rows=500),
    lab(17, "White Blood Cells", "Blood", "Hematology"),
    lab(18, "WBC, CSF", "Cerebrospinal Fluid", "Hematology"),
    lab(19, "NTproBNP", "Blood"),
    lab(20, "Blood", "Urine", "Hematology"),
    lab(21, "Potassium, Whole Blood", "Blood", "Blood Gas"),
    lab(22, "Potassium", "Blood"),
    lab(23, "Protein, Total", "Blood"),
    lab(24, "Zorbase", "Pleural"),
]


def found(phrase: str, items: list[Item] | None = None) -> list[Concept]:
    made = labs.resolve(RECORD if items is None else items)
    return [concept for concept in made if phrase in concept.phrases]


def codes(phrase: str, items: list[Item] | None = None) -> list[list[int | str]]:
    return [[item.code for item in concept.items] for concept in found(phrase, items)]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("glucose", [1, 2]),  # blood; the blood gas last, however frequent
        ("blood sugar", [1, 2]),
        ("urine glucose", [3]),
        ("glucose in urine", [3]),
        ("csf glucose", [4]),
        ("pleural fluid glucose", []),  # known, and not here: it is not the blood's
        ("ph", [5]),
        ("arterial ph", [5]),
        ("urine ph", [6]),
        ("calcium", [7]),
        ("ionized calcium", [8]),
        ("bilirubin", [10]),
        ("direct bili", [9]),
        ("hemoglobin", [11]),
        ("a1c", [12]),
        ("troponin", [13, 14]),
        ("trop i", [14]),
        ("nitrite", [15]),  # only in urine
        ("wbc", [17]),
        ("leukocyte esterase", [16]),
        ("csf wbc", [18]),
        ("bnp", [19]),
        ("whole blood potassium", [21]),
        ("protein", [23]),
        ("pleural zorbase", [24]),
        ("zorbase", [24]),
        ("rivanate", None),
    ],
)
def test_a_phrase_means_an_analyte_in_a_specimen(phrase: str, expected: list[int] | None) -> None:
    assert codes(phrase) == ([] if expected is None else [expected])


def test_of_an_unmarked_name_only_the_first_item_is_meant() -> None:
    (glucose,) = found("glucose")
    assert glucose.alone
    assert [item.code for item in labs.meant(glucose.items)] == [1]
    (troponin,) = found("troponin")
    assert not troponin.alone


def test_serum_and_blood_are_one_test_in_loinc_names() -> None:
    record = [
        lab(1, "Glucose [Mass/volume] in Blood", rows=9),
        lab(2, "Glucose [Mass/volume] in Serum or Plasma", rows=5),
        lab(3, "Glucose [Moles/volume] in Blood", rows=4),
        lab(4, "Glucose [Mass/volume] in Arterial blood", rows=99),
    ]
    (glucose,) = found("glucose", record)
    assert [item.code for item in labs.meant(glucose.items)] == [1, 2]


def test_the_commonest_item_of_blood_goes_first() -> None:
    record = [lab(1, "WBC Count", "Blood", "Hematology", 3), lab(2, "Leukocytes", "Blood", rows=9)]
    assert codes("white count", record) == [[2, 1]]


def test_a_blood_gas_is_meant_where_blood_has_nothing_else() -> None:
    assert codes("sodium", [lab(1, "Sodium, Whole Blood", "Blood", "Blood Gas")]) == [[1]]


def test_an_analyte_of_several_fluids_and_not_of_its_home_is_asked_back() -> None:
    record = [lab(1, "Albumin, Ascites", "Ascites"), lab(2, "Albumin, Pleural", "Pleural")]
    assert sorted(codes("albumin", record)) == [[1], [2]]


def test_a_name_of_one_specimen_only_is_no_phrase() -> None:
    assert not found("blood")
    assert codes("urine blood") == [[20]]


def test_no_two_concepts_share_a_phrase_here() -> None:
    phrases = [phrase for concept in labs.resolve(RECORD) for phrase in concept.phrases]
    twice = [phrase for phrase, count in Counter(phrases).items() if count > 1]
    assert not twice


def test_a_panel_has_what_is_meant_by_its_parts() -> None:
    (panel,) = found("bmp")
    assert [item.code for item in panel.items] == [22, 1, 7]
    assert not panel.alone


@pytest.mark.parametrize(
    ("name", "analyte", "specimen"),
    [
        ("Glucose [Mass/volume] in Serum or Plasma", "glucose", "blood"),
        ("Glucose [Presence] in Urine by Test strip", "glucose", "urine"),
        ("Hemoglobin A1c/Hemoglobin.total in Blood", "hemoglobin a1c", "blood"),
        ("Calcium.ionized [Moles/volume] in Blood", "ionized calcium", "blood"),
        (
            "Lymphocytes [#/volume] in Blood by Automated count",
            "absolute lymphocyte count",
            "blood",
        ),
        ("Lymphocytes/100 leukocytes in Blood", "lymphocytes", "blood"),
        ("Oxygen [Partial pressure] in Arterial blood", "po2", "gas"),
        ("Cholesterol in LDL [Mass/volume] in Serum or Plasma", "ldl cholesterol", "blood"),
        ("Carbon dioxide, total [Moles/volume] in Blood", "bicarbonate", "blood"),
        ("Leukocytes [#/area] in Urine sediment by Microscopy", "white blood cells", "urine"),
        ("WBC x 1000", "white blood cells", ""),
        ("urinary sodium", "sodium", "urine"),
        ("protein - CSF", "total protein", "csf"),
        ("Haemoglobin", "hemoglobin", ""),
        ("Honey bee IgE Ab [Units/volume] in Serum", "", "blood"),
    ],
)
def test_names_are_read_for_analyte_and_specimen(name: str, analyte: str, specimen: str) -> None:
    assert read(lab(1, name))[:2] == (analyte, specimen)


def test_a_vital_sign_among_measurements_is_no_lab() -> None:
    made = labs.resolve([lab(1, "Body mass index (BMI) [Ratio]"), lab(2, "Heart rate")])
    assert not [concept for concept in made if concept.items]


def test_five_thousand_items_are_quick() -> None:
    record = [lab(code, f"Substance {code} [Mass/volume] in Urine") for code in range(5000)]
    start = time.process_time()
    labs.resolve(record)
    assert time.process_time() - start < 4
