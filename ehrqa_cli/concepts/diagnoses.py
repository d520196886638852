"""Diagnoses as groups of ICD codes: clinicians' words, CCS, and the titles of both hierarchies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from ehrqa_cli.concepts.icd_codes import CodeIndex, common_start, shown, versions_of, with_dot
from ehrqa_cli.concepts.icd_titles import british, covers, lines, places_of, plain, said_as, titles, words_of
from ehrqa_cli.contracts.concepts import Concept, Item

_TABLES = re.compile(r"diagnos|condition", re.IGNORECASE)
_PROCEDURE = re.compile(r"proc", re.IGNORECASE)
_REMISSION = re.compile(r"in (?:full |sustained |early |early full )?remission", re.IGNORECASE)
_SOURCE = "own table of groups"


@dataclass
class _Named:
    """A concept in the making: its members and where they are from."""

    name: str
    phrases: list[str] = field(default_factory=list)
    items: dict[tuple[str, str | int], Item] = field(default_factory=dict)
    about: list[str] = field(default_factory=list)
    source: str = ""

    def add(self, items: Iterable[Item]) -> None:
        """Takes members; one that is there already counts once."""
        for item in items:
            self.items[item.column, item.code] = item


def resolve(items: Sequence[Item]) -> list[Concept]:
    """Every diagnosis concept: our groups (also where none occurs), CCS, ICD titles that occur.

    Raises:
        ValueError: a line of the data files has a pattern that cannot be read.
    """
    record = _Record(items)
    groups = [_group(line, record) for line in lines("diagnoses.tsv")]
    taken = {phrase for group in groups for phrase in group.phrases}
    titled = _titled(record)
    shorter: dict[str, list[_Named]] = defaultdict(list)
    for name, node in titled.items():
        own = [p for p in node.phrases if p not in taken and (p == name or p not in titled)]
        node.phrases = [p for p in dict.fromkeys(own) if len(p) > 3]
        for phrase in {plain(p) for p in node.phrases} - taken - titled.keys():
            shorter[phrase].append(node)
    for phrase, nodes in shorter.items():
        if len(nodes) == 1 and phrase:
            nodes[0].phrases.append(phrase)
    return [_concept(each) for each in (*groups, *titled.values()) if each.phrases]


def by_code(text: str, items: Sequence[Item]) -> Concept | None:
    """The items that codes or patterns of codes take: ``I50.9``, ``250.0x``, ``J96.*, 518.81``.

    A pattern takes every code that begins with it; ``x`` and ``*`` at its end are any character,
    and "icd9" or "icd10" before it chooses the version. None: the text is no code.
    """
    match = re.fullmatch(
        r"(?:icd[- ]?(9|10)(?:[- ]?cm)?[: ]+)?(?:codes? )?(.+)", text.strip(), re.I
    )
    parts = re.split(r"\s*(?:,|;|\bor\b|\band\b|\s)\s*", match[2]) if match else []
    record = _Record(items)
    found: dict[tuple[str, str | int], Item] = {}
    for part in parts:
        wanted = _pattern(part, int(match[1]) if match and match[1] else 0)
        if not wanted:
            return None
        for version, pattern in wanted:
            for item in record.index.items(version, record.index.codes(version, pattern)):
                found[item.column, item.code] = item
    if not parts:
        return None
    about = ", ".join(parts)
    return Concept(
        "dx", about, (text.strip().lower(),), tuple(found.values()), about, "codes given"
    )


def _pattern(part: str, version: int) -> list[tuple[int, str]]:
    """(version, pattern) that one written code may mean."""
    bare = re.sub(r"\.?[x*%]+$", "", part.strip(), flags=re.I).upper()
    low, dash, high = bare.partition("-")
    if not re.fullmatch(r"(?:\d{3}|V\d\d|E\d{3}|[A-Z]\d[0-9A-Z])(?:\.?[0-9A-Z]{0,4})?", low):
        return []
    if re.fullmatch(r"\d{4,}", low) and "." not in low and len(low) != 5:
        return []  # a bare number is more often a number
    if re.fullmatch(r"\d{3}", low) and part == bare and not version:
        return []
    at = low.find(".")
    nine = bool(re.match(r"\d|V|E[89]\d\d", low)) and (
        at == -1 or at == (4 if low[0] == "E" else 3)
    )
    ten = low[0].isalpha() and at in (-1, 3)
    versions = [v for v, may in ((9, nine), (10, ten)) if may and version in (0, v)]
    return [(v, low + dash + high) for v in versions]


class _Record:
    """The diagnoses of a record: by code, and those whose code is none of ICD."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.uncoded: list[Item] = []
        self.coded: list[tuple[int, str, Item]] = []
        for item in items:
            if not _TABLES.search(item.table) or _PROCEDURE.search(item.table):
                continue
            # a number is no code of ICD: OMOP's concepts have such
            read = versions_of(item.code) if isinstance(item.code, str) else ()
            if (
                len(read) > 1
                and len({version for version, _ in read}) > 1
                and "," not in str(item.code)
            ):
                read = (_likelier(read, item.name),)
            if not read:
                self.uncoded.append(item)
                read = tuple((10, code) for code in places_of(item.name))
            self.coded += [(version, code, item) for version, code in read]
        self.index = CodeIndex(self.coded)


