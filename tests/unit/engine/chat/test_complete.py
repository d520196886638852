"""Completion of the question line."""

from __future__ import annotations

import time

import pytest

from ehrqa_cli.engine.chat.complete import Completer

STRINGS = {
    "lab": ("creatinine", "creatinine, urine", "platelet count", "sodium"),
    "drug": ("heparin", "Sodium Chloride 0.9%"),
    "dx": ("acute kidney failure, unspecified", "chronic kidney disease, stage 3"),
    "intake": ("heparin",),
    "abbrev": ("hep",),
}


@pytest.fixture(scope="module")
def completer() -> Completer:
    return Completer(STRINGS, [10018081, 10014729, 205])


def applied(completer: Completer, line: str, cursor: int | None = None) -> list[str]:
    return [found.apply(line) for found in completer.complete(line, cursor)]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("last crea", ["last creatinine", "last creatinine, urine"]),
        ("last CREA", ["last creatinine", "last creatinine, urine"]),
        ("how many patients had hep", ["how many patients had heparin"]),
        ("acute kid", ["acute kidney failure, unspecified"]),
        ("kid", ["chronic kidney disease, stage 3", "acute kidney failure, unspecified"]),
        ("count", ["platelet count"]),
        ("what about sodium chl", ["what about Sodium Chloride 0.9%"]),
        ("(hep", ["(heparin"]),
        ("patient 1001", ["patient 10014729", "patient 10018081"]),
        ("patient #2", ["patient #205"]),
        ("", []),
        ("last ", []),
        ("h", []),
        ("the", []),
        ("heparin", []),
        ("9", []),
    ],
)
def test_a_beginning_becomes_what_the_database_has(
    completer: Completer, line: str, wanted: list[str]
):
    assert applied(completer, line) == wanted


def test_the_cursor_may_stand_inside_the_line(completer: Completer):
    assert applied(completer, "last crea of 205", 9)[0] == "last creatinine of 205"
    assert completer.complete("last crea", 99) == completer.complete("last crea")


def test_kinds_are_words_for_people(completer: Completer):
    assert {found.kind for found in completer.complete("hep")} == {"drug"}
    assert completer.complete("acute")[0].kind == "diagnosis"
    assert completer.complete("1001")[0].kind == "patient"


def test_patients_by_their_beginning(completer: Completer):
    assert completer.patients() == (10014729, 10018081, 205)
    assert completer.patients("1001", limit=1) == (10014729,)
    assert completer.patients("x") == ()


def test_sixty_thousand_beginnings_are_quick_enough():
    words = ["acute", "chronic", "renal", "failure", "of", "left", "right", "artery"]
    many = tuple(f"{words[n % 8]} {words[n % 7]} {words[n % 5]} number {n}" for n in range(15_000))
    completer = Completer({"dx": many})
    for line in ("ac", "chronic re", "num", "number 14", "what about acute chronic"):
        started = time.perf_counter()
        completer.complete(line)
        # The bound is for a machine at work on other things; it takes under 2 ms.
        assert time.perf_counter() - started < 0.25
    assert completer.complete("number 14999")[0].text.endswith("number 14999")


def test_nothing_to_complete_from_is_no_fault():
    assert Completer({}).complete("hep") == ()
