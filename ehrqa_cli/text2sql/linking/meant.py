"""Names of a question as concepts: the sets of items that they stand for in this record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import zip_longest

from ehrqa_cli.concepts import labs
from ehrqa_cli.concepts.meaning import LONGEST, Meanings, folded
from ehrqa_cli.concepts.micro import is_organism
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import stems
from ehrqa_cli.text2sql.linking.clashes import clashing
from ehrqa_cli.text2sql.linking.context import (
    SPOKEN_OF,
    allowed,
    nearest_naming,
    ordinary_word_allowed,
    short_name_allowed,
)
from ehrqa_cli.text2sql.linking.diseases import Diseases
from ehrqa_cli.text2sql.linking.exact import Match
from ehrqa_cli.text2sql.linking.mentions import Mention, as_organism, joined
from ehrqa_cli.text2sql.linking.render import ORDER
from ehrqa_cli.text2sql.linking.restrictions import TESTED, Restriction, by_words, outside
from ehrqa_cli.text2sql.linking.tokens import WORDS, Token
from ehrqa_cli.words import lists

# Marks that may stand inside a name.
_INSIDE = frozenset("-/'(),&%")
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
_RESISTANT = re.compile(r"(?P<drug>\w+) resistant (?P<organism>.+)")
_WAS_GIVEN = re.compile(r"(?<=\w )(?:given|administered)(?= )")
# What is compared with a number is measured.
_COMPARED = re.compile(
    r" (?:(?:levels?|counts?|values?|was|were|is|that|of|ever|fell|went) )*"
    r"(?:over|above|below|under|less than|greater than|more than|higher than|lower than|at least"
    r"|at most|>=?|<=?|past|between)"
)
_LAB_AFTER = re.compile(r" (?:labs?|tests?|levels?)\b")
# Words that begin a name and are asked of it: they stay outside of it.
_OUTSIDE = {
    "dischloc": frozenset({"left", "discharged", "sent", "went", "gone", "going"}),
    "intake": frozenset({"total"}),
    "output": frozenset({"total"}),
}
_FORMS = lists.word_list(WORDS, "forms asked for")
# An infection may be a diagnosis or what grew.
_DISEASE_OR_CAUSE = frozenset({"dx", "organism"})
_POURED = frozenset({"output", "intake"})
_VOLUMES = re.compile(r"\b(?:how much|total|volume|amount|ml|mls|litres?|liters?|cc|ccs)\b")
_VALUED = frozenset(
    {"last", "latest", "recent", "first", "highest", "lowest", "peak", "max", "min", "average"}
    | {"mean", "serum", "blood", "a", "of"}
)
_Rule = Callable[[str, list[Token], int, int, str], bool]


@dataclass(frozen=True)
class Unmeant:
    """A span that names what this record has not, or has several of: ``kind`` is its type, or
    ``ambiguous`` with the ``meanings``."""

    start: int
    end: int
    kind: str
    meanings: tuple[Concept, ...] = ()

    def as_link(self, text: str) -> Link:
        """The span of ``text`` with all of its meanings."""
        kinds = dict.fromkeys(concept.kind for concept in self.meanings)
        mention = text[self.start : self.end]
        return Link(self.start, self.end, (*kinds,), mention, "ambiguous", 0.0, self.meanings)


class Meant:
    """Finds the concepts that a question names, in one record."""

    def __init__(self, meanings: Meanings) -> None:
        self.meanings = meanings
        self.diseases = Diseases(meanings)

    def find(
        self, text: str, tokens: list[Token], exact: Iterable[Match]
    ) -> Iterator[Link | Unmeant]:
        """The names in folded ``text``, the longest first, none overlapping; ``exact`` are whole
        names of items, which mean these where they are no concept's phrase."""
        whole = {(match.first, match.last): match.values for match in exact}
        spans = {*whole, *self._spans(tokens)}
        mentions: list[Mention] = [*self.diseases.codes(text, tokens)]
        taken = [(mention.first, mention.last) for mention in mentions]
        tested = False
        for first, last in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
            if any(first < stop and begin < last for begin, stop in taken):
                continue
            options = self._options(text, tokens, first, last, whole.get((first, last), {}))
            start, end = tokens[first].start, tokens[last - 1].end
            restricted = by_words(options, text, start, end)
            possible = {
                kind: tuple(meant)
                for kind, meant in options.items()
                if kind in ORDER and _rule(text, tokens, first, last)(kind)
            }
            if restricted:
                kind, concept = restricted
                both = (*options.get("drug", ())[:1], concept) if kind in TESTED else (concept,)
                tested = tested or kind in TESTED
                name = "drug" if kind in TESTED else kind
                yield Link(start, end, (name,), concept.name, "concept", 1.0, both)
            elif possible:
                mentions.append(Mention(first, last, start, end, possible))
            if restricted or possible:
                taken.append((first, last))
        if tested:
            mentions = [grown for mention in mentions if (grown := as_organism(mention))]
        meant = joined(text, self.diseases.placed(text, tokens, mentions))
        for mention, after in zip_longest(meant, meant[1:]):
            found = self._read(text, tokens, mention)
            if after and after.start == mention.end + 1 and {"dx"} == {*mention.options}:
                drug = "drug" in after.options
                found = Unmeant(mention.start, after.end, "drug") if drug else found
            yield from self._with_test(found) if isinstance(found, Link) else (found,)

    def restrictions(self, text: str) -> list[Restriction]:
        """What limits the question beside what the model reads."""
        outpatients = any(i.code == "outpatient" for i in self.meanings.of_kind("encounter"))
        return outside(text, outpatients)

    def _tested(self, concept: Concept) -> tuple[Concept, Concept | None]:
        """An organism that is called resistant: with the organism itself, and what that was tested
        with; any other concept as it is."""
        said = _RESISTANT.fullmatch(concept.name) if concept.kind == "organism" else None
        organism = self._live(said["organism"], "organism") if said else None
        tested = self._live(said["drug"], "antibiotic") if said else None
        if organism is None or tested is None:
            return concept, None
        items = dict.fromkeys((*concept.items, *organism.items))
        return replace(concept, items=tuple(items)), tested

    def _with_test(self, link: Link) -> Iterator[Link]:
        """A link, and what its organism was tested with, where that is part of its name."""
        yield link
        tested = self._tested(link.concepts[0])[1] if link.concepts else None
        if tested is not None:
            yield Link(link.end, link.end, ("resistant",), tested.name, "concept", 1.0, (tested,))

    def _called_so(self, kind: str, mention: str) -> Iterator[Concept]:
        """What is called by a name whose concept does not occur: a pacemaker is in place though
        none was put in. A "no" would be unfounded then."""
        for other in ("proc", "dx") if kind in ("proc", "dx") else (kind,):
            concept = self.meanings.of_words(other, stems(mention), mention)
            if concept.items:
                yield concept

    def _live(self, phrase: str, kind: str) -> Concept | None:
        found = (c for c in self.meanings.named(phrase) if c.kind == kind and c.items)
        return next(found, None)

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
                before = tokens[last - 2]
                if other.text == "s" and before.text == "'" and before.end == other.start:
                    yield from ((first, last) for _ in range(self.meanings.knows(" ".join(words))))
                elif other.text[0].isalnum():
                    words.append(other.text)
                    if self.meanings.knows(" ".join(words)):
                        yield first, last
                elif other.text not in _INSIDE and not _abbreviates(other, before):
                    break
                if len(words) == LONGEST:
                    break

    def _options(
        self, text: str, tokens: list[Token], first: int, last: int, whole: Mapping[str, str]
    ) -> dict[str, list[Concept]]:
        """All that tokens ``[first, last)`` may stand for, by kind."""
        options: dict[str, list[Concept]] = {}
        for concept in self.meanings.named(text[tokens[first].start : tokens[last - 1].end]):
            options.setdefault(concept.kind, []).append(self._tested(concept)[0])
        known = any(concept.items for meant in options.values() for concept in meant)
        if "mtest" in whole and "specimen" in options and "specimen" not in whole:
            del options["specimen"]  # a test of just that name
        for kind, value in whole.items():
            if kind == "organism" and not is_organism(value):
                continue  # "positive" is a result
            if kind == "lab" and known and not _LAB_AFTER.match(text[tokens[last - 1].end :]):
                continue  # the "temperature" of a blood gas
            options.setdefault(kind, [self.meanings.of_name(kind, value)])
        return options

    def _read(self, text: str, tokens: list[Token], mention: Mention) -> Link | Unmeant:
        """What a mention means: of several kinds the one that is spoken of nearest."""
        start, end, options = mention.start, mention.end, mention.options
        if len(_DISEASE_OR_CAUSE & options.keys()) > 1 and not any(
            nearest_naming(kind, tokens, mention.first, mention.last) is not None
            for kind in _DISEASE_OR_CAUSE
        ):
            both = [c for kind in _DISEASE_OR_CAUSE for c in options[kind] if c.items]
            if len(both) > 1:
                return Unmeant(start, end, "ambiguous", tuple(both))
        live = [kind for kind, meant in options.items() if any(c.items for c in meant)]
        given = nearest_way(tokens, mention.first, mention.last) is not None
        measured = _COMPARED.match(text[end:]) or (_MEASURED.search(text) and not given)

        def place(kind: str) -> tuple[bool, bool, bool, int, int]:
            off = bool(measured) and "lab" in options and kind not in ("lab", "vital")
            away = nearest_naming(kind, tokens, mention.first, mention.last)
            away = 0 if kind in _POURED and _VOLUMES.search(text) else away
            if kind == "intake" and "drug" in live and not _VOLUMES.search(text) and away != 0:
                away = None  # what is infused of it is a matter of the words (see _counted)
            return off, away is None or kind not in live, kind not in live, away or 0, ORDER[kind]

        kind = min(options, key=place)
        meant = _one([concept for concept in options[kind] if concept.items])
        equal = [k for k in live if k != kind and place(k)[:-1] == place(kind)[:-1]]
        others = [concept for k in equal for concept in options[k] if concept.items]
        meant += clashing(text[start:end], meant, _one(others))
        if not meant and self.meanings.has(kind):  # looked for, and nothing is there
            meant = [options[kind][0]]
            called = tuple(self._called_so(kind, text[mention.start : mention.end]))
            if called:
                return Unmeant(start, end, "ambiguous", called)
        if len(meant) == 1 and kind == "dx" and self.diseases.qualified(mention, tokens):
            start = tokens[mention.first - 1].start
            meant = self.diseases.of_sort(mention, tokens, meant[0])
        if len(meant) != 1:
            return Unmeant(start, end, "ambiguous" if meant else kind, tuple(meant))
        span = (mention.first, mention.last)
        kind, concept = _counted(kind, _narrowed(meant[0]), text, tokens, span)
        if tokens[mention.first].text in _OUTSIDE.get(kind, ()):
            start = tokens[mention.first + 1].start
        return Link(start, end, (kind,), concept.name, "concept", 1.0, (concept,))


