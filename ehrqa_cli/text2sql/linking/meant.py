"""Names of a question as concepts: the sets of items that they stand for in this record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ehrqa_cli.concepts.meaning import LONGEST, Meanings, folded
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import stems
from ehrqa_cli.text2sql.linking.context import (
    allowed,
    named,
    ordinary_word_allowed,
    short_name_allowed,
)
from ehrqa_cli.text2sql.linking.exact import Match
from ehrqa_cli.text2sql.linking.render import ORDER
from ehrqa_cli.text2sql.linking.tokens import WORDS, Token
from ehrqa_cli.words import lists

# Marks that may stand inside a name.
_INSIDE = frozenset("-/'(),&")
_SPELT_ALIKE = lists.word_list(WORDS, "spelt alike")
_MEASURED = re.compile(r"\b(?:last|latest|recent|first|peak|nadir|trend|repeat|initial)\b")
# What of a drug's record is asked about, by the words around its name (words.txt).
_COUNTS = {
    name: (lists.word_list(WORDS, f"counts {name}"), tables)
    for name, tables in {
        "ordered": ("prescriptions",),
        "infused": ("inputevents",),
        "given": ("emar", "inputevents"),
    }.items()
}
# Kinds of which a name that is made of an item's words means all that hold them.
_WIDE = frozenset({"dx", "proc", "drug"})
_VOLUMES = re.compile(r"\b(?:how much|total|volume|amount|ml|mls|litres?|liters?|cc|ccs)\b")
_PEOPLE = (
    r"(?:patients?|pts?|people|persons?|men|women|man|woman|males?|females?|adults?|folks|"
    r"(?:of|by|in|as) race|race(?: is| was)?)"
)
# By the words right before and right after a name: is it a restriction of this kind?
_RESTRICTING = {
    "race": (
        re.compile(rf"\b{_PEOPLE}(?: (?:who|that))?(?: (?:is|are|were|was|identif\w+ as))? $"),
        re.compile(rf"(?:,? (?:or|and) \w+)? {_PEOPLE}\b"),
    ),
    "service": (
        re.compile(r"\b(?:on|under|by|to|for|in)(?: the)? $"),
        re.compile(r" (?:service|team)\b"),
    ),
    "resistant": (
        re.compile(r"\bresistan(?:t|ce) to(?: the)? $"),
        re.compile(r"[- ]resistant\b|(?: was| were| is| are)? ?(?:=|:) ?r\b"),
    ),
    "susceptible": (
        re.compile(r"\b(?:sensitive|susceptible|sensitivity|susceptibility) to(?: the)? $"),
        re.compile(r"[- ](?:sensitive|susceptible)\b"),
    ),
}
# What stands between two names of one thing.
_SAME = re.compile(r" ?\(| (?:of |with |for )?(?:an? |the |any |some )?|,? (?:i\.?e\.?,?|aka|or) ")
_EXCEPT = re.compile(
    r",? \(?(?:other than|except(?:ing)?(?: for)?|excluding|apart from|but not|not counting) "
)
_VALUED = frozenset(
    {"last", "latest", "recent", "first", "highest", "lowest", "peak", "max", "min", "average"}
    | {"mean", "serum", "blood", "a", "of"}
)


@dataclass(frozen=True)
class Unmeant:
    """A span that names what this record has not, or has several of: ``kind`` is its type, or
    ``ambiguous`` with the ``meanings``."""

    start: int
    end: int
    kind: str
    meanings: tuple[Concept, ...] = ()


class Meant:
    """Finds the concepts that a question names, in one record."""

    def __init__(self, meanings: Meanings) -> None:
        self.meanings = meanings

    def find(
        self, text: str, tokens: list[Token], exact: Iterable[Match]
    ) -> Iterator[Link | Unmeant]:
        """The names in folded ``text``, the longest first, none overlapping; ``exact`` are whole
        names of items, which mean these where they are no concept's phrase."""
        whole = {(match.first, match.last): match for match in exact}
        spans = {*whole, *self._spans(tokens)}
        taken: list[tuple[int, int]] = []
        links: list[Link] = []
        for first, last in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
            if any(first < stop and begin < last for begin, stop in taken):
                continue
            found = self._read(text, tokens, first, last, whole.get((first, last)))
            if found is not None:
                taken.append((first, last))
            if isinstance(found, Unmeant):
                yield found
            elif found is not None:
                links.append(found)
        yield from _joined(text, sorted(links, key=lambda link: link.start))

    def of_value(self, link: Link, text: str) -> Link:
        """A link to one name of an item, with the items that hold the words of the mention too."""
        mention = text[link.start : link.end]
        concepts = []
        for kind in link.types:
            own = self.meanings.of_name(kind, str(link.value))
            more = self.meanings.of_words(kind, stems(mention), mention).items
            items = dict.fromkeys((*own.items, *(more if kind in _WIDE else ())))
            concepts.append(replace(own, name=mention, items=tuple(items)))
        return replace(link, concepts=tuple(c for c in concepts if c.items))

    def _spans(self, tokens: list[Token]) -> Iterator[tuple[int, int]]:
        for first, token in enumerate(tokens):
            if not token.text[0].isalnum():
                continue
            words: list[str] = []
            for last, other in enumerate(tokens[first:], first + 1):
                if other.text[0].isalnum():
                    words.append(other.text)
                    if self.meanings.knows(" ".join(words)):
                        yield first, last
                elif other.text not in _INSIDE:
                    break
                if len(words) == LONGEST:
                    break

    def _read(
        self, text: str, tokens: list[Token], first: int, last: int, whole: Match | None
    ) -> Link | Unmeant | None:
        start, end = tokens[first].start, tokens[last - 1].end
        phrase = folded(text[start:end])
        options: dict[str, list[Concept]] = {}
        for concept in self.meanings.named(phrase):
            options.setdefault(concept.kind, []).append(concept)
        for kind, value in (whole.values if whole else {}).items():
            options.setdefault(kind, [self.meanings.of_name(kind, value)])
        if restricted := self._restriction(options, text, tokens, first, last):
            return restricted
        possible = [
            kind
            for kind in options
            if kind in ORDER and _rule(phrase)(kind, tokens, first, last, text)
        ]
        if not possible:
            return None
        live = {kind for kind in possible if any(c.items for c in options[kind])}
        measured = _MEASURED.search(text) is not None

        def place(kind: str) -> tuple[bool, bool, bool, int]:
            off = measured and "lab" in possible and kind != "lab"
            return not named(kind, text), kind not in live, off, ORDER[kind]

        kind = min(possible, key=place)
        meant = _one([c for c in options[kind] if c.items])
        if not meant and self.meanings.has(kind):  # looked for, and nothing is there
            return Link(
                start, end, (kind,), options[kind][0].name, "concept", 1.0, (options[kind][0],)
            )
        if len(meant) != 1:
            return Unmeant(start, end, "ambiguous" if meant else kind, tuple(meant))
        kind, concept = self._counted(kind, _narrowed(meant[0]), text, tokens, (first, last))
        return Link(start, end, (kind,), concept.name, "concept", 1.0, (concept,))

    def _restriction(
        self,
        options: Mapping[str, list[Concept]],
        text: str,
        tokens: list[Token],
        first: int,
        last: int,
    ) -> Link | None:
        """What limits the question beside what it asks: whose race, which service, resistant to
        what."""
        start, end = tokens[first].start, tokens[last - 1].end
        for kind, (before, after) in _RESTRICTING.items():
            known = options.get("antibiotic" if kind in ("resistant", "susceptible") else kind)
            said = before.search(text[:start]), after.match(text[end:])
            if not known or not any(said):
                continue
            if kind in ("resistant", "susceptible"):  # the words that say so go with it
                start = said[0].start() if said[0] else start
                end = end + said[1].end() if said[1] and not said[0] else end
            return Link(start, end, (kind,), known[0].name, "concept", 1.0, (known[0],))
        return None

    def _counted(
        self, kind: str, concept: Concept, text: str, tokens: list[Token], span: tuple[int, int]
    ) -> tuple[str, Concept]:
        """The concept with the tables that the words around it ask about: a drug is ordered,
        administered, infused."""
        if kind != "drug":
            return kind, concept
        how = _nearest(tokens, *span)
        infused = [item for item in concept.items if item.table == "inputevents"]
        volume = _VOLUMES.search(text) and any(item.unit in ("ml", "l") for item in infused)
        if infused and (how == "infused" or (volume and how != "ordered")):
            return "intake", replace(concept, kind="intake", items=tuple(infused))
        tables = _COUNTS[how][1] if how else ()
        items = tuple(item for item in concept.items if item.table in tables)
        return kind, replace(concept, items=items) if items else concept


