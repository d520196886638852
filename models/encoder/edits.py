"""Nearly right readings: a form, one step away from the one that was asked.

A step takes a few lexemes out, puts some in or another in their place, or swaps two values of one
type; what comes out is again a form that the grammar allows (`Machine`) and means another thing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form import EOS, Machine, describe, flaw, normalise, parse, print_form

_TRIES = 40  # for one edit
_ADDED, _LOST = 3, 4  # lexemes at most
# Two queries whose order says nothing.
_EVEN = {"plus", "union", "intersect", "and", "or", "equal", "beside"}

Types = Sequence[Sequence[str]]


def edits(form: str, types: Types, rng: random.Random, wanted: int) -> list[str]:
    """At most ``wanted`` different forms one step from ``form``, in a random order; ``types`` are
    those of its references."""
    words = form.split()
    machines = [*_along(words, types)]
    found: list[str] = []
    for _ in range(wanted * _TRIES):
        if len(found) == wanted:
            break
        step = rng.random()
        if step < 0.12:
            made = _swapped(words, types, rng)
        elif step < 0.45:
            made = _less(words, machines, rng)
        else:
            made = _other(words, machines, rng)
        other = _sound(made) if made else None
        if (
            other
            and other not in (form, *found)
            and describe(parse(other)) != describe(parse(form))
        ):
            found.append(other)
    return found


def _along(words: Sequence[str], types: Types) -> Iterator[Machine]:
    """The machine before each lexeme, and after the last."""
    machine = Machine(types)
    yield machine.copy()
    for word in words:
        machine.push(word)
        yield machine.copy()


def _ends(machine: Machine, words: Sequence[str]) -> bool:
    """May the form go on with these lexemes and end?"""
    machine = machine.copy()
    for word in words:
        if word not in machine.allowed():
            return False
        machine.push(word)
    return EOS in machine.allowed()


def _less(words: list[str], machines: list[Machine], rng: random.Random) -> list[str] | None:
    start = rng.randrange(len(words))
    for count in rng.sample(range(1, _LOST + 1), _LOST):
        rest = words[start + count :]
        if start + count <= len(words) and _ends(machines[start], rest):
            return [*words[:start], *rest]
    return None


def _other(words: list[str], machines: list[Machine], rng: random.Random) -> list[str] | None:
    """Some lexemes put in, in the place of as many or none."""
    start = rng.randrange(len(words) + 1)
    machine, added = machines[start].copy(), list[str]()
    for _ in range(_ADDED):
        free = sorted(machine.allowed() - {EOS, *words[start : start + 1 - len(added)]})
        if not free:
            return None
        added.append(rng.choice(free))
        machine.push(added[-1])
        for lost in rng.sample(range(_ADDED), _ADDED):
            rest = words[start + lost :]
            if start + lost <= len(words) and _ends(machine, rest):
                return [*words[:start], *added, *rest]
    return None


def _swapped(words: list[str], types: Types, rng: random.Random) -> list[str] | None:
    """Two values of one type, each in the other's place."""
    if _EVEN & set(words):
        return None
    used = sorted({int(w[1:]) for w in words if w.startswith("#")})
    pairs = [(a, b) for a in used for b in used if a < b and set(types[a - 1]) == set(types[b - 1])]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    other = {f"#{a}": f"#{b}", f"#{b}": f"#{a}"}
    return [other.get(w, w) for w in words]


def _sound(words: list[str]) -> str | None:
    """The form in the one way it is written; None for one that says nothing."""
    try:
        form = normalise(parse(" ".join(words)))
    except FormError:
        return None
    return None if flaw(form) else print_form(form)
