"""Linking: find every value, id, date and number of a question before the model reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from ehrqa_cli.concepts.meaning import Meanings
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.ehr import cxr_vocabulary
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.logical_form.grammar import RESTRICTIONS
from ehrqa_cli.text2sql.linking import everyday
from ehrqa_cli.text2sql.linking.amounts import in_recorded_units
from ehrqa_cli.text2sql.linking.context import allowed
from ehrqa_cli.text2sql.linking.dates import find_dates
from ehrqa_cli.text2sql.linking.durations import find_vague
from ehrqa_cli.text2sql.linking.exact import Match, StringMatcher
from ehrqa_cli.text2sql.linking.fuzzy import FuzzyFinder
from ehrqa_cli.text2sql.linking.ids import find_ids
from ehrqa_cli.text2sql.linking.meant import Meant, Unmeant, as_prescribed
from ehrqa_cli.text2sql.linking.mentions import any_organism
from ehrqa_cli.text2sql.linking.namesakes import Namesakes, find_namesakes
from ehrqa_cli.text2sql.linking.numbers import find_numbers
from ehrqa_cli.text2sql.linking.render import ORDER, render, spelled
from ehrqa_cli.text2sql.linking.tokens import WORDS, Token, fold, tokenize
from ehrqa_cli.text2sql.linking.weekdays import find_weekdays
from ehrqa_cli.words.lists import word_list

_ABBREVIATION = re.compile(
    r"\b(?:stands? for|abbreviat\w*|acronyms?|short for|full form|meaning of|spell(?:ed)? out|"
    r"expansion of)\b|\bwhat (?:does|do|did|is)\b.{1,80}\bmean(?:ing)?\b\W*$"
)
_ABBREVIATION_FRAME = word_list(WORDS, "asks what is short")
_IMAGING = re.compile(
    r"\b(?:cxrs?|x-?\s?ray(?:s|ed)?|radiographs?|radiography|films?|images?|imaging|stud(?:y|ies))\b"
)

# A film of the chest is a study here, not a procedure.
_FILM = re.compile(
    r"(?:chest |portable |plain )*(?:cxrs?|x-?\s?rays?|radiographs?|films?)(?: chest)?"
)


class Linker:
    """Links questions to the values of one database.

    ``Linker(index).link(question)`` is pure and needs about a third of a millisecond without
    ``fuzzy``, which adds synonyms, abbreviations, brand names and misspellings.
    """

    def __init__(self, index: ValueIndex, meanings: Meanings | None = None) -> None:
        """With ``meanings`` names stand for concepts; without, each for the item of that name."""
        self.index = index
        self._meant = Meant(meanings) if meanings else None
        strings = index.strings
        self._matcher = StringMatcher(
            (kind, text, text)
            for kind, values in strings.items()
            if kind != "abbrev"
            for text in values
        )
        self._abbreviations = StringMatcher(
            ("abbrev", text, text) for text in strings.get("abbrev", ())
        )
        self._everyday = StringMatcher(everyday.entries(strings))
        self._unused = StringMatcher(
            (kind, text, text) for kind, values in index.dictionary.items() for text in values
        )
        self._findings = StringMatcher(cxr_vocabulary.entries())

    @cached_property
    def _fuzzy(self) -> FuzzyFinder:
        return FuzzyFinder(self.index, everyday.entries(self.index.strings))

    def link(
        self,
        question: str,
        *,
        patient_id: int | None = None,
        study_id: int | None = None,
        imaging: bool | None = None,
        fuzzy: bool = True,
    ) -> LinkedQuestion:
        """Find the links of ``question`` (offsets into it) and the text the model reads.

        ``patient_id`` and ``study_id`` are appended where the text names none. ``imaging`` says
        whether words such as "pneumonia" may be findings of an X-ray; None: when the question
        speaks of an image or a study and the database has such. ``fuzzy`` also accepts synonyms
        and misspellings (``Link.how`` and ``Link.quality`` tell).
        """
        folded = fold(question)
        tokens = tokenize(folded)
        ids, unknown = self._ids(folded)
        if imaging is None:
            named = study_id is not None or any(link.types == ("study",) for link in ids)
            spoken = self.index.imaging and _IMAGING.search(folded) is not None
            imaging = named or spoken
        unknown += find_vague(folded)
        strings, unmeant = self._concepts(folded, tokens, imaging)
        if imaging:
            strings = [link for link in strings if not _is_film(link, folded)]
        limits = self._meant.restrictions(folded) if self._meant else []
        tested_with = [link for link in strings if link.types[0] in RESTRICTIONS]
        said = [found.said for found in limits]
        candidates = [*ids, *(link for link in strings if link.types[0] not in RESTRICTIONS)]
        candidates += find_dates(folded, self.index.years)
        candidates += find_numbers(folded)
        candidates += find_weekdays(folded)
        taken = [(start, end) for start, end, _ in (*unknown, *said)]
        links = _choose(candidates, taken, len(folded))
        names = [(kind, folded[start:end].lstrip("#")) for start, end, kind in unknown]
        if fuzzy and not any("abbrev" in link.types for link in links):
            known = [*taken, *((found.start, found.end) for found in unmeant)]
            tested = any(c.kind == "antibiotic" for link in strings for c in link.concepts)
            known += any_organism(folded) if tested else ()
            links, unresolved = self._with_fuzzy(folded, tokens, links, known)
            names += unresolved
        names += [(found.kind, folded[found.start : found.end]) for found in unmeant]
        if self._meant:
            links, read, unread = in_recorded_units(folded, links)
            said += [(*span, "") for span in read]
            said += as_prescribed(folded, links)
            names += [("unit", folded[start:end]) for start, end in unread]
        links += _options(len(question), links, patient_id, study_id)
        return LinkedQuestion(
            question=question,
            text=spelled(render(folded, links, unknown, said)),
            links=tuple(links),
            unknown=tuple(names),
            restrictions=(*tested_with, *(found.link for found in limits)),
            ambiguous=tuple(found.as_link(folded) for found in unmeant if found.meanings),
        )

    def namesakes(self, mention: str, kind: str, value: str) -> Namesakes:
        """What else of this database the ``mention`` that was linked to ``value`` fits."""
        return find_namesakes(self.index, self._fuzzy.names, mention, kind, value)

    def shared(self, kind: str, value: str) -> int:
        """How many items have this name: 1, or more where, say, the specimens differ."""
        return self.index.shared.get(kind, {}).get(value, 1)

    def _ids(self, folded: str) -> tuple[list[Link], list[tuple[int, int, str]]]:
        links: list[Link] = []
        unknown: list[tuple[int, int, str]] = []
        for found in find_ids(folded, self.index):
            if isinstance(found, Link):
                links.append(found)
            else:
                unknown.append(found)
        return links, unknown

    def _concepts(
        self, folded: str, tokens: list[Token], imaging: bool
    ) -> tuple[list[Link], list[Unmeant]]:
        """Names of values, and those that stand for nothing or for too much here."""
        if self._meant is None or _ABBREVIATION.search(folded):
            return self._strings(folded, tokens, imaging), []
        found = [*self._meant.find(folded, tokens, self._matcher.find(tokens))]
        links = [link for link in found if isinstance(link, Link)]
        if imaging:
            seen = _by_span(self._findings.find(tokens), tokens, folded, "finding")
            links = _either(links, seen)
        if len(self._unused):
            links += _by_span(self._unused.find(tokens), tokens, folded, "dictionary")
        spans = [(link.start, link.end) for link in links if "attr" in link.types]
        doubtful = [unmeant for unmeant in found if isinstance(unmeant, Unmeant)]
        return links, [x for x in doubtful if not any(a < x.end and x.start < b for a, b in spans)]

    def _strings(self, folded: str, tokens: list[Token], imaging: bool) -> list[Link]:
        if _ABBREVIATION.search(folded):
            link = self._abbreviation(tokens)
            if link is not None:
                return [link]
        found = _by_span(self._matcher.find(tokens), tokens, folded, "exact")
        if imaging:
            found += _by_span(self._findings.find(tokens), tokens, folded, "finding")
        found += _by_span(self._everyday.find(tokens), tokens, folded, "synonym")
        if len(self._unused):
            found += _by_span(self._unused.find(tokens), tokens, folded, "dictionary")
        return found

    def _abbreviation(self, tokens: list[Token]) -> Link | None:
        """The abbreviation that is asked about: the longest that is more than the asking itself."""
        best: Match | None = None
        for match in self._abbreviations.find(tokens):
            words = [token.text for token in tokens[match.first : match.last]]
            quoted = match.first > 0 and tokens[match.first - 1].text in "\"'"
            if not quoted and all(word in _ABBREVIATION_FRAME for word in words):
                continue
            if best is None or match.last - match.first > best.last - best.first:
                best = match
        if best is None:
            return None
        start, end = tokens[best.first].start, tokens[best.last - 1].end
        return Link(start, end, ("abbrev",), best.values["abbrev"])

    def _with_fuzzy(
        self,
        folded: str,
        tokens: list[Token],
        links: list[Link],
        known: Sequence[tuple[int, int]],
    ) -> tuple[list[Link], list[tuple[str, str]]]:
        """The links with those of synonyms and misspellings, and what stays unresolved; spans that
        are ``known`` already are left alone."""
        added: list[Link] = []
        unresolved: list[tuple[str, str]] = []
        for found in self._fuzzy.find(folded, tokens, links):
            if any(found.start < end and start < found.end for start, end in known):
                continue
            if isinstance(found, Link):
                added.append(self._meant.of_value(found, folded) if self._meant else found)
            else:
                unresolved.append((found.kind, folded[found.start : found.end]))
        # a synonym replaces the links inside it: "urine creatinine" is not "creatinine"
        kept = [
            link
            for link in links
            if not any(link.start < new.end and new.start < link.end for new in added)
        ]
        return sorted([*kept, *added], key=lambda link: link.start), unresolved


def _either(links: list[Link], seen: list[Link]) -> list[Link]:
    """Names of concepts and of findings; what is both ("pneumothorax", "any pneumothorax") has the
    types of both, and is called as the finding is."""
    findings = {(link.start, link.end): link for link in seen}
    both = []
    for link in links:
        inside = [span for span in findings if link.start <= span[0] and span[1] == link.end]
        found = findings.pop(min(inside), None) if inside else None
        if found is not None:
            types = sorted({*link.types, *found.types}, key=ORDER.__getitem__)
            link = replace(link, types=tuple(types), value=found.value)
        both.append(link)
    return [*both, *findings.values()]


def _is_film(link: Link, folded: str) -> bool:
    return "proc" in link.types and bool(_FILM.fullmatch(folded[link.start : link.end]))


def _by_span(matches: Iterable[Match], tokens: list[Token], folded: str, how: str) -> list[Link]:
    """One link per occurrence and value, with the types that the surrounding words allow."""
    links = []
    for match in matches:
        start, end = tokens[match.first].start, tokens[match.last - 1].end
        values: dict[str, list[str]] = {}
        for kind, value in match.values.items():
            if allowed(kind, tokens, match.first, match.last, folded):
                values.setdefault(value, []).append(kind)
        for value, kinds in values.items():
            # a finding's everyday name ("cardiomegaly") is a synonym of the vocabulary's
            same = fold(value).rstrip("s") == folded[start:end].rstrip("s")
            told = how if how != "finding" else "exact" if same else "synonym"
            links.append(Link(start, end, tuple(sorted(kinds, key=ORDER.__getitem__)), value, told))
    return links


_HOW = {
    "id": 0, "concept": 1, "exact": 1, "synonym": 2, "age": 3, "date": 3, "number": 4,
    "dictionary": 5,
}  # fmt: skip


def _choose(candidates: Iterable[Link], taken: list[tuple[int, int]], length: int) -> list[Link]:
    """The longest spans first, none overlapping; on one span the most certain reading."""
    chosen: dict[tuple[int, int], Link] = {}
    covered = bytearray(length)
    for start, end in taken:
        covered[start:end] = b"\1" * (end - start)
    for link in sorted(candidates, key=_preference):
        span = (link.start, link.end)
        known = chosen.get(span)
        if known is not None:
            if known.value == link.value and known.how == link.how:
                types = {*known.types, *link.types}
                chosen[span] = replace(known, types=tuple(sorted(types, key=ORDER.__getitem__)))
        elif 1 not in covered[link.start : link.end]:
            chosen[span] = link
            covered[link.start : link.end] = b"\1" * (link.end - link.start)
    return sorted(chosen.values(), key=lambda link: link.start)


def _preference(link: Link) -> tuple[int, int, int, int]:
    how = _HOW.get(link.how, 6)
    return (0 if how == 0 else 1, link.start - link.end, how, link.start)


def _options(
    place: int, links: list[Link], patient_id: int | None, study_id: int | None
) -> Iterator[Link]:
    named = {kind for link in links for kind in link.types}
    if patient_id is not None and "pat" not in named:
        yield Link(place, place, ("pat",), patient_id, "option")
    if study_id is not None and "study" not in named:
        yield Link(place, place, ("study",), study_id, "option")