def _joined(text: str, links: list[Link]) -> Iterator[Link]:
    """The links, with what says one thing twice as one: "transfused red cells", "bypass (cabg)";
    and "nsaids other than aspirin"."""
    kept: list[Link] = []
    for link in links:
        both = _both(text, kept[-1], link) if kept else None
        if both:
            kept[-1] = both
        else:
            kept.append(link)
    yield from kept


def _both(text: str, one: Link, other: Link) -> Link | None:
    """Two links as one, where that is what they say."""
    between, narrow = text[one.end : other.start], _narrower(one, other)
    if narrow is None or one.types != other.types:
        return None
    if _EXCEPT.fullmatch(between):
        return replace(_without(one, other), end=other.end)
    if not _SAME.fullmatch(between):
        return None
    closed = "(" in between and text[other.end : other.end + 1] == ")"
    return replace(narrow, start=one.start, end=other.end + closed)


def _without(wide: Link, narrow: Link) -> Link:
    """The first link less the items of the second."""
    left, concept = set(narrow.concepts[0].items), wide.concepts[0]
    name = f"{concept.name} other than {narrow.concepts[0].name}"
    items = tuple(item for item in concept.items if item not in left)
    return replace(wide, value=name, concepts=(replace(concept, name=name, items=items),))


def _narrower(one: Link, other: Link) -> Link | None:
    """Of two links the one whose concept the other's holds whole."""
    ours, its = (set(link.concepts[0].items) for link in (one, other))
    if not ours or not its:
        return None
    return one if ours <= its else other if its <= ours else None


