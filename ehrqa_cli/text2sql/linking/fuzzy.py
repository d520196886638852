"""Synonyms, abbreviations, brand names and misspellings: for questions in people's own words.

Everything is resolved to strings of this database, and only where one of them is clearly meant.
What could be several is reported as ambiguous, a known drug or lab that occurs nowhere as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking.aliases import HEAD, words
from ehrqa_cli.text2sql.linking.context import (
    allowed,
    named,
    ordinary_word_allowed,
    short_name_allowed,
)
from ehrqa_cli.text2sql.linking.exact import singulars
from ehrqa_cli.text2sql.linking.names import KINDS, Meaning, Name, Names
from ehrqa_cli.text2sql.linking.spelling import SHORTEST, Spelling
from ehrqa_cli.text2sql.linking.synonyms import vocabulary
from ehrqa_cli.text2sql.linking.tokens import WORDS, Token
from ehrqa_cli.words import lists
from ehrqa_cli.words.wordpieces import whole_words

_SPELT_ALIKE = lists.word_list(WORDS, "spelt alike")

_RANK = {kind: place for place, kind in enumerate(KINDS)}
_PLACES = frozenset({"admloc", "admtype", "dischloc"})
_ENDINGS = frozenset(".?!;:")
_LONGEST = 12
_LONG_QUESTION = 300  # tokens; longer texts are linked exactly only, for the rest takes long
_PER_EDIT = 0.4  # quality lost for a name that is misspelt throughout
PRESCRIBED = re.compile(r"\b(?:prescri\w*|rx|scripts?)\b")
# what is asked of a measurement: "last bicarb of ..."
_MEASURED = re.compile(r"\b(?:last|latest|recent|first|peak|nadir|trend|repeat|initial)\b")
# a drug given continuously, in intensive care: an intake, where the database has it
INFUSED = re.compile(
    r"\b(?:infus\w*|drips?|gtts?|inputs?|intakes?|titrat\w*|pressors?|bolus\w*|icu intake)\b"
)


@dataclass(frozen=True)
class Unresolved:
    """A span that is a value's name, but of none or of several values here."""

    start: int
    end: int
    kind: str


