"""What names were taken to mean, told with the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine import meant
from ehrqa_cli.engine.question_run import Reading
from ehrqa_cli.logical_form import Lit, Ref, Select, parse
from ehrqa_cli.logical_form.form import Arg, map_args

CODES = tuple(
    Item("diagnoses_icd", "icd_code", f"icd10|j96{n:02}", f"failure {n}", rows=n) for n in range(7)
)
DRIP = Item("inputevents", "itemid", 225152, "heparin sodium", unit="units", rows=4)
ORDER = Item("prescriptions", "drug", "heparin", "heparin", rows=9)
GIVEN = Item("emar", "medication", "heparin", "heparin", rows=5)
FAILURE = Concept("dx", "respiratory failure", (), CODES, "J96.*, J80")
HEPARIN = Concept("drug", "heparin", (), (ORDER, GIVEN, DRIP))
PH = Item("labevents", "itemid", 50820, "ph", "Blood", "Blood Gas")
BP = Concept(
    "vital", "blood pressure", (), several=True,
    items=tuple(Item("chartevents", "itemid", n, f"pressure {n}") for n in (1, 2)),
)  # fmt: skip


def _read(form: str, question: str, *links: Link) -> tuple[Reading, LinkedQuestion]:
    """The reading of a form in which each ``#n`` is the n-th link's concept."""
    written = parse(form)

    def bind(arg: Arg, _slot: str) -> Arg:
        if not isinstance(arg, Ref):
            return arg
        link = links[arg.n - 1]
        return Lit(str(link.value), concept=link.concepts[0] if link.concepts else None)

    bound = map_args(written, bind)
    return Reading(written, bound, "", written), LinkedQuestion(question, question, links)


def _link(question: str, mention: str, concept: Concept) -> Link:
    start = question.index(mention)
    end = start + len(mention)
    return Link(start, end, (concept.kind,), concept.name, "concept", 1.0, (concept,))


@pytest.mark.parametrize(
    ("mention", "concept", "said"),
    [
        ("resp failure", FAILURE, "Resp failure: 7 codes (J96.*, J80)."),
        ("heparin", HEPARIN, "Heparin: 2 names (heparin; heparin sodium), ordered or administered"
         " or infused."),
        ("ph", Concept("lab", "ph", (), (PH,)), "Ph: ph (blood, blood gas)."),
        ("stroke", Concept("dx", "stroke", (), (), "I63"),
         "Nothing in this record is stroke (I63)."),
        ("failure 1", Concept("dx", "failure 1", (), CODES[1:2]), ""),
        ("arf", Concept("dx", "failure 1", (), CODES[1:2]), "Arf: “failure 1”."),
        ("many", Concept("dx", "many", (), CODES), "Many: 7 codes (failure 0; failure 1; failure 2;"
         " failure 3; failure 4; ...)."),
        ("long", Concept("dx", "long", (), CODES, "A, B, C, D, E, F"),
         "Long: 7 codes (A, B, C, D, E, ...)."),
    ],
)  # fmt: skip
def test_what_was_counted_is_said(mention: str, concept: Concept, said: str) -> None:
    question = f"how many had {mention}?"
    kind = {"dx": "dx", "drug": "rx", "lab": "lab"}[concept.kind]
    read = _read(f"count_patients {kind} #1", question, _link(question, mention, concept))
    assert meant.said(*read) == said
    assert [(m, c.name) for m, c in meant.used(*read)] == [(mention, concept.name)]


def test_json_has_the_commonest_of_the_items() -> None:
    record = meant.as_json("rf", FAILURE)
    assert (record["mention"], record["concept"], record["kind"]) == (
        "rf", "respiratory failure", "dx"
    )  # fmt: skip
    assert (record["about"], record["members"]) == ("J96.*, J80", 7)
    assert [item["rows"] for item in record["shown"]] == [6, 5, 4, 3, 2]
    assert record["shown"][0] == {
        "table": "diagnoses_icd", "code": "icd10|j9606", "name": "failure 6", "rows": 6
    }  # fmt: skip


def test_a_dose_is_that_of_an_order_where_nothing_else_was_asked() -> None:
    question = "last dose of heparin of patient 7?"
    link = _link(question, "heparin", HEPARIN)
    reading, _ = _read("value last rx #1", question, link)
    (concept,) = _concepts(meant.fitted(reading.bound))
    assert concept.items == (ORDER,)
    infused = Concept("drug", "heparin", (), (DRIP,))
    reading, _ = _read("value last rx #1", question, _link(question, "heparin", infused))
    assert _concepts(meant.fitted(reading.bound)) == [infused]
    counted, _ = _read("count_patients rx #1", question, link)
    assert meant.fitted(counted.bound) == counted.bound


@pytest.mark.parametrize(
    ("form", "units", "unlike"),
    [
        ("sum intake patient 7", (), "all intake"),
        ("sum intake #1", ("ml", "ml", ""), None),
        ("sum intake #1", ("dose", "units"), "heparin"),
        ("value last intake #1", ("dose", "units"), None),
        ("count_patients intake #1", ("dose", "units"), None),
        ("sum lab #1", ("dose", "units"), None),
    ],
)
def test_amounts_in_several_units_are_not_added_up(
    form: str, units: tuple[str, ...], unlike: str | None
) -> None:
    items = [Item("inputevents", "itemid", n, "heparin", unit=u) for n, u in enumerate(units)]
    link = _link("heparin", "heparin", Concept("intake", "heparin", (), tuple(items)))
    reading, _ = _read(form, "heparin", link)
    assert meant.unlike(reading.bound) == unlike


def _concepts(form: object) -> list[Concept]:
    found: list[Concept] = []

    def note(arg: Arg, _slot: str) -> Arg:
        if isinstance(arg, Lit) and arg.concept:
            found.append(arg.concept)
        return arg

    map_args(form, note)  # type: ignore[arg-type]
    return found


def test_one_value_of_several_things_is_none() -> None:
    question = "blood pressure"
    link = _link(question, question, BP)
    value, _ = _read("value last vital #1", question, link)
    assert meant.several(value.bound) == BP
    counted, _ = _read("count_patients vital #1", question, link)
    assert meant.several(counted.bound) is None
    one = Concept("vital", "blood pressure", (), BP.items[:1], several=True)
    reading, _ = _read("value last vital #1", question, _link(question, question, one))
    assert meant.several(reading.bound) is None


@pytest.mark.parametrize(
    ("items", "form"),
    [
        ((GIVEN, DRIP), 'sum rx #1 patient "1"'),  # the emar and the pump may have one dose each
        ((GIVEN,), 'value rx #1 route "iv"'),  # an emar does not say the route
    ],
)
def test_what_records_of_given_drugs_cannot_tell(items: tuple[Item, ...], form: str) -> None:
    given = replace(HEPARIN, items=items)
    reading, _ = _read(form, "heparin", _link("heparin", "heparin", given))
    with pytest.raises(FormError):
        meant.fitted(reading.bound)


def test_a_dose_and_a_route_are_those_of_an_order() -> None:
    for form in ("value rx #1", 'count rx #1 route "iv"'):
        reading, _ = _read(form, "heparin", _link("heparin", "heparin", HEPARIN))
        fitted = meant.fitted(reading.bound)
        assert isinstance(fitted, Select) and fitted.event.items
        arg = fitted.event.items.args[0]
        assert isinstance(arg, Lit) and arg.concept and arg.concept.items == (ORDER,)
