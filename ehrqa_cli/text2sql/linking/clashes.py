"""Short names that are several things: "CMP" is a disease of the heart and a panel of lab tests."""

from __future__ import annotations

from collections.abc import Iterable

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.ehr.value_index import stems

_SHORT = 4  # letters of a name that stands for other words
# Kinds that record one thing in several ways: a drug is ordered, infused and tested with.
_ALIKE = (
    frozenset({"dx", "organism"}),
    frozenset({"lab", "vital", "specimen", "mtest"}),
    frozenset({"drug", "intake", "proc", "antibiotic", "output"}),
    frozenset({"admloc", "dischloc", "admtype", "careunit", "service"}),
)


def clashing(mention: str, meant: Iterable[Concept], others: Iterable[Concept]) -> list[Concept]:
    """The ``others`` that are another thing than what is ``meant`` by a short name: of another sort
    of kind, and without a word in common."""
    if len(mention) > _SHORT or not mention.isalnum():
        return []
    known = list(meant)
    return [o for o in others if known and all(_unlike(o, concept) for concept in known)]


def _unlike(a: Concept, b: Concept) -> bool:
    alike = any({a.kind, b.kind} <= kinds for kinds in _ALIKE)
    return a.kind != b.kind and not alike and not set(stems(a.name)) & set(stems(b.name))
