"""The decoding machine writes exactly what the parser reads."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehrqa_cli.logical_form import EOS, LEXEMES, TYPES, Machine, describe, parse, print_form
from ehrqa_cli.logical_form.form import Form, Ref, map_args
from ehrqa_cli.logical_form.grammar import SLOTS


def random_form(types: list[tuple[str, ...]], seed: int) -> str:
    chooser, machine, words = random.Random(seed), Machine(types), list[str]()
    while True:
        allowed = sorted(machine.allowed())
        assert allowed, words
        if EOS in allowed and (len(words) > 12 or chooser.random() < 0.3):
            return " ".join(words)
        flat = [w for w in allowed if w not in ("(", EOS)]
        words.append(chooser.choice(flat if len(words) > 12 and flat else allowed))
        if words[-1] == EOS:
            return " ".join(words[:-1])
        machine.push(words[-1])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(TYPES).map(lambda t: (t,)), max_size=8),
    st.integers(min_value=0, max_value=2**32),
)
def test_what_the_machine_writes_the_parser_reads(types: list[tuple[str, ...]], seed: int) -> None:
    text = random_form(types, seed)
    form = parse(text)
    assert print_form(form) == text
    assert set(text.split()) <= set(LEXEMES)
    assert describe(form)
    _check_types(form, types)


def _check_types(form: Form, types: list[tuple[str, ...]]) -> None:
    def check(arg: object, slot: str) -> object:
        if isinstance(arg, Ref):
            assert set(types[arg.n - 1]) & set(SLOTS[slot])
        return arg

    map_args(form, check)  # type: ignore[arg-type]


def test_only_references_of_the_right_type_are_offered() -> None:
    machine = Machine([("pat",), ("lab",), ("drug", "intake")])
    for word in ("value", "last", "lab"):
        machine.push(word)
    offered = machine.allowed()
    assert "#2" in offered
    assert not {"#1", "#3"} & offered
    with pytest.raises(ValueError, match="not allowed"):
        machine.push("#1")


def test_a_copy_goes_its_own_way() -> None:
    machine = Machine([])
    machine.push("count")
    twin = machine.copy()
    twin.push("dx")
    assert EOS in twin.allowed()
    assert EOS not in machine.allowed()
    twin.push(EOS)
    assert twin.done
    assert not machine.done
