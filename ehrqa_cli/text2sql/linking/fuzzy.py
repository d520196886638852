"""Synonyms, abbreviations, brand names and misspellings: for questions in people's own words.

Everything is resolved to strings of this database, and only where one of them is clearly meant.
What could be several is reported as ambiguous, a known drug or lab that occurs nowhere as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking.aliases import aliases, words
from ehrqa_cli.text2sql.linking.context import COMMON, allowed, named, short_name_allowed
from ehrqa_cli.text2sql.linking.exact import singulars
from ehrqa_cli.text2sql.linking.question_words import QUESTION_WORDS
from ehrqa_cli.text2sql.linking.tokens import Token

_DATA = Path(__file__).with_name("synonyms.tsv")
_KINDS = (
    "drug", "lab", "dx", "proc", "vital", "specimen", "mtest", "organism", "intake", "output",
    "careunit", "dischloc", "admloc", "route",
)  # fmt: skip
# a synonym for the type named first is meant where nothing in the question decides
_RANK = {kind: place for place, kind in enumerate(_KINDS)}
# known to be a drug or a lab: its absence from the database is worth saying
_REPORTED = frozenset({"drug", "lab"})
_ENDINGS = frozenset(".?!;:")
_LONGEST = 12
_LONG_QUESTION = 300  # tokens; longer texts are linked exactly only, for the rest takes long
_SPELT = 5  # letters below which a misspelling is not told from another word


@dataclass(frozen=True)
class Unresolved:
    """A span that is a value's name, but of none or of several values here."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class _Name:
    value: str
    penalty: int


