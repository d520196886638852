"""One unit for each item."""

from __future__ import annotations

from ehrqa_cli.sets.prepare.units import Units


def test_the_commonest_unit_is_kept() -> None:
    units = Units({"labevents": {"7": {"mg/dl": 5, "mmol/l": 9}, "8": {"": 4, "%": 4}, "9": {
        "b": 2, "a": 2}}})  # fmt: skip
    assert units.kept("labevents") == {"7": "mmol/l", "8": "%", "9": "a"}
    assert units.kept("chartevents") == {}
    assert list(units.lines())[1:3] == ["labevents\t7\tmg/dl\t5\t0", "labevents\t7\tmmol/l\t9\t1"]


def test_values_without_a_unit_stay_where_they_are_the_most() -> None:
    assert Units({"labevents": {"7": {"": 9, "mg/dl": 2}}}).kept("labevents") == {"7": ""}