def _single(_kind: str, tokens: list[Token], first: int, last: int, _text: str) -> bool:
    """Whether a single letter ("k") is a name: where a value of it is asked for."""
    before = tokens[first - 1].text if first else ""
    after = tokens[last].text if last < len(tokens) else ""
    return (before in _VALUED and after != "'") or after in ("+", "level", "levels")


def _rule(phrase: str) -> Callable[[str, list[Token], int, int, str], bool]:
    """The rule of place: short names and ordinary words have stricter ones."""
    if len(phrase) == 1:
        return _single
    if phrase in _SPELT_ALIKE:
        return ordinary_word_allowed
    return allowed if len(phrase) > 2 else short_name_allowed


def _one(concepts: list[Concept]) -> list[Concept]:
    """Those that differ: a concept that the one before it holds whole says no more."""
    kept: list[Concept] = []
    for concept in concepts:
        items = set(concept.items)
        if not any(items <= set(k.items) or items >= set(k.items) for k in kept):
            kept.append(concept)
    return kept


def _narrowed(concept: Concept) -> Concept:
    """Of a lab test in blood the commonest item, not each that measures the same."""
    if not concept.alone or not concept.items:
        return concept
    first = concept.items[0]
    return replace(concept, items=tuple(item for item in concept.items if _alike(item, first)))


def _alike(item: Item, other: Item) -> bool:
    mine, its = (
        (x.table, x.name.lower(), x.specimen.lower(), x.category.lower()) for x in (item, other)
    )
    return mine == its


def _nearest(tokens: list[Token], first: int, last: int) -> str | None:
    """Which of the words that say what counts stands nearest; one before the name goes first."""
    best: tuple[int, str] | None = None
    for place, token in enumerate(tokens):
        for how, (words, _) in _COUNTS.items():
            if token.text in words:
                away = first - place if place < first else 2 * (place - last + 1)
                if best is None or away < best[0]:
                    best = (away, how)
    return best[1] if best else None