def _likelier(read: Sequence[tuple[int, str]], name: str) -> tuple[int, str]:
    """The version whose category title has more words of the item's name; ICD-9 if alike."""
    said = set(words_of(name))

    def shared(place: tuple[int, str]) -> int:
        version, code = place
        at = 4 if version == 9 and code[0] == "E" else 3
        titles = [titles(version).get(code[:n], ("", ""))[0] for n in range(at, len(code) + 1)]
        return len(said & set(words_of(" ".join(titles))))

    return max(read, key=shared)


def _group(line: list[str], record: _Record) -> _Named:
    named, ten, nine, more = (*line, "", "", "")[:4]
    phrases = named.split(" | ")
    group = _Named(phrases[0], phrases, source=_SOURCE)
    for version, pattern in ((10, ten), (9, nine)):
        if pattern:
            group.about.append(shown(pattern))
            group.add(record.index.items(version, sorted(record.index.codes(version, pattern))))
    words = phrases + (more.split(" | ") if more else [])
    group.add(i for i in record.uncoded if any(covers(p, i.name) for p in words))
    if not any("remission" in phrase for phrase in phrases):
        group.items = {k: i for k, i in group.items.items() if not _REMISSION.search(i.name)}
    return group


def _titled(record: _Record) -> dict[str, _Named]:
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
            said = [p for name in (title, *more.split(" | ")) for p in said_as(name)]
            if said:
                under(said[0], said, _star(version, key), f"ICD-{version}-CM").add(members)
    return found


def _under(record: _Record, version: int) -> dict[str, list[Item]]:
    """The items by each code and section of a version that they stand under."""
    found: dict[str, list[Item]] = defaultdict(list)
    known, sections = titles(version), _sections(version)
    for code, item in _places(record, version):
        for key in (code[:n] for n in range(3, len(code) + 1)):
            if key in known:
                found[key].append(item)
        for first, last in sections:
            if first <= code and code[: len(last)] <= last:
                found[f"{first}-{last}"].append(item)
    return found


def _places(record: _Record, version: int) -> Iterator[tuple[str, Item]]:
    """Each coded item with its code in a version, or the start that its equals there share."""
    other = _equals(version)
    for has, code, item in record.coded:
        if has == version:
            yield code, item
        else:
            targets = next(
                (other[code[:n]] for n in range(len(code), 3, -1) if code[:n] in other), None
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
def _sections(version: int) -> list[tuple[str, str]]:
    return [(a, b) for a, _, b in (key.partition("-") for key in titles(version)) if b]


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
