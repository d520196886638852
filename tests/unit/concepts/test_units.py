"""Units: spellings, conversions, and units in a question."""

from __future__ import annotations

import pytest

from ehrqa_cli.concepts.units import convert, find_unit, same


@pytest.mark.parametrize(
    ("value", "unit", "to", "analyte", "expected"),
    [
        (11.1, "mmol/L", "mg/dL", "glucose", 200.0),
        (200, "umol/l", "mg/dl", "creatinine", 2.26),
        (7, "mmol/L", "mg/dL", "BUN", 19.6),
        (2.5, "mmol/L", "mg/dL", "calcium", 10.0),
        (1, "mmol/L", "mg/dL", "magnesium", 2.43),
        (1.5, "mmol/L", "mg/dL", "phosphate", 4.65),
        (34.2, "umol/L", "mg/dL", "total bilirubin", 2.0),
        (5.2, "mmol/L", "mg/dL", "cholesterol", 201.0),
        (1.7, "mmol/L", "mg/dL", "triglycerides", 150.6),
        (4, "mEq/L", "mmol/L", "potassium", 4.0),
        (4, "mEq/L", "mmol/L", "calcium", 2.0),
        (140, "mmol/L", "mEq/L", "sodium, urine", 140.0),
        (13, "g/dL", "g/L", "", 130.0),
        (100.4, "F", "°C", "", 38.0),
        (38, "C", "F", "", 100.4),
        (220, "lbs", "kg", "", 99.79),
        (70, "inches", "cm", "", 177.8),
        (10, "kPa", "mm Hg", "", 75.0),
        (500, "cells/mm3", "K/uL", "", 0.5),
        (50, "10^9/L", "K/uL", "", 50.0),
        (1.5, "g", "mg", "", 1500.0),
        (100, "ml/hr", "l/day", "", 2.4),
        (5, "mcg/kg/min", "mg/kg/hr", "", 0.3),
        (6.5, "%", "mmol/mol", "a1c", 47.5),
    ],
)
def test_a_value_is_converted(
    value: float, unit: str, to: str, analyte: str, expected: float
) -> None:
    assert convert(value, unit, to, analyte) == pytest.approx(expected, rel=0.003)


@pytest.mark.parametrize(
    ("unit", "to", "analyte"),
    [
        ("mmol/L", "mg/dL", ""),
        ("mmol/L", "mg/dL", "c reactive protein"),
        ("mEq/L", "mmol/L", ""),  # equivalents of what?
        ("mEq/L", "mmol/L", "phosphate"),  # laboratories do not agree on its charge
        ("mg", "ml", "glucose"),
        ("mg/dL", "mg/g", "albumin"),
        ("%", "mmol/mol", "glucose"),
        ("ng/mL FEU", "ng/mL", "d dimer"),
        ("zorb", "mg", ""),
    ],
)
def test_what_cannot_be_told_is_not_converted(unit: str, to: str, analyte: str) -> None:
    assert convert(1, unit, to, analyte) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MEQ/L", "mEq/L"), ("U/L", "IU/L"), ("K/uL", "x10^9/L"), ("mcg/mL", "mg/L"),
        ("mm Hg", "mmHg"), ("insp/min", "/min"), ("µg/dL", "ug/dL"), ("zorb", "Zorb "),
    ],
)  # fmt: skip
def test_spellings_of_one_unit_are_the_same(first: str, second: str) -> None:
    assert same(first, second)


def test_units_that_differ_are_not_the_same() -> None:
    assert not same("mg/dL", "mmol/L")
    assert not same("mg", "g")
    assert not same("mg", "")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("11.1 mmol/L today", "mmol/l"),
        ("180 mg per dl", "mg/dl"),
        ("38.5°C", "°c"),
        ("90% on air", "%"),
        ("50k", "k"),
        ("5-mg dose", "mg"),
        ("130 mm hg", "mm hg"),
        ("5 mcg/kg/min", "mcg/kg/min"),
        ("12 x10^9/L", "x10^9/l"),
        ("20 per hpf", "/hpf"),
        ("5 per day", None),
        ("5 in the last week", None),
        ("5 mildly", None),
        ("7.2 or more", None),
    ],
)
def test_a_unit_is_found_behind_a_number(text: str, unit: str | None) -> None:
    start = next(place for place, sign in enumerate(text) if sign not in "0123456789.")
    found = find_unit(text, start)
    assert (found[0] if found else None) == unit


def test_a_unit_ends_where_its_last_letter_does() -> None:
    assert find_unit("over 180 mg per dl.", 8) == ("mg/dl", 18)
