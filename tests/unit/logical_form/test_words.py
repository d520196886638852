"""Every word of the grammar is one entry of words/*.toml, and the entry is whole.

A new head or filter needs no line here: it is walked with the others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form import (
    EOS,
    LEXEMES,
    REFS,
    TYPES,
    Lit,
    Machine,
    compile_sql,
    describe,
    parse,
    print_form,
)
from ehrqa_cli.logical_form.compile import filters, heads
from ehrqa_cli.logical_form.form import Arg, Form, map_args
from ehrqa_cli.logical_form.grammar import FILTERS, HEADS, KINDS, RESTRICTIONS

_FIXTURES = Path(__file__).parents[2] / "fixtures" / "forms" / "table.jsonl"
# A value that fits each slot, where "x" does not.
_VALUES: dict[str, str | int] = {
    **dict.fromkeys(("N", "V", "H", "AT", "pat", "study"), 3),
    **{"DUR": "3 day", "DATE": "2100", "AGED": "50-59", "vital": "heart rate"},
    **{"dow": "monday", "FINDING": "pneumonia", "PLACE": "left lung", "encounter": "inpatient"},
}
# The machine writes these where a link is of theirs; no model of ours does (grammar.py).
_LINKS = [(*TYPES, "encounter", *RESTRICTIONS)]
_WALKED = [w for w in LEXEMES if w not in REFS[1:]]
# What writes the other filters: the conditions of patients and people, relations, and two heads.
_WITH_THE_EVENT = {
    *("scope", "gender", "age_group", "age", "relation", "counted", "survival", "percentile"),
}


def written(wanted: str, seed: int) -> str:
    """A form of the machine that takes the wanted word as soon as it may, and ends soon after;
    of every other seed, two forms joined."""
    chooser, machine, words = random.Random(seed), Machine(_LINKS), list[str]()
    while not machine.done:
        allowed = sorted(machine.allowed())
        ends = [w for w in (EOS, ")") if w in allowed and (wanted in words or len(words) > 4)]
        flat = [w for w in allowed if w not in ("(", EOS)] or allowed
        word = (ends or [chooser.choice(flat)])[0]
        if wanted in allowed and wanted not in words:
            word = wanted
        elif not words and seed % 2:
            word = "("
        machine.push(word)
        words.append(word)
    return " ".join(words[:-1])


@cache
def pool() -> tuple[str, ...]:
    """Forms of all sorts: the fixtures, and what the machine writes."""
    fixtures = [json.loads(line)["form"] for line in _FIXTURES.read_text().splitlines()]
    return (*fixtures, *(written("", seed) for seed in range(1000)))


def forms_with(wanted: str) -> Iterator[str]:
    yield from (text for text in pool() if wanted in text.split())
    for seed in range(200):
        text = written(wanted, seed)
        if wanted in text.split():
            yield text


def compiles(form: Form) -> bool:
    def value(arg: Arg, slot: str) -> Arg:
        return arg if isinstance(arg, Lit) else Lit(_VALUES.get(slot, "x"))

    try:
        return "SELECT" in compile_sql(map_args(form, value))
    except FormError:
        return False


@pytest.mark.parametrize("lexeme", _WALKED)
def test_a_word_parses_and_is_described(lexeme: str) -> None:
    text = next(forms_with(lexeme))
    form = parse(text)
    assert print_form(form) == text
    assert "_" not in describe(form), "a raw name"


@pytest.mark.parametrize("name", [*KINDS, *HEADS, *FILTERS])
def test_what_stands_in_a_query_says_what_it_is(name: str) -> None:
    assert all(table[name].says for table in (KINDS, HEADS, FILTERS) if name in table)


@pytest.mark.parametrize("name", [*HEADS, *FILTERS])
def test_a_head_or_filter_compiles_for_a_kind(name: str) -> None:
    assert any(compiles(parse(text)) for text in forms_with(name))


def test_what_writes_sql_is_there_and_is_asked_for() -> None:
    assert {head.sql for head in HEADS.values()} == set(heads.WRITERS)
    assert {spec.sql for spec in FILTERS.values()} == {*filters.WRITERS, *_WITH_THE_EVENT}
