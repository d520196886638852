"""Slips of the hand in a linked question, outside of its references."""

from __future__ import annotations

import random
import re

_REFERENCE = re.compile(r"((?:<[a-z_]+>)+#\d+|<no(?:pat|study)>|<then>)")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def slipped(text: str, rng: random.Random) -> str:
    """``text`` with one to three slips: letters swapped, lost, doubled or wrong, or a part
    without its punctuation."""
    parts = _REFERENCE.split(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        k = rng.randrange(0, len(parts), 2)
        if len(parts[k]) > 3:
            parts[k] = _slip(parts[k], rng)
    return "".join(parts)


def _slip(part: str, rng: random.Random) -> str:
    kind, i = rng.random(), rng.randrange(len(part) - 1)
    if kind < 0.2:
        return re.sub(r"[?.,;:!]", "", part)
    if not (part[i].isalpha() and part[i + 1].isalpha()):
        return part
    if kind < 0.5:
        return part[:i] + part[i + 1] + part[i] + part[i + 2 :]
    if kind < 0.7:
        return part[:i] + part[i + 1 :]
    if kind < 0.85:
        return part[:i] + part[i] + part[i:]
    return part[:i] + rng.choice(_LETTERS) + part[i + 1 :]
