"""A concept in few words, for people."""

from __future__ import annotations

from collections.abc import Iterable

from ehrqa_cli.contracts.concepts import Concept

KINDS = {
    "dx": "diagnosis",
    "proc": "procedure",
    "lab": "lab test",
    "vital": "vital sign",
    "mtest": "culture",
    "dischloc": "discharge",
    "admloc": "admitted from",
    "admtype": "kind of admission",
    "careunit": "unit",
    "marital": "marital status",
}
_MEMBERS = {"dx": "code", "drug": "name"}
_SHOWN = 5


def how_many(concept: Concept) -> int:
    """Its members as people count them: codes, or else names (two items may share one)."""
    return len(concept.items if concept.kind == "dx" else {item.name for item in concept.items})


def in_short(concept: Concept) -> str:
    """What it is and how much of it there is: "sepsis (diagnosis, 12 codes)"."""
    many, member = how_many(concept), _MEMBERS.get(concept.kind, "item")
    kind = KINDS.get(concept.kind, concept.kind)
    return f"{concept.name} ({kind}, {many:,} {member}{'s' * (many != 1)})"


def to_choose(concepts: Iterable[Concept]) -> str:
    """Several to choose from."""
    told = list(map(in_short, concepts))
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
