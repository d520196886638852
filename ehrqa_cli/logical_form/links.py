"""Between references and values: binding a form to a question's links, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form.form import Arg, Form, Lit, Ref, map_args, print_form
from ehrqa_cli.logical_form.grammar import CONCEPTS, INT_SLOTS, SLOTS
from ehrqa_cli.logical_form.normalise import normalise
from ehrqa_cli.logical_form.parse import parse


def bind(form: Form, links: Sequence[Link]) -> Form:
    """The form with every reference replaced by its link's value. Raises FormError."""

    def value(arg: Arg, slot: str) -> Arg:
        if isinstance(arg, Lit):
            return arg
        if not 1 <= arg.n <= len(links):
            raise FormError(f"logical form: #{arg.n} refers to nothing", "ask the question again")
        link = links[arg.n - 1]
        if not set(link.types).intersection(SLOTS[slot]) or link.value is None:
            raise FormError(
                f"logical form: {link.value!r} cannot stand where a {slot} is needed",
                "ask the question again in other words",
            )
        kinds = CONCEPTS.get(slot, SLOTS[slot])
        meant = next((c for c in link.concepts if c.kind in kinds), None)
        return Lit(link.value, meant)

    return map_args(form, value)


def refer(text: str, links: Sequence[Link]) -> str | None:
    """The printed form with literals replaced by references to ``links``.

    None when a literal has no link of a fitting type. A value named twice uses its links in
    turn; a small number without a link stays a number where the grammar allows one.
    """
    used: set[int] = set()
    missing = False

    def reference(arg: Arg, slot: str) -> Arg:
        nonlocal missing
        if isinstance(arg, Ref):
            return arg
        fitting = [
            k
            for k, link in enumerate(links, 1)
            if set(link.types).intersection(SLOTS[slot]) and _same(link.value, arg.value)
        ]
        fresh = [k for k in fitting if k not in used]
        if fitting:
            k = (fresh or fitting)[0]
            used.add(k)
            return Ref(k)
        if not (slot in INT_SLOTS and isinstance(arg.value, int) and 1 <= arg.value <= 10):
            missing = True
        return arg

    form = map_args(normalise(parse(text)), reference)
    return None if missing else print_form(form)


def _same(a: object, b: object) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return float(a) == float(b)
    return _in_days(a) == _in_days(b)


def _in_days(value: object) -> object:
    # Three weeks and 21 days are one duration; the linker keeps days.
    match = re.fullmatch(r"(\d+) week", value) if isinstance(value, str) else None
    return f"{int(match[1]) * 7} day" if match else value


def used_links(form: Form) -> set[int]:
    """Numbers (from 1) of the references a form uses."""
    used: set[int] = set()

    def note(arg: Arg, _slot: str) -> Arg:
        if isinstance(arg, Ref):
            used.add(arg.n)
        return arg

    map_args(form, note)
    return used