class FuzzyFinder:
    """Finds names of the database's values that are not spelt as the database spells them."""

    def __init__(self, index: ValueIndex, everyday: Iterable[tuple[str, str, str]] = ()) -> None:
        self.names = Names(index, everyday)
        self._first = {name.split(" ", 1)[0] for name in self.names}

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self.names, vocabulary() | whole_words())

    def find(
        self, folded: str, tokens: list[Token], links: list[Link]
    ) -> Iterator[Link | Unresolved]:
        """Synonyms in the text, longest first; then misspellings in what is left of it."""
        if len(tokens) > _LONG_QUESTION:
            return
        runs = [token for token in tokens if token.text[0].isalnum() or token.text in _ENDINGS]
        places = {token.start: place for place, token in enumerate(tokens)}
        taken: list[tuple[int, int]] = []
        for first, last in _spans(runs, self._first):
            start, end = runs[first].start, runs[last - 1].end
            if any(start < stop and begin < end for begin, stop in taken):
                continue
            if _blocked(start, end, [x for x in links if not _gives_way(x, folded)]):
                continue
            low, high = places[start], places[runs[last - 1].start] + 1
            found = self._resolve(runs[first:last], tokens, low, high, folded, links)
            if found is not None:
                taken.append((start, end))
                yield found
        yield from self._misspelt(folded, tokens, [*taken, *((x.start, x.end) for x in links)])

    def _resolve(
        self,
        run: list[Token],
        tokens: list[Token],
        low: int,
        high: int,
        folded: str,
        links: list[Link],
    ) -> Link | Unresolved | None:
        start, end = run[0].start, run[-1].end
        run = [token for token in run if token.text not in _ENDINGS]
        for phrase in _readings([token.text for token in run]):
            kinds = self.names.kinds(phrase)
            if kinds:
                choice = self._choose(phrase, tokens, low, high, folded)
                if isinstance(choice, str):
                    if _touches(start, end, links):
                        return None
                    return Unresolved(start, end, choice)
                if choice is not None:
                    types, meaning = choice
                    if _keeps(types, meaning.value, start, end, folded, links):
                        return None
                    how = "chosen" if meaning.chosen else "alias"
                    return Link(start, end, types, meaning.value, how, meaning.quality)
            missing = self.names.missing.get(phrase)
            if missing and len(phrase) >= SHORTEST and not _touches(start, end, links):
                return Unresolved(start, end, missing)
        return None

    def _choose(
        self, phrase: str, tokens: list[Token], low: int, high: int, folded: str
    ) -> tuple[tuple[str, ...], Meaning] | str | None:
        """The types and value meant, "ambiguous", or None where the context speaks against all."""
        kinds = self.names.kinds(phrase)
        possible = [
            kind
            for kind, names in kinds.items()
            if (phrase not in lists.question_words() or _comes_from(kind, tokens, low))
            and _in_place(kind, phrase, names)(kind, tokens, low, high, folded)
            and (named(kind, folded) or not _needs_naming(kind, names))
        ]
        if not possible:
            return None
        if "drug" in possible and "intake" in possible:
            possible, types = self._given(phrase, possible, folded)
        else:
            types = ()
        penalty = {kind: min(name.penalty for name in kinds[kind]) for kind in possible}
        measured = "lab" in possible and _MEASURED.search(folded) is not None

        def place(kind: str) -> tuple[bool, int, bool, int]:
            return not named(kind, folded), penalty[kind], measured and kind != "lab", _RANK[kind]

        kind = min(possible, key=place)
        meaning = self.names.meaning(kind, phrase)
        if meaning is None:
            return "ambiguous"
        return (types if kind in types else (kind,)), meaning

    def _given(
        self, phrase: str, possible: list[str], folded: str
    ) -> tuple[list[str], tuple[str, ...]]:
        """Prescribed or infused? Either where both have the one name; else as the words say."""
        prescribed = self.names.meaning("drug", phrase)
        infused = self.names.meaning("intake", phrase)
        if prescribed and infused and prescribed.value == infused.value:
            return [kind for kind in possible if kind != "intake"], ("drug", "intake")
        left = "drug" if infused and INFUSED.search(folded) else "intake"
        return [kind for kind in possible if kind != left], ()

    def _misspelt(
        self, folded: str, tokens: list[Token], taken: list[tuple[int, int]]
    ) -> Iterator[Link | Unresolved]:
        for first, last in _candidates(tokens, taken):
            start, end = tokens[first].start, tokens[last - 1].end
            if any(start < stop and begin < end for begin, stop in taken):
                continue
            found = self._spelling.nearest(" ".join(words(folded[start:end])))
            if found is None:
                continue
            nearest, edits = found
            if all(name in self.names.missing for name in nearest):
                taken.append((start, end))
                yield Unresolved(start, end, self.names.missing[nearest[0]])
                continue
            choices = [self._choose(name, tokens, first, last, folded) for name in nearest]
            choice = choices[0]
            if isinstance(choice, str):
                taken.append((start, end))
                yield Unresolved(start, end, choice)
            elif choice is not None and _agree(choices):
                taken.append((start, end))
                types, meaning = choice
                quality = round(meaning.quality - _PER_EDIT * edits / len(nearest[0]), 3)
                yield Link(start, end, types, meaning.value, "spelling", quality)


def _agree(choices: list[tuple[tuple[str, ...], Meaning] | str | None]) -> bool:
    """Whether all names that are as near mean one thing ("troponin", "troponins")."""
    meant = {(x[0], x[1].value) if isinstance(x, tuple) else x for x in choices}
    return len(meant) == 1


