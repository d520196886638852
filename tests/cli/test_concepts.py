from __future__ import annotations

import json

import pytest

from ehrqa_cli.concepts import meaning
from ehrqa_cli.contracts.concepts import Concept, Item

CODES = [
    Item("diagnoses_icd", "icd_code", f"icd10|j96{n:02}", f"respiratory failure {n}", rows=n)
    for n in range(1, 31)
]
GLUCOSE = Item(
    "labevents",
    "itemid",
    50931,
    "glucose",
    specimen="blood",
    category="chemistry",
    unit="mg/dl",
    rows=12,
    first="2100-02-02 08:00:00",
    last="2100-03-01 09:00:00",
)
URINE = Item("labevents", "itemid", 51478, "glucose", "urine", "hematology", "mg/dl", 40)
GEL = Item("prescriptions", "drug", "glucose gel", "glucose\x1b gel", rows=1)
RF = ("respiratory failure", "rf")
CONCEPTS = [
    Concept("dx", "respiratory failure", RF, tuple(CODES), "J96.*", "groups"),
    Concept("dx", "rheumatic fever", ("rf",), (), "I00"),
    Concept("drug", "rivaroxaban", ("rivaroxaban", "xarelto")),
]


@pytest.fixture
def known(monkeypatch, ehr):
    made = meaning.Meanings([*CODES, GLUCOSE, URINE, GEL], CONCEPTS)
    monkeypatch.setattr(meaning, "open_meanings", lambda database, own=(): made)
    return ehr


def test_each_meaning_is_shown_with_its_members(cli, known):
    ran = cli("concepts", "find", "RF", "--db", known)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "respiratory failure (diagnosis): 30 codes, 465 rows"
    assert [line.split() for line in lines[1:3]] == [["is", "J96.*"], ["from", "groups"]]
    assert lines[4] == "icd10|j9630\trespiratory failure 30\tdiagnoses_icd\t30"
    assert lines[24] == "... and 10 more (see --json)"
    assert lines[26] == "rheumatic fever (diagnosis): none in this record"


def test_json_has_all_members(cli, known):
    ran = cli("concepts", "find", "respiratory", "failure", "--json", "--db", known)
    shown = json.loads(ran.out)
    (concept,) = shown["concepts"]
    assert (shown["words"], shown["near"], concept["rows"]) == ("respiratory failure", [], 465)
    assert len(concept["members"]) == 30 and concept["phrases"] == ["respiratory failure", "rf"]
    assert concept["members"][0]["code"] == "icd10|j9601"


def test_what_does_not_occur_is_a_meaning_too(cli, known):
    ran = cli("concepts", "find", "xarelto", "--db", known)
    assert (ran.code, ran.out) == (0, "rivaroxaban (drug): none in this record\n")


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_word_without_a_meaning_is_one_line_with_near_names(cli, known, flags):
    ran = cli("concepts", "find", "resperatory failure", *flags, "--db", known)
    assert ran.code == 3
    assert ran.err == (
        "'resperatory failure' means nothing here; did you mean 'respiratory failure'?\n"
    )
    if flags:
        assert json.loads(ran.out)["near"] == ["respiratory failure"]
    assert cli("concepts", "find", "qqqq", "--db", known).err == "'qqqq' means nothing here\n"


def test_items_are_found_by_their_words(cli, known):
    ran = cli("find", "glucose", "--db", known)
    head, *rows = [line.split("\t") for line in ran.out.splitlines()]
    assert head == ["table", "code", "name", "specimen", "unit", "rows", "first", "last"]
    assert rows[0] == ["labevents", "51478", "glucose", "urine", "mg/dl", "40", "", ""]
    assert rows[1][3:] == ["blood", "mg/dl", "12", "2100-02-02", "2100-03-01"]
    assert rows[2][2] == "glucose\\x1b gel"
    assert json.loads(cli("find", "glucose", "--json", "--db", known).out)["items"][1] == {
        "table": "labevents",
        "column": "itemid",
        "code": 50931,
        "name": "glucose",
        "specimen": "blood",
        "category": "chemistry",
        "unit": "mg/dl",
        "rows": 12,
        "first": "2100-02-02 08:00:00",
        "last": "2100-03-01 09:00:00",
    }


def test_items_that_are_not_there(cli, known):
    ran = cli("find", "respirator", "failre", "--db", known)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "nothing in this record is named 'respirator failre'; did you mean 'respiratory failure'?\n"
    )


@pytest.mark.parametrize("command", [("concepts", "find"), ("find",)])
def test_words_that_are_none(cli, known, command):
    ran = cli(*command, " - ", "--db", known)
    assert (ran.code, ran.out) == (2, "") and "nothing to look for" in ran.err
    assert cli(*command, "--db", known).code == 2
    assert cli(*command, "glucose", "--db", known.parent / "none.sqlite").code == 1