class FuzzyFinder:
    """Finds names of the database's values that are not spelt as the database spells them."""

    def __init__(self, index: ValueIndex, everyday: Iterable[tuple[str, str, str]] = ()) -> None:
        self._names: dict[str, dict[str, list[_Name]]] = {}
        for kind in _KINDS:
            for value in index.strings.get(kind, ()):
                for alias, penalty in aliases(kind, value):
                    self._add(kind, alias, value, penalty)
        self._missing: dict[str, str] = {}
        self._curate()
        for kind, name, value in everyday:
            self._add(kind, " ".join(words(name)), value, 0)
        self._first = {name.split(" ", 1)[0] for name in self._names}
        self._first.update(name.split(" ", 1)[0] for name in self._missing)

    def _add(self, kind: str, alias: str, value: str, penalty: int) -> None:
        names = self._names.setdefault(alias, {}).setdefault(kind, [])
        if all(name.value != value for name in names):
            names.append(_Name(value, penalty))

    def _curate(self) -> None:
        resolved: list[tuple[str, str, list[str]]] = []
        for kind, phrases, targets in _curated():
            values = self._targets(kind, targets)
            for phrase in phrases:
                resolved.append((kind, " ".join(words(phrase)), values))
        for kind, phrase, values in resolved:
            if self._best(kind, phrase) is not None:
                continue
            if not values:
                if kind in _REPORTED and phrase not in self._names:
                    self._missing.setdefault(phrase, kind)
                continue
            for value in values:
                self._add(kind, phrase, value, 0)

    def _targets(self, kind: str, targets: list[str]) -> list[str]:
        """The values meant: the first target that exists; for diagnoses all of them."""
        found: list[str] = []
        for target in targets:
            # what is given in the ICU is an intake, not a prescription
            for other in (kind, "intake") if kind == "drug" else (kind,):
                name = self._best(other, " ".join(words(target)))
                if name is not None and other == kind and name.value not in found:
                    found.append(name.value)
            if found and kind != "dx":
                break
        return found

    def _best(self, kind: str, alias: str) -> _Name | None:
        """The one plainest value of that name, or None for none or several."""
        names = self._names.get(alias, {}).get(kind, ())
        if not names:
            return None
        least = min(name.penalty for name in names)
        plainest = [name for name in names if name.penalty == least]
        return plainest[0] if len(plainest) == 1 else None

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
            if _blocked(start, end, links):
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
        for phrase in _readings([token.text for token in run]):
            kinds = self._names.get(phrase, {})
            if kinds:
                choice = self._choose(phrase, kinds, tokens, low, high, folded)
                if isinstance(choice, str):
                    if _touches(start, end, links):
                        return None
                    return Unresolved(start, end, choice)
                if choice is not None:
                    kind, name = choice
                    if _keeps(kind, name.value, start, end, folded, links):
                        return None
                    quality = round(max(0.7, 0.98 - 0.05 * name.penalty), 3)
                    return Link(start, end, (kind,), name.value, "synonym", quality)
            missing = self._missing.get(phrase)
            if missing and len(phrase) >= _SPELT and not _touches(start, end, links):
                return Unresolved(start, end, missing)
        return None

    def _choose(
        self,
        phrase: str,
        kinds: dict[str, list[_Name]],
        tokens: list[Token],
        low: int,
        high: int,
        folded: str,
    ) -> tuple[str, _Name] | str | None:
        """The type and value meant, "ambiguous", or None where the context speaks against all."""
        possible = [
            kind
            for kind in kinds
            if phrase not in QUESTION_WORDS
            and self._in_place(kind, phrase, kinds[kind])(kind, tokens, low, high, folded)
        ]
        if not possible:
            return None
        penalty = {kind: min(name.penalty for name in kinds[kind]) for kind in possible}
        kind = min(possible, key=lambda kind: (not named(kind, folded), penalty[kind], _RANK[kind]))
        name = self._best(kind, phrase)
        return (kind, name) if name is not None else "ambiguous"

    @staticmethod
    def _in_place(kind: str, phrase: str, names: list[_Name]) -> Callable[..., bool]:
        """The rule of place: one- and two-letter names of ours have a stricter one."""
        own = any(" ".join(words(name.value)) == phrase for name in names)
        return allowed if own or len(phrase) > 2 or kind == "route" else short_name_allowed

    @cached_property
    def _spellings(self) -> list[str]:
        return [name for name in (*self._names, *self._missing) if len(name) >= _SPELT]

    def _misspelt(
        self, folded: str, tokens: list[Token], taken: list[tuple[int, int]]
    ) -> Iterator[Link | Unresolved]:
        for first, last in _candidates(tokens, taken):
            start, end = tokens[first].start, tokens[last - 1].end
            if any(start < stop and begin < end for begin, stop in taken):
                continue
            text = " ".join(words(folded[start:end]))
            spelling, distance = self._nearest(text)
            if spelling is None:
                continue
            kinds = self._names.get(spelling)
            if kinds is None:
                taken.append((start, end))
                yield Unresolved(start, end, self._missing[spelling])
                continue
            choice = self._choose(spelling, kinds, tokens, first, last, folded)
            if isinstance(choice, str):
                taken.append((start, end))
                yield Unresolved(start, end, choice)
            elif choice is not None:
                taken.append((start, end))
                quality = round(0.95 * (1 - distance / len(spelling)), 3)
                yield Link(start, end, (choice[0],), choice[1].value, "fuzzy", quality)

    def _nearest(self, text: str) -> tuple[str | None, int]:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        allowed_edits = _edits(text)
        if not allowed_edits:
            return None, 0
        found = process.extract(
            text,
            self._spellings,
            scorer=OSA.distance,
            score_cutoff=allowed_edits,
            limit=2,
        )
        if not found or found[0][1] == 0 or found[0][0][0] != text[0]:
            return None, 0
        if len(found) > 1 and found[0][1] == found[1][1]:
            return None, 0  # two are as near: neither is clearly meant
        spelling, edits = found[0][0], int(found[0][1])
        if _digits(text) != _digits(spelling):
            return None, 0
        if edits > 1 and text[:-3] == spelling[: len(text) - 3]:
            return None, 0  # another ending makes another word: mediastinum, mediastinal
        return spelling, edits


def _curated() -> Iterator[tuple[str, list[str], list[str]]]:
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, phrases, targets = line.split("\t")
            yield kind, phrases.split("|"), targets.split("|")


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


def _touches(start: int, end: int, links: list[Link]) -> bool:
    return any(start < link.end and link.start < end for link in links)


def _keeps(kind: str, value: str, start: int, end: int, folded: str, links: list[Link]) -> bool:
    """Whether what is linked there already is the better reading."""
    for link in links:
        if link.how == "dictionary" or not _touches(start, end, [link]):
            continue
        if link.value == value:
            return True  # "foley output" says no more than "foley"
        if (link.start, link.end) == (start, end):
            if link.how not in ("exact", "synonym"):
                return True
            return any(named(known, folded) for known in link.types) or not named(kind, folded)
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
    return len(word) < 3 or word in QUESTION_WORDS or word in COMMON


def _edits(text: str) -> int:
    length = len(text)
    if length < _SPELT:
        return 0
    if length < 9:
        return 1
    return 2 if length < 16 else 3


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())