def _counted(
    kind: str, concept: Concept, text: str, tokens: list[Token], span: tuple[int, int]
) -> tuple[str, Concept]:
    """The concept with the tables that the words around it ask about: a drug is ordered,
    administered, infused."""
    if kind != "drug":
        return kind, concept
    how = nearest_way(tokens, *span)
    concept = _in_form(concept, {token.text for token in tokens[span[0] : span[1] + 1]})
    infused = [item for item in concept.items if item.table == "inputevents"]
    volume = _VOLUMES.search(text) and any(item.unit in ("ml", "l") for item in infused)
    if infused and (how == "infused" or (volume and how != "ordered")):
        return "intake", replace(concept, kind="intake", items=tuple(infused))
    tables = _COUNTS[how][1] if how else ()
    items = tuple(item for item in concept.items if item.table in tables)
    return kind, replace(concept, items=items) if items else concept


def _abbreviates(point: Token, before: Token) -> bool:
    """Whether a point stands for the rest of a word, as in "e. coli", or in a number."""
    short = len(before.text) == 1 or before.text.isdigit()
    return point.text == "." and short and before.end == point.start


def _in_form(concept: Concept, said: AbstractSet[str]) -> Concept:
    """A drug in the form that is asked for, where its names tell that ("nicotine patch")."""
    for form in said & _FORMS:
        items = tuple(i for i in concept.items if form.rstrip("s") in i.name.lower())
        concept = replace(concept, items=items or concept.items)
    return concept


