"""Names of a question that stand together: what says one thing twice, what leaves one out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.concepts import Concept, Item

# What stands between two names of one thing, of things taken together, of a thing and what is
# left out of it.
_SAME = re.compile(r" ?\(| (?:of |with |for )?(?:an? |the |any |some )?|,? (?:i\.?e\.?|aka),? ")
_EITHER = re.compile(r" (?:or|and/or) (?:an? |the |any )?|,? \(?including ")
_EXCEPT = re.compile(
    r",? \(?(?:other than|except(?:ing)?(?: for)?|excluding|apart from|but not|not counting) "
)
# Words beside a name that say no more than that it is recorded, in whatever form.
_IDLE_BEFORE = re.compile(
    r"(?:^|[ (])((?:any (?:kind|type|sort|form) of |any |some (?:kind|sort|form) of |documented "
    r"|recorded |charted |coded |diagnosed |known ))$"
)
_IDLE_AFTER = re.compile(
    r" (?:of any (?:kind|type|sort|form|cause|stage)|(?:by|in|on) (?:the )?(?:billing |icd )?codes?"
    r"|(?:coded|charted|recorded|documented|on record|in the record|on file|on the chart)"
    r"(?: in the chart)?|whatever the (?:cause|type|kind|form)|by any route)(?![\w-])"
)


_SHORT = 5  # letters of an abbreviation
_ANY_ORGANISM = re.compile(r"\b(?:bacteria|organisms?)\b")


@dataclass(frozen=True)
class Mention:
    """A name at ``[start, end)`` of the text, tokens ``[first, last)``, and the concepts that it
    may stand for, by kind."""

    first: int
    last: int
    start: int
    end: int
    options: Mapping[str, tuple[Concept, ...]]


def joined(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """The mentions, in order, with what says one thing as one: "transfused red cells", "bypass
    (cabg)", "withdrawal or dts", "nsaids other than aspirin"; words that add nothing go with
    them: "any kind of dialysis"."""
    kept: list[Mention] = []
    for mention in (_with_idle(text, m) for m in sorted(mentions, key=lambda m: m.start)):
        both = _both(text, kept[-1], mention) if kept else None
        if both:
            kept[-1] = both
        else:
            kept.append(mention)
    return kept


def as_organism(mention: Mention) -> Mention | None:
    """A mention where something is said to be resistant: an organism, if it can be one; "bacteria",
    a test of urine elsewhere, is then any of them."""
    grown = mention.options.get("organism")
    if grown:
        return replace(mention, options={"organism": grown})
    names = {concept.name for meant in mention.options.values() for concept in meant}
    return None if any(map(_ANY_ORGANISM.fullmatch, names)) else mention


def any_organism(text: str) -> list[tuple[int, int]]:
    """Where a text speaks of organisms of any name."""
    return [match.span() for match in _ANY_ORGANISM.finditer(text)]


def _with_idle(text: str, mention: Mention) -> Mention:
    before, after = (
        _IDLE_BEFORE.search(text[: mention.start]),
        _IDLE_AFTER.match(text[mention.end :]),
    )
    start = before.start(1) if before else mention.start
    return replace(mention, start=start, end=mention.end + (after.end() if after else 0))


def _both(text: str, one: Mention, other: Mention) -> Mention | None:
    """Two mentions as one, of the kinds in which the one's items are among the other's."""
    between = text[one.end : other.start]
    if between == " (" and text[other.end : other.end + 1] == ")" and _explains(one, other):
        return replace(other, first=one.first, start=one.start, end=other.end + 1)
    options: dict[str, tuple[Concept, ...]] = {}
    for kind in one.options:
        ours, its = _only(one, kind), _only(other, kind)
        made = _together(between, ours, its) if ours and its else None
        if made is not None:
            options[kind] = (made,)
    if not options:
        return None
    closed = "(" in between and text[other.end : other.end + 1] == ")"
    return replace(one, last=other.last, end=other.end + closed, options=options)


def _explains(short: Mention, long: Mention) -> bool:
    """Whether a name in brackets says what the short one before it stands for."""
    letters, written = short.end - short.start, long.end - long.start
    return short.options.keys().isdisjoint(long.options) and letters <= _SHORT < written


def _only(mention: Mention, kind: str) -> Concept | None:
    live = [concept for concept in mention.options.get(kind, ()) if concept.items]
    return live[0] if len(live) == 1 else None


def _together(between: str, one: Concept, other: Concept) -> Concept | None:
    ours, its = set(one.items), set(other.items)
    if not (ours <= its or its <= ours):
        return None
    if _EXCEPT.fullmatch(between):
        name = f"{one.name} other than {other.name}"
        return replace(one, name=name, items=_less(one.items, its))
    if _EITHER.fullmatch(between):
        return other if ours <= its else one
    if _SAME.fullmatch(between):
        return one if ours <= its else other
    return None


def _less(items: Iterable[Item], left: set[Item]) -> tuple[Item, ...]:
    return tuple(item for item in items if item not in left)
