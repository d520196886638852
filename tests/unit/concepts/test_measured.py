"""Vital signs, outputs and intake: their members in a record."""

from __future__ import annotations

import pytest

from ehrqa_cli.concepts import measured
from ehrqa_cli.contracts.concepts import Item


def item(table: str, name: str, unit: str = "") -> Item:
    column = "result_name" if table == "omr" else "itemid"
    return Item(table, column, name, name, unit=unit, rows=1)


RECORD = [
    *(item("chartevents", name) for name in (
        "Heart Rate", "Temperature Celsius", "Temperature Fahrenheit", "Daily Weight",
        "Non Invasive Blood Pressure systolic", "Arterial Blood Pressure systolic",
        "Arterial Blood Pressure mean", "Respiratory Rate", "Respiratory Rate (Set)",
        "O2 saturation pulseoxymetry", "Height (cm)", "Zorb Index", "Hemoglobin")),
    *(item("omr", name) for name in (
        "Weight (Lbs)", "Height (Inches)", "BMI (kg/m2)", "Blood Pressure")),
    *(item("outputevents", name, "mL") for name in (
        "Foley", "Void", "R Nephrostomy", "OR Urine", "GU Irrigant/Urine Volume Out",
        "GU Irrigant Volume In", "Chest Tube #1", "Chest Tube #2", "Jackson Pratt #1", "Stool",
        "Emesis", "Nasogastric", "OR EBL")),
    *(item("inputevents", name, "mL") for name in (
        "NaCl 0.9%", "LR", "Packed Red Blood Cells", "OR Packed RBC Intake", "Platelets",
        "Fresh Frozen Plasma", "Jevity 1.5 (Full)", "TPN w/ Lipids", "PO Intake", "KCL (Bolus)")),
    item("inputevents", "Propofol", "mg"),
]  # fmt: skip


def members(kind: str, phrase: str) -> list[set[str]]:
    return [
        {one.name for one in concept.items}
        for concept in measured.resolve(RECORD)
        if concept.kind == kind and phrase in concept.phrases
    ]


@pytest.mark.parametrize(
    ("kind", "phrase", "expected"),
    [
        ("vital", "pulse", {"Heart Rate"}),
        ("vital", "temp", {"Temperature Celsius", "Temperature Fahrenheit"}),
        ("vital", "weight", {"Daily Weight", "Weight (Lbs)"}),
        ("vital", "height", {"Height (cm)", "Height (Inches)"}),
        ("vital", "bmi", {"BMI (kg/m2)"}),
        ("vital", "respiratory rate", {"Respiratory Rate"}),
        ("vital", "spo2", {"O2 saturation pulseoxymetry"}),
        ("vital", "map", {"Arterial Blood Pressure mean"}),
        ("vital", "sbp", {
            "Non Invasive Blood Pressure systolic", "Arterial Blood Pressure systolic"}),
        ("vital", "cuff systolic", {"Non Invasive Blood Pressure systolic"}),
        ("vital", "cvp", set()),
        ("vital", "zorb index", {"Zorb Index"}),
        ("vital", "charted hemoglobin", {"Hemoglobin"}),
        ("output", "urine output", {"Foley", "Void", "R Nephrostomy", "OR Urine"}),
        ("output", "foley", {"Foley"}),
        ("output", "right nephrostomy", {"R Nephrostomy"}),
        ("output", "chest tube", {"Chest Tube #1", "Chest Tube #2"}),
        ("output", "second chest tube", {"Chest Tube #2"}),
        ("output", "ebl", {"OR EBL"}),
        ("output", "ng output", {"Nasogastric"}),
        ("intake", "prbcs", {"Packed Red Blood Cells", "OR Packed RBC Intake"}),
        ("intake", "crystalloids", {"NaCl 0.9%", "LR"}),
        ("intake", "tube feeds", {"Jevity 1.5 (Full)"}),
        ("intake", "jevity 1 5", {"Jevity 1.5 (Full)"}),
        ("intake", "lipids", set()),
        ("intake", "blood products", {
            "Packed Red Blood Cells", "OR Packed RBC Intake", "Platelets", "Fresh Frozen Plasma"}),
    ],
)  # fmt: skip
def test_a_phrase_has_its_items(kind: str, phrase: str, expected: set[str]) -> None:
    assert members(kind, phrase) == [expected]


def test_total_intake_is_what_is_counted_in_ml() -> None:
    (total,) = members("intake", "total intake")
    assert "Propofol" not in total
    assert len(total) == 10


def test_a_drug_is_no_fluid() -> None:
    assert members("intake", "propofol") == []
    assert members("intake", "kcl") == []


def test_a_charted_lab_is_not_what_its_bare_name_means() -> None:
    assert members("vital", "hemoglobin") == []


def test_total_output_is_every_item() -> None:
    (total,) = members("output", "total output")
    assert len(total) == 13


@pytest.mark.parametrize(
    ("name", "specimen", "takes"),
    [
        ("Body weight", "", True),
        ("Oxygen saturation in Arterial blood by Pulse oximetry", "", True),
        ("Oxygen saturation in Arterial blood", "", False),
        ("Temperature", "Blood", False),
        ("Glucose [Mass/volume] in Blood", "", False),
    ],
)
def test_vital_signs_are_told_from_labs(name: str, specimen: str, takes: bool) -> None:
    assert measured.takes(Item("labevents", "itemid", 1, name, specimen)) is takes
