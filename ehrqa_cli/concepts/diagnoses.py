"""Diagnoses as groups of ICD codes: clinicians' words, CCS, and the titles of both hierarchies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ehrqa_cli.concepts.diagnosis_record import Record
from ehrqa_cli.concepts.icd_codes import common_start, shown, with_dot
from ehrqa_cli.concepts.icd_titles import (
    GENERAL,
    Phrases,
    affirming,
    british,
    exists,
    folded,
    lines,
    plain,
    said_as,
    titles,
    words_of,
)
from ehrqa_cli.contracts.concepts import Concept, Item

_REMISSION = re.compile(r"in (?:full |sustained |early |early full )?remission", re.IGNORECASE)
_SOURCE = "own table of groups"


@dataclass
class _Named:
    """A concept in the making: its members and where they are from."""

    name: str
    phrases: list[str] = field(default_factory=list)
    items: dict[tuple[str, str, str | int], Item] = field(default_factory=dict)
    about: list[str] = field(default_factory=list)
    source: str = ""
    words: list[str] = field(default_factory=list)

    def add(self, items: Iterable[Item]) -> None:
        """Takes members; one that is there already counts once."""
        for item in items:
            self.items[item.table, item.column, item.code] = item


def resolve(items: Sequence[Item]) -> list[Concept]:
    """Every diagnosis concept: our groups (also where none occurs), CCS, ICD titles that occur.

    Raises:
        ValueError: a line of the data files has a pattern that cannot be read.
    """
    record = Record(items)
    groups = [_group(line, record) for line in lines("diagnoses.tsv")]
    if record.uncoded:
        named = Phrases((word, group) for group in groups for word in group.words)
        for item in record.uncoded:
            for _, group in named.fits(item.name):
                group.add([item])
    titled = _titled(record)
    return [
        _concept(each) for each in (*groups, *_told_apart(groups, titled, record)) if each.phrases
    ]


def _told_apart(
    groups: list[_Named], titled: dict[str, _Named], record: Record
) -> Iterator[_Named]:
    """The titled concepts with the phrases that no group has, and those of their plain words.

    "X, unspecified" and "X NOS" are codes for what is not known better; who says X means every
    title that affirms it.
    """
    taken = {folded(phrase) for group in groups for phrase in group.phrases}
    wider: dict[str, _Named] = {}
    for name, node in titled.items():
        own = [p for p in node.phrases if folded(p) not in taken and (p == name or p not in titled)]
        node.phrases = [p for p in dict.fromkeys(own) if len(p) > 3 and words_of(p) - GENERAL]
        yield node
        for phrase in {plain(p) for p in node.phrases} - {"", *node.phrases}:
            if phrase not in titled and folded(phrase) not in taken:
                said = wider.setdefault(phrase, _Named(phrase, [phrase], source="words of titles"))
                said.add(node.items.values())
                said.about = [f"titles with {phrase}"]
    named = Phrases(wider.items())
    for item in {id(item): item for _, _, item in record.coded}.values():
        for _, said in named.fits(item.name):
            said.add([item])
    yield from wider.values()


def narrowed(
    phrase: str, known: Mapping[str, Sequence[Concept]], items: Sequence[Item]
) -> Concept | None:
    """Reads what no concept is called by the words of titles: "acute X", "X with Y", "dengue".

    The longest part of ``phrase`` that is in ``known`` (concepts by phrase) is X; its members stay
    whose names affirm all the other words. Without an X: all of ``items`` that affirm the phrase.
    Words count in the families of words.tsv. A last resort: other kinds of concepts come first.

    Returns:
        A concept of the members that stay; without an X one without members where only ICD has
        such a title; else None.
    """
    said = phrase.lower().split()
    words = words_of(phrase)
    if {"without", "no", "not"} & set(said) or not words - GENERAL or len("".join(words)) < 5:
        return None
    base, rest = _part(said, known)
    if base and not rest:
        return None
    pool = [item for each in base for item in each.items] if base else Record(items).own
    kept = {pool[place] for place in affirming(rest or words, [item.name for item in pool])}
    if not kept and (base or not exists(words)):
        return None
    about = "; ".join(
        [*(each.about for each in base), f"titles with {', '.join(sorted(rest or words))}"]
    )
    members = tuple(item for item in dict.fromkeys(pool) if item in kept)
    return Concept("dx", phrase, (phrase,), members, about, "words of titles")


def _part(
    said: list[str], known: Mapping[str, Sequence[Concept]]
) -> tuple[list[Concept], frozenset[str]]:
    """The concepts of the longest part of a phrase that is known, and the words beside it."""
    for size in range(len(said) - 1, 0, -1):
        for start in range(len(said) - size + 1):
            found = known.get(" ".join(said[start : start + size]), ())
            if own := [concept for concept in found if concept.kind == "dx"]:
                return own, words_of(" ".join(said[:start] + said[start + size :]))
    return [], frozenset()


def by_code(text: str, items: Sequence[Item]) -> Concept | None:
    """The items that codes or patterns of codes take: ``I50.9``, ``250.0x``, ``J96.*, 518.81``.

    A pattern takes every code that begins with it; ``x`` and ``*`` at its end are any character,
    and "icd9" or "icd10" before it chooses the version.

    Returns:
        None where the text is no code; a concept without members where the record has none of it.
    """
    match = re.fullmatch(
        r"(?:icd[- ]?(9|10)(?:[- ]?cm)?[: ]+)?(?:codes? )?(.+)", text.strip(), re.I
    )
    parts = re.split(r"\s*(?:,|;|\bor\b|\band\b|\s)\s*", match[2]) if match else []
    record = Record(items)
    found = _Named(text)
    for part in parts:
        wanted = _pattern(part, int(match[1]) if match and match[1] else 0)
        if not wanted:
            return None
        for version, pattern in wanted:
            found.add(record.index.items(version, record.index.codes(version, pattern)))
    if not parts or (not found.items and text.strip().isdigit()):
        return None
    about = ", ".join(parts)
    return Concept(
        "dx", about, (text.strip().lower(),), tuple(found.items.values()), about, "codes given"
    )


def _pattern(part: str, version: int) -> list[tuple[int, str]]:
    """(version, pattern) that one written code may mean."""
    bare = re.sub(r"\.?[x*%]+$", "", part.strip(), flags=re.I).upper()
    low, dash, high = bare.partition("-")
    if not re.fullmatch(r"(?:\d{3}|V\d\d|E\d{3}|[A-Z]\d[0-9A-Z])(?:\.?[0-9A-Z]{0,4})?", low):
        return []
    if low.isdigit() and part == bare and not version and len(low) != 5:
        return []  # a bare number is more often a number
    if low[0].isalpha() and not any(low[:n] in titles(v) for v, n in ((9, 3), (9, 4), (10, 3))):
        return []
    at = low.find(".")
    nine = bool(re.match(r"\d|V|E[89]\d\d", low)) and (
        at == -1 or at == (4 if low[0] == "E" else 3)
    )
    ten = low[0].isalpha() and at in (-1, 3)
    versions = [v for v, may in ((9, nine), (10, ten)) if may and version in (0, v)]
    return [(v, low + dash + high) for v in versions]


def _group(line: list[str], record: Record) -> _Named:
    named, ten, nine, more = (*line, "", "", "")[:4]
    phrases = named.split(" | ")
    group = _Named(phrases[0], phrases, source=_SOURCE)
    for version, pattern in ((10, ten), (9, nine)):
        if pattern:
            group.about.append(shown(pattern))
            group.add(record.index.items(version, sorted(record.index.codes(version, pattern))))
    group.words = phrases + [word for word in more.split(" | ") if word]
    if not any("remission" in phrase for phrase in phrases):
        group.items = {k: i for k, i in group.items.items() if not _REMISSION.search(i.name)}
    return group


def _titled(record: Record) -> dict[str, _Named]:
    """The concepts of CCS, sections, categories and subcategories that occur, by name.

    What has the same name in both versions is one concept. A code of one version also counts under
    the titles of the other under which all its equivalents (GEM) lie.
    """
    found: dict[str, _Named] = {}

    def under(name: str, phrases: Iterable[str], about: str, source: str) -> _Named:
        node = found.setdefault(name, _Named(name, source=source))
        node.phrases += phrases
        node.about += [about] if about not in node.about else []
        return node

    for number, title, ten, nine in lines("ccs.tsv"):
        for version, pattern in ((10, ten), (9, nine)):
            hits = record.index.items(version, record.index.codes(version, pattern))
            said = said_as(title)
            if hits and said:
                under(said[0], said, f"CCS {number}", "AHRQ CCS").add(hits)
    for version in (10, 9):
        for key, members in _under(record, version).items():
            title, more = titles(version)[key]
            if title.lower().startswith("other"):
                more = ""  # each of its other names is one of the many things that it holds
            said = [p for name in (title, *more.split(" | ")) for p in said_as(name)]
            if said:
                under(said[0], said, _star(version, key), f"ICD-{version}-CM").add(members)
    return found


def _under(record: Record, version: int) -> dict[str, list[Item]]:
    """The items by each code and section of a version that they stand under."""
    found: dict[str, list[Item]] = defaultdict(list)
    known = titles(version)
    for code, item in _places(record, version):
        for key in (code[:n] for n in range(3, len(code) + 1)):
            if key in known:
                found[key].append(item)
        for key in _sections_of(version, code[: 4 if version == 9 and code[0] == "E" else 3]):
            found[key].append(item)
    return found


def _places(record: Record, version: int) -> Iterator[tuple[str, Item]]:
    """Each coded item with its code in a version, or the start that its equals there share."""
    other = _equals(version)
    for has, code, item in record.coded:
        if has == version:
            yield code, item
        else:
            targets = next(
                (other[code[:n]] for n in range(len(code), 2, -1) if code[:n] in other), None
            )
            start = common_start(targets) if targets else ""
            if start:
                yield start, item


def _concept(each: _Named) -> Concept:
    return Concept(
        "dx",
        each.name,
        tuple(dict.fromkeys((*each.phrases, *map(british, each.phrases)))),
        tuple(each.items.values()),
        ", ".join(each.about),
        each.source,
    )


def _star(version: int, key: str) -> str:
    return key if "-" in key else shown(with_dot(version, key))


@cache
def _sections_of(version: int, category: str) -> list[str]:
    """The chapter and the sections that a category stands in."""
    ends = ((key, *key.split("-")) for key in titles(version) if "-" in key)
    return [key for key, first, last in ends if first <= category <= last]


@cache
def _equals(version: int) -> dict[str, list[str]]:
    """Codes of ``version`` by the code of the other one (GEM)."""
    found: dict[str, list[str]] = defaultdict(list)
    for nine, tens in lines("gem.tsv"):
        for ten in tens.split():
            if version == 10:
                found[nine].append(ten)
            else:
                found[ten].append(nine)
    return found
