"""Asides: what people put behind (or before) a question that changes nothing of what is asked.

"(1/0)", "ids only", "in days", "the title, not the code": each goes with some heads only.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.surface import Words

_TABLE = table("pairs/words/asides")
_LEADS: Mapping[str, list[str]] = _TABLE["leads"]
_NOTES: Mapping[str, list[str]] = {name: one["notes"] for name, one in _TABLE["aside"].items()}


def _by(field: str) -> dict[str, list[str]]:
    return {what: one["notes"] for one in _TABLE["aside"].values() for what in one.get(field, ())}


_BY_HEAD, _BY_KIND = _by("heads"), _by("kinds")


def with_note(words: Words, form: str, rng: random.Random) -> Words:
    """The words of a question with one note that fits its form."""
    parts = form.replace("(", " ").replace(")", " ").split()
    head = parts[0] if parts else ""
    if head in _LEADS and rng.random() < 0.12:
        return [(rng.choice(_LEADS[head]), False), *words]
    note = rng.choice(_fitting(head, parts, form, rng))
    asked = words[0][0].lower().split()[:1] if words else []
    if asked and asked[0] in _TABLE["question"] and rng.random() < 0.35:
        return [*words, ("? ", False), (note.lstrip(", "), False)]
    space = "" if note.startswith(",") else " "
    return [*words, (space + note, False)]


def _fitting(head: str, parts: list[str], form: str, rng: random.Random) -> list[str]:
    if form.startswith("("):
        if " minus " in form:
            return _NOTES["difference"]
        compares = {"less", "greater", "equal", "and", "or"} & set(parts)
        return _NOTES["yes_no" if compares else "any"]
    roll = rng.random()
    if roll < 0.12:
        return _NOTES["any"]
    open_in_time = not any(word in form for word in _TABLE["timed"])
    if head in ("exists", "patients", "count_patients") and roll < 0.3 and open_in_time:
        return _NOTES["ever"]
    kinds = [k for k in _BY_KIND if k in parts]
    dose = kinds[:1] == ["rx"] and head in ("sum", "value")
    if head in ("name", "sum", "value") and len(kinds) == 1 and roll < 0.6 and not dose:
        return _BY_KIND[kinds[0]]
    return _BY_HEAD.get(head, _NOTES["any"])