def _comes_from(kind: str, tokens: list[Token], first: int) -> bool:
    """ "admitted from clinic": a word of questions that here can only be a place."""
    return kind in _PLACES and first > 0 and tokens[first - 1].text in ("from", "via")


def _needs_naming(kind: str, names: list[Name]) -> bool:
    """Whether the question must speak of the type: a place is of arrival or of departure."""
    return kind in _PLACES or min(name.penalty for name in names) >= HEAD


def _in_place(kind: str, phrase: str, names: list[Name]) -> Callable[..., bool]:
    """The rule of place: short names of ours and ordinary words have stricter ones."""
    if kind == "route":
        return allowed
    if phrase in _SPELT_ALIKE:
        return ordinary_word_allowed
    if len(phrase) > 2:
        return allowed
    own = any(" ".join(words(name.value)) == phrase for name in names)
    return allowed if own else short_name_allowed


def _readings(texts: list[str]) -> list[str]:
    phrase = " ".join(texts)
    head = texts[:-1]
    return [phrase, *(" ".join([*head, stem]) for stem in singulars(texts[-1]))]


def _spans(runs: list[Token], firsts: set[str]) -> list[tuple[int, int]]:
    """Spans of words within a sentence, longest first, that can begin a name."""
    spans = []
    for first, token in enumerate(runs):
        if token.text not in firsts and not any(s in firsts for s in singulars(token.text)):
            continue
        for last in range(first + 1, min(len(runs), first + _LONGEST) + 1):
            ending = runs[last - 1]
            if ending.text in _ENDINGS:
                # "c. dif" and "t. bili": a point after one letter does not end a sentence
                if last - 2 >= first and len(runs[last - 2].text) == 1 and ending.text == ".":
                    continue
                break
            spans.append((first, last))
    return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))


def _blocked(start: int, end: int, links: list[Link]) -> bool:
    """Whether links that are no part of a longer name lie in the way."""
    for link in links:
        if start < link.end and link.start < end:
            inside = start <= link.start and link.end <= end
            if not inside or link.how in ("id", "option"):
                return True
    return False


def _gives_way(link: Link, folded: str) -> bool:
    """Whether "coumadin (warfarin)" only happens to be spelt like an intake of the dictionary, or
    "furosemide (lasix)" like an infusion though a prescription is asked about."""
    if link.types != ("intake",) or "(" not in folded[link.start : link.end]:
        return False
    return link.how == "dictionary" or (
        PRESCRIBED.search(folded) is not None and not INFUSED.search(folded)
    )


def _touches(start: int, end: int, links: list[Link]) -> bool:
    return any(start < link.end and link.start < end for link in links)


def _keeps(
    types: tuple[str, ...], value: str, start: int, end: int, folded: str, links: list[Link]
) -> bool:
    """Whether what is linked there already is the better reading."""
    for link in links:
        if link.how == "dictionary" or not _touches(start, end, [link]):
            continue
        if link.value == value:
            return True  # "foley output" says no more than "foley"
        if (link.start, link.end) == (start, end):
            if link.how not in ("exact", "synonym"):
                return True
            return any(named(known, folded) for known in link.types) or not any(
                named(kind, folded) for kind in types
            )
    return False


def _candidates(tokens: list[Token], taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of up to five free words that hold a word which is neither common nor of a question."""
    free = [
        not any(token.start < stop and begin < token.end for begin, stop in taken)
        for token in tokens
    ]
    spans = []
    for first, token in enumerate(tokens):
        if not free[first] or _ordinary(token.text):
            continue
        for last in range(first + 1, min(len(tokens), first + 9) + 1):
            if not free[last - 1] or tokens[last - 1].text in _ENDINGS:
                break
            if not _ordinary(tokens[last - 1].text):
                spans.append((first, last))
    return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))


def _ordinary(word: str) -> bool:
    return len(word) < 3 or word in lists.everyday_words()
