"""Mixed questions: what is recognised, and how units and names are compared."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.mixed import Aspect, ComparedKind, Mixed, Relation, split
from ehrqa_cli.engine.mixed.names import find_name, names_of, same_words
from ehrqa_cli.engine.mixed.types import Measure, Stage
from ehrqa_cli.engine.mixed.units import find_route, order, routes, same_kind
from ehrqa_cli.logical_form import Select, bind, print_form

KNOWN = {
    "heparin": "drug",
    "furosemide": "drug",
    "potassium": "lab",
    "heart failure": "dx",
    "2100-03-01": "ymd",
}


def linked(text: str, *, patient: bool = True) -> LinkedQuestion:
    """As the linker would do it, for a few words."""
    found = []
    for name, kind in KNOWN.items():
        if (at := text.lower().find(name)) >= 0:
            found.append(Link(at, at + len(name), (kind,), name))
    if patient:
        found.append(Link(len(text), len(text), ("pat",), 10018081, "option"))
    return LinkedQuestion(text, text, tuple(found))


def of(text: str) -> Mixed | None:
    return split(text, linked(text))


@pytest.mark.parametrize(
    ("text", "kind", "relation"),
    [
        (
            "was the heparin dose in the discharge summary the same as the last one ordered?",
            ComparedKind.MEDICATION,
            Relation.SAME,
        ),
        (
            "does the note's potassium agree with the last measured?",
            ComparedKind.LAB,
            Relation.SAME,
        ),
        (
            "is the diagnosis of heart failure in the discharge summary also coded?",
            ComparedKind.DIAGNOSIS,
            Relation.ALSO_IN_TABLES,
        ),
        (
            "Does the heparin dose in the note differ from the last order?",
            ComparedKind.MEDICATION,
            Relation.DIFFERENT,
        ),
        (
            "Is the potassium in the note higher than the last measured one?",
            ComparedKind.LAB,
            Relation.HIGHER,
        ),
        (
            "Was the last measured potassium higher than the one in the note?",
            ComparedKind.LAB,
            Relation.LOWER,
        ),
        (
            "How does the potassium in the note compare with the last lab value?",
            ComparedKind.LAB,
            Relation.BOTH_VALUES,
        ),
        (
            "Is the coded heart failure also mentioned in the discharge summary?",
            ComparedKind.DIAGNOSIS,
            Relation.ALSO_IN_NOTE,
        ),
        (
            "Heart failure is coded for him. Does the discharge summary mention it too?",
            ComparedKind.DIAGNOSIS,
            Relation.ALSO_IN_NOTE,
        ),
    ],
)
def test_recognised(text: str, kind: ComparedKind, relation: Relation):
    found = of(text)
    assert found is not None
    assert (found.kind, found.relation, found.refused) == (kind, relation, "")
    assert found.patient_id == 10018081
    assert found.form is not None and found.titles is not None
    where = linked(text).links
    for asked in (found.form, found.titles):
        assert print_form(bind(asked, where)).endswith("patient 10018081")


@pytest.mark.parametrize(
    "text",
    [
        "what was the last measured potassium of patient 10018081?",
        "What dose of heparin was given according to the discharge summary?",
        "What was the potassium in the discharge summary?",
        "Does the discharge summary mention heart failure?",
        "Did the heparin dose differ between the two stays?",
        "Was the potassium at discharge the same as on admission?",
        "Which patients have a discharge summary?",
        "",
    ],
)
def test_other_questions_are_left_alone(text: str):
    assert of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "was the heparin dose in the note the same as the one ordered on 2100-03-01?",
        "Does the potassium in the note agree with the average lab value?",
        "do the discharge medications match the orders in everything?",
        "is the frequency of heparin in the note the same as in the orders?",
        "is the xyzol dose or so in the note consistent with the orders",
    ],
)
def test_what_cannot_be_compared_safely_is_refused(text: str):
    found = of(text)
    assert found is not None and (found.refused or found.value is None)


def test_without_a_patient():
    text = "does the note's potassium agree with the last measured?"
    found = split(text, linked(text, patient=False))
    assert found is not None
    assert found.patient_id is None and found.form is None and found.titles is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "was the heparin dose in the discharge summary the same as the last one ordered?",
            'value last rx "heparin" patient 10018081',
        ),
        (
            "is the highest lab value of potassium above that of the note?",
            'max lab "potassium" patient 10018081',
        ),
        (
            "is the lowest lab value of potassium below that of the note?",
            'min lab "potassium" patient 10018081',
        ),
        (
            "is heart failure of the discharge summary also coded?",
            'exists dx "heart failure" patient 10018081',
        ),
        (
            "is the furosemide in the discharge summary also found in the orders?",
            'exists rx "furosemide" patient 10018081',
        ),
    ],
)
def test_what_the_tables_are_asked(text: str, form: str):
    found = of(text)
    assert found is not None and found.form is not None
    assert print_form(bind(found.form, linked(text).links)) == form


def test_the_part_of_the_stay():
    text = "does the potassium on admission in the note match the first lab value?"
    found = of(text)
    assert found is not None and found.stage is Stage.ADMISSION
    assert isinstance(found.form, Select) and found.form.event.order == "first"


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (("500 mg", 500, "mg"), ("0.5 g", 0.5, "g"), 0),
        (("12.5 mg", 12.5, "mg"), ("12.5 mg", 12.5, "MG"), 0),
        (("100 mcg", 100, "mcg"), ("0.2 mg", 0.2, "mg"), -1),
        (("5000 units", 5000, "units"), ("5000 unit", 5000, "unit"), 0),
        (("40", 40, ""), ("40 mg", 40, "mg"), 0),
        (("2 tablets", 2, "tablets"), ("40 mg", 40, "mg"), None),
        (("12 mg", 12, "mg"), ("12.5 mg", 12.5, "mg"), -1),
        (("po", None, ""), ("40 mg", 40, "mg"), None),
        (("138 mmol/L", 138, "mmol/l"), ("138 meq/l", 138, "meq/l"), 0),
        (("1.2 g/dl", 1.2, "g/dl"), ("1200 mg/dl", 1200, "mg/dl"), 0),
    ],
)
def test_order_of_measures(
    first: tuple[str, float | None, str], second: tuple[str, float | None, str], result: int | None
):
    assert order(Measure(*first), Measure(*second)) == result


def test_rounding_is_for_labs_and_has_a_bound():
    fine, coarse = Measure("4.13", 4.13), Measure("4.1", 4.1)
    assert order(coarse, fine) == -1
    assert order(coarse, fine, rounded=True) == 0
    assert order(Measure("4", 4.0), Measure("4.4", 4.4), rounded=True) == -1
    assert order(Measure("4.1", 4.1), Measure("4.2", 4.2), rounded=True) == -1


def test_units_of_different_kinds():
    assert not same_kind("mg", "units")
    assert same_kind("", "mg")
    assert same_kind("furlong", "furlong") and not same_kind("furlong", "mg")


def test_routes():
    assert routes("PO") & routes("po/ng")
    assert routes("Subcutaneous") & routes("sc")
    assert not routes("iv") & routes("po")
    assert not routes("by pigeon")
    assert find_route("40 mg PO daily") == (6, 8)
    assert find_route("40 mg daily") is None


def mixed(kind: ComparedKind, subject: str, value: str | None = None) -> Mixed:
    return Mixed(kind, Aspect.DOSE, Relation.SAME, subject, value, 1)


def test_names_in_notes():
    names = names_of(mixed(ComparedKind.MEDICATION, "furosemide", "furosemide"))
    assert find_name("Lasix 40 mg PO", names) == [(0, 5)]
    assert not find_name("torsemide 40 mg", names)
    potassium = names_of(mixed(ComparedKind.LAB, "potassium", "potassium"))
    assert find_name("K 4.1", potassium) and not find_name("platelets 150 k", potassium)


def test_titles_with_all_words_of_a_name():
    names = names_of(mixed(ComparedKind.DIAGNOSIS, "heart failure"))
    assert same_words("acute on chronic systolic (congestive) heart failure", names)
    assert not same_words("acute kidney failure, unspecified", names)
    assert not same_words("hypertensive disease without heart failure", names)
