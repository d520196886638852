from __future__ import annotations

import pytest

from ehrqa_cli.concepts import namewords, places
from ehrqa_cli.contracts.concepts import Concept, Item

GOING = (
    "HOME",
    "HOME HEALTH CARE",
    "SKILLED NURSING FACILITY",
    "REHAB",
    "HOSPICE-HOME",
    "DIED",
    "LEFT AGAINST MEDICAL ADVI",
    "Nursing Home",
)
UNITS = (
    "Medical Intensive Care Unit (MICU)",
    "Medical/Surgical Intensive Care Unit (MICU/SICU)",
    "Surgical Intensive Care Unit (SICU)",
    "Coronary Care Unit (CCU)",
    "Neuro Surgical Intensive Care Unit (Neuro SICU)",
    "Trauma SICU (TSICU)",
    "Neuro Stepdown",
    "Medicine",
    "Oak Wing (OW)",
)
RACES = ("WHITE", "WHITE - RUSSIAN", "HISPANIC/LATINO - CUBAN", "Not Hispanic or Latino", "UNKNOWN")


def values(column: str, names: tuple[str, ...]) -> list[Item]:
    return [Item("admissions", column, name, name, rows=1) for name in names]


def meant(concepts: list[Concept], phrase: str) -> list[set[str | int]]:
    return [{i.code for i in c.items} for c in concepts if phrase in c.phrases and c.items]


@pytest.mark.parametrize(
    ("phrase", "codes"),
    [
        ("discharged home", {"HOME", "HOME HEALTH CARE"}),
        ("home without services", {"HOME"}),
        ("snf", {"SKILLED NURSING FACILITY", "Nursing Home"}),
        ("hospice", {"HOSPICE-HOME"}),
        ("ama", {"LEFT AGAINST MEDICAL ADVI"}),
        ("in hospital death", {"DIED"}),
        ("rehab", {"REHAB"}),
    ],
)
def test_where_people_go(phrase, codes):
    assert meant(places.resolve(values("discharge_location", GOING)), phrase) == [codes]


@pytest.mark.parametrize(
    ("phrase", "codes"),
    [
        ("icu", set(UNITS[:6])),
        ("micu", {UNITS[0]}),
        ("micu sicu", {UNITS[1]}),
        ("sicu", {UNITS[2]}),
        ("nsicu", {UNITS[4]}),
        ("step down", {UNITS[6]}),
        ("oak wing ow", {UNITS[8]}),
        ("ow", {UNITS[8]}),
    ],
)
def test_units(phrase, codes):
    assert meant(places.resolve(values("careunit", UNITS)), phrase) == [codes]


def test_a_value_is_a_concept_of_its_own_only_where_no_line_has_it_alone():
    made = [c.name for c in places.resolve(values("careunit", UNITS)) if c.source == "this record"]
    assert made == ["oak wing ow"]


@pytest.mark.parametrize(
    ("phrase", "codes"),
    [
        ("white", {"WHITE", "WHITE - RUSSIAN"}),
        ("russian", {"WHITE - RUSSIAN"}),
        ("hispanic", {"HISPANIC/LATINO - CUBAN"}),
        ("cuban", {"HISPANIC/LATINO - CUBAN"}),
    ],
)
def test_races(phrase, codes):
    assert meant(places.resolve(values("race", RACES)), phrase) == [codes]


def test_not_english_is_all_that_is_not():
    spoken = places.resolve(values("language", ("ENGLISH", "?", "SPANISH")))
    assert meant(spoken, "non english") == [{"?", "SPANISH"}]


def test_services_go_by_their_full_names():
    found = places.resolve(values("curr_service", ("CMED", "SURG", "OBS")))
    assert meant(found, "cardiac medicine") == [{"CMED"}]
    assert meant(found, "surgical service") == [{"SURG"}]
    assert meant(found, "obstetrics") == [{"OBS"}]


def test_phrases_are_folded_and_mean_one_thing_of_their_kind():
    found: set[tuple[str, str]] = set()
    for concept in places.resolve([]):
        for phrase in dict.fromkeys(concept.phrases):
            assert phrase == namewords.plain(phrase)
            assert (concept.kind, phrase) not in found, phrase
            found.add((concept.kind, phrase))


def test_a_bare_place_is_where_people_go_and_from_says_where_they_come_from():
    going = values("discharge_location", ("SKILLED NURSING FACILITY",))
    coming = values("admission_location", ("TRANSFER FROM SKILLED NURSING FACILITY",))
    found = places.resolve([*going, *coming])
    assert meant(found, "nursing home") == [{going[0].code}]
    assert meant(found, "from a nursing home") == [{coming[0].code}]
