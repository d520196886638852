"""Printed forms, their English and their SQL; fixture pairs in tests/fixtures/forms."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, PatientScope, Scope
from ehrqa_cli.ehr.schema import TABLES
from ehrqa_cli.logical_form import (
    bind,
    compile_sql,
    describe,
    evidence_queries,
    normalise,
    parse,
    print_form,
    refer,
    scope_of,
    used_links,
)

_FILE = Path(__file__).parents[2] / "fixtures" / "forms" / "table.jsonl"
PAIRS = [json.loads(line) for line in _FILE.read_text().splitlines()]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p["form"])
def test_fixture_pairs(pair: dict[str, str]) -> None:
    form = parse(pair["form"])
    assert print_form(form) == pair["form"]
    assert describe(form) == pair["english"]
    assert compile_sql(form) == pair["sql"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "count lab after ( rx ) samevisit within #1",
            "count lab after ( rx ) within #1 samevisit",
        ),
        (
            "count admission by insurance percent most 3",
            "count admission by insurance most 3 percent",
        ),
        ("count discharge longer #1", "count admission longer #1"),
        ("count discharge longer #1 in #2", "count discharge longer #1 in #2"),
        ("count discharge longer #1 by per_year", "count discharge longer #1 by per_year"),
    ],
)
def test_what_says_the_same_is_written_alike(text: str, plain: str) -> None:
    assert print_form(normalise(parse(text))) == plain


@pytest.fixture(scope="module")
def empty_ehr() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:")
    for table in TABLES:
        db.execute(table.ddl())
    yield db
    db.close()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p["form"])
def test_sql_fits_the_schema(pair: dict[str, str], empty_ehr: sqlite3.Connection) -> None:
    bounds = {"heart_rate_lower": "60", "heart_rate_upper": "100"}
    for sql in [pair["sql"], *(q for _, q in evidence_queries(parse(pair["form"])))]:
        sql = sql.replace("current_time", "'2100-12-31 23:59:00'")
        for name, value in bounds.items():
            sql = sql.replace(name, value)
        empty_ehr.execute(sql).fetchall()


@pytest.mark.parametrize(
    "text",
    ["", "value", "value last", "lab value", "value lab patient", "top dx", "( value lab )",
     "value lab visit sometimes", "value lab patient 1 patient 2", "value lab #0",
     "value lab extra"],
)  # fmt: skip
def test_what_is_no_form_is_an_error_of_one_line(text: str) -> None:
    with pytest.raises(FormError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


LINKS = (
    Link(0, 1, ("lab",), "creatinine"),
    Link(2, 3, ("pat",), 10000001),
    Link(4, 5, ("year",), "2100"),
)


def test_bind_and_refer_are_inverse() -> None:
    text = "value last lab #1 patient #2 since #3"
    bound = bind(parse(text), LINKS)
    assert print_form(bound) == 'value last lab "creatinine" patient 10000001 since "2100"'
    assert refer(print_form(bound), LINKS) == text
    assert used_links(parse("value last lab #1 patient #2")) == {1, 2}


def test_refer_needs_a_link_for_every_value() -> None:
    assert refer('value last lab "sodium" patient 10000001', LINKS) is None
    assert refer("top 3 dx", LINKS) == "top 3 dx"  # a small number may stay a number
    assert refer("top 30 dx", LINKS) is None


def test_bind_refuses_a_value_of_another_type() -> None:
    with pytest.raises(FormError):
        bind(parse("value last lab #2 patient #2"), LINKS)
    with pytest.raises(FormError):
        bind(parse("value last lab #9 patient #2"), LINKS)


def test_one_way_to_say_each_thing() -> None:
    assert (
        refer("age admission patient 10000001 visit last", LINKS) == "age last admission patient #2"
    )
    current = refer("insurance admission patient 10000001 visit current", LINKS)
    assert current == "insurance admission patient #2 current"
    through = refer("exists first admission patient 10000001", LINKS)
    assert through == "exists admission patient #2 visit first"


def test_quotes_in_values_stay_values() -> None:
    form = parse('route rx "it\'s \\"5%\\""')
    assert print_form(parse(print_form(form))) == print_form(form)
    assert "'it''s \"5%\"'" in compile_sql(form)


@pytest.mark.parametrize(
    ("text", "scope", "patients"),
    [
        ('cost rx "aspirin"', Scope.TABLE, PatientScope.NONE),
        ("count_patients dx", Scope.TABLE, PatientScope.GROUP),
        ("name last dx patient 1", Scope.TABLE, PatientScope.SINGLE),
        ("exists finding abnormality of ( study 5 )", Scope.IMAGE, PatientScope.SINGLE),
        ("count_patients study showing ( abnormality )", Scope.IMAGE, PatientScope.GROUP),
        ("exists dx patient 1 with ( study showing ( abnormality ) )", Scope.IMAGE_TABLE,
         PatientScope.SINGLE),
        ("count_patients study showing ( abnormality ) female", Scope.IMAGE_TABLE,
         PatientScope.GROUP),
    ],
)  # fmt: skip
def test_scope_falls_out_of_the_form(text: str, scope: Scope, patients: PatientScope) -> None:
    assert scope_of(parse(text)) == (scope, patients)


@pytest.mark.parametrize(
    ("period", "days"), [("24 hour", "1"), ("72 hour", "3"), ("2880 minute", "2")]
)
def test_survival_over_hours_is_counted_in_whole_days(period: str, days: str) -> None:
    sql = compile_sql(parse(f'survival "{period}" dx "sepsis"'))
    assert f"'%J',T3.t) < {days} THEN" in sql


@pytest.mark.parametrize("period", ["30 minute", "12 hour", "36 hour", "90 minute", "0 hour"])
def test_survival_below_a_day_is_refused(period: str) -> None:
    for head in ("survival", "top_mortality 3"):
        with pytest.raises(FormError, match="recorded by the day"):
            compile_sql(
                parse(f'{head} "{period}" dx' + (' "sepsis"' if head == "survival" else ""))
            )