def _single(_kind: str, tokens: list[Token], first: int, last: int, _text: str) -> bool:
    """Whether a single letter ("k") is a name: where a value of it is asked for."""
    before = tokens[first - 1].text if first else ""
    after = tokens[last].text if last < len(tokens) else ""
    return (before in _VALUED and after != "'") or after in ("+", "level", "levels")


def _rule(text: str, tokens: list[Token], first: int, last: int) -> Callable[[str], bool]:
    """May these words be a value of a kind? Short names and ordinary words have stricter rules."""
    phrase = folded(text[tokens[first].start : tokens[last - 1].end])
    rule: _Rule = allowed if len(phrase) > 2 else short_name_allowed
    if len(phrase) == 1:
        rule = _single
    elif phrase in _SPELT_ALIKE and not _COMPARED.match(text[tokens[last - 1].end :]):
        rule = ordinary_word_allowed
    # "on medicare", "spanish speaking": a phrase of several words speaks of its kind itself.
    told = SPOKEN_OF if last - first > 1 else frozenset()
    return lambda kind: kind in told or rule(kind, tokens, first, last, text)


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
    return replace(concept, items=labs.meant(concept.items)) if concept.alone else concept


def nearest_way(tokens: list[Token], first: int, last: int) -> str | None:
    """Which of the words that say what counts stands nearest; one before the name goes first."""
    best: tuple[int, str] | None = None
    for place, token in enumerate(tokens):
        for how, (words, _) in _COUNTS.items():
            if token.text in words:
                away = first - place if place < first else 2 * (place - last + 1)
                if best is None or away < best[0]:
                    best = (away, how)
    return best[1] if best else None


def as_prescribed(text: str, links: Iterable[Link]) -> list[tuple[int, int, str]]:
    """Where a drug "was given", and what the model reads there: what counts as given is in the
    concept already, and the model knows best what was prescribed."""
    if not any(link.types == ("drug",) and link.concepts for link in links):
        return []
    return [(*match.span(), "prescribed") for match in _WAS_GIVEN.finditer(text)]
