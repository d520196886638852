"""Kinds of encounter: found in a question, taken out of it, and put into the form."""

from __future__ import annotations

import sqlite3

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.encounters import absent, named, plain, with_kinds
from ehrqa_cli.logical_form import compile_sql, describe, parse, print_form

HERE = frozenset({"inpatient", "emergency", "outpatient"})
IN = '"inpatient" or "observation"'


def linked(text: str, *links: Link) -> LinkedQuestion:
    return LinkedQuestion(text, text, links)


@pytest.mark.parametrize(
    ("text", "kinds", "told"),
    [
        ("How many ED visits did he have?", ["emergency"], "How many hospital visits did he have?"),
        ("was she ever in the emergency room", ["emergency"], "was she ever in the hospital"),
        ("last clinic visit", ["outpatient"], "last hospital visit"),
        ("next appointments", ["outpatient"], "next hospital visits"),
        ("telehealth encounters of 2020", ["telehealth"], "hospital visits of 2020"),
        ("an inpatient stay", ["inpatient"], "an hospital admission"),
        ("number of admissions", ["inpatient"], "number of admissions"),
        ("days in hospital", ["inpatient"], "days in hospital"),
        ("was hospitalized twice", ["inpatient"], "was hospitalized twice"),
        ("how many visits", [], "how many visits"),
        ("the pulse oximeter red light", [], "the pulse oximeter red light"),
        ("drugs given in the same hospital stay", [], "drugs given in the same hospital stay"),
        (
            "ED visits and office visits",
            ["emergency", "outpatient"],
            "hospital visits and hospital visits",
        ),
    ],
)
def test_what_a_question_names(text: str, kinds: list[str], told: str) -> None:
    found = named(linked(text))
    assert [one.kinds[0] for one in found] == kinds
    assert plain(text, found) == told


def test_words_of_a_value_name_no_kind_but_those_of_a_place_do() -> None:
    text = "When was the home visit?"
    assert named(linked(text, Link(13, 23, ("proc",), "home visit"))) == ()
    (found,) = named(linked(text, Link(13, 23, ("careunit",), "home visit")))
    assert found.kinds == ("home",)


@pytest.mark.parametrize(
    ("text", "form", "wanted"),
    [
        ("ED visits of 1", "count admission patient 1",
         'count admission patient 1 encounter "emergency"'),
        ("visits of 1", "count admission patient 1", 'count admission patient 1 encounter "any"'),
        ("admissions of 1", "count admission patient 1",
         f"count admission patient 1 encounter {IN}"),
        ("pulse at the last clinic visit", 'value vital "heart rate" patient 1 visit last',
         'value vital "heart rate" patient 1 visit last encounter "outpatient"'),
        ("pulse of 1", 'value vital "heart rate" patient 1', 'value vital "heart rate" patient 1'),
        ("drugs in his last ED visit", "name rx patient 1",
         'name rx patient 1 encounter "emergency"'),
        ("drugs in the ER", "name rx patient 1", 'name rx patient 1 encounter "emergency"'),
        ("ED visits with asthma", 'count_visits dx "asthma"',
         'count_visits dx "asthma" encounter "emergency"'),
        ("more ED visits than office visits?",
         "( count admission patient 1 ) greater ( count admission patient 1 )",
         '( count admission patient 1 encounter "emergency" ) greater '
         '( count admission patient 1 encounter "outpatient" )'),
        ("an ED visit after an ED visit", "count admission after ( admission )",
         'count admission after ( admission encounter "emergency" ) encounter "emergency"'),
    ],
)  # fmt: skip
def test_the_kinds_are_put_into_the_form(text: str, form: str, wanted: str) -> None:
    told = with_kinds(parse(form), named(linked(text)))
    assert print_form(told) == wanted
    assert parse(wanted) == told
    assert with_kinds(told, ()) == told


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("patients with asthma and ED visits", 'count_patients dx "asthma"'),  # it lost the visits
        ("ED visits after a clinic visit", "count admission after ( admission )"),  # which is which
    ],
)
def test_what_cannot_be_said_is_declined(text: str, form: str) -> None:
    with pytest.raises(FormError):
        with_kinds(parse(form), named(linked(text)))


def test_kinds_that_a_database_has_none_of() -> None:
    found = named(linked("telehealth visits, ED visits and admissions"))
    assert absent(found, HERE) == "telehealth visits"
    assert absent(found, {"telehealth"}) == "emergency visits, inpatient or observation visits"


def test_in_words() -> None:
    texts = {
        'count admission patient 1 encounter "emergency"': "number of emergency visit, patient 1",
        'time last admission patient 1 encounter "any"': "time of last visit, patient 1",
        'value vital "heart rate" patient 1 visit last encounter "outpatient"': (
            "value of vital sign heart rate, patient 1, last outpatient visit"
        ),
        'name rx patient 1 encounter "emergency"': (
            "drug of prescription, patient 1, in the course of emergency visits"
        ),
    }
    assert {form: describe(parse(form)) for form in texts} == texts


@pytest.fixture
def ehr() -> sqlite3.Connection:
    """Of patient 1: a stay in hospital, a clinic visit, and labs in each and outside."""
    db = sqlite3.connect(":memory:")
    db.executescript("""
        CREATE TABLE patients (subject_id, gender, dob);
        INSERT INTO patients VALUES (1, 'f', '2050-07-01'), (2, 'm', '2090-01-01');
        CREATE TABLE admissions (subject_id, hadm_id, admittime, dischtime, age, encounter);
        INSERT INTO admissions VALUES
            (1, 11, '2100-01-01 00:00:00', '2100-01-05 00:00:00', 50, 'inpatient'),
            (1, 12, '2100-03-01 00:00:00', '2100-03-01 00:00:00', 50, 'outpatient');
        CREATE TABLE labevents (subject_id, hadm_id, itemid, charttime, valuenum);
        INSERT INTO labevents VALUES (1, 11, 5, '2100-01-02 00:00:00', 1),
            (1, 12, 5, '2100-03-01 00:00:00', 2), (1, NULL, 5, '2104-01-01 00:00:00', 3),
            (2, NULL, 5, '2104-01-01 00:00:00', 9);
    """)
    return db


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("value last lab patient 1", [3]),  # the whole record, outside of visits too
        ("value lab patient 1 visit last", [2]),
        ('value lab patient 1 visit last encounter "inpatient"', [1]),
        ('value lab patient 1 encounter "outpatient"', [2]),
        ('value lab patient 1 with ( lab ) samevisit visit first encounter "outpatient"', [2]),
        ('count_patients lab encounter "outpatient"', [1]),
        ('count admission patient 1 encounter "any"', [2]),
        (f"count admission patient 1 encounter {IN}", [1]),
        ("patients lab", [1, 2]),
        ("patients lab female", [1]),
        ("value lab older 53", [3]),  # in the year of the lab
        ("value lab younger 53", [1, 2]),  # the other patient has no encounter, so no age
        ("visits lab patient 1", [11, 12]),  # a lab outside is of no visit
    ],
)
def test_rows_belong_to_a_patient_and_perhaps_to_an_encounter(
    ehr: sqlite3.Connection, form: str, rows: list[int]
) -> None:
    found = ehr.execute(compile_sql(parse(form))).fetchall()
    assert sorted(row[0] for row in found) == rows
