"""Procedures by meaning: intubated, dialysis, a central line, a transfusion of red cells.

A concept is a line of data/procedures.tsv: beginnings of ICD-9, ICD-10-PCS and HCPCS codes, words
of the names of what has no such code (charted events, SNOMED procedures), and other concepts that
it includes. A code is trusted before the name that stands with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ehrqa_cli.concepts.names import lists, table
from ehrqa_cli.concepts.namewords import NameIndex
from ehrqa_cli.contracts.concepts import Concept, Item

KIND = "proc"
TABLES = frozenset({"procedures_icd", "procedureevents", "hcpcsevents"})
_INFUSIONS = "inputevents"
_DATA = "procedures.tsv"
_FIELDS = 7
_SHOWN = 4  # codes of a system that a definition tells
_SYSTEMS = {"9": "ICD-9", "x": "ICD-10-PCS", "h": "HCPCS"}
_LENGTHS = {"9": 4, "x": 7, "h": 5}
_PREFIXES = {"icd9": "9", "icd9proc": "9", "icd10": "x", "icd10pcs": "x", "hcpcs": "h"}
_BARE = ((re.compile(r"\d\d\.?\d{0,2}"), "9"), (re.compile(r"[A-Z]\d{4}"), "h"))
_PCS = re.compile(r"(?=.*[A-Z])[0-9A-HJ-NP-Z]{7}")


class Rule(NamedTuple):
    """A line of the table."""

    name: str
    phrases: tuple[str, ...]
    verbs: tuple[str, ...]
    codes: tuple[str, ...]
    names: tuple[str, ...]
    includes: tuple[str, ...]
    inputs: tuple[str, ...]


def resolve(items: Sequence[Item]) -> list[Concept]:
    """The procedures that people ask for, with the members that occur among ``items``."""
    rules = _rules()
    members: dict[str, list[Item]] = {name: [] for name in rules}
    for item in items:
        for name in _direct(item):
            members[name].append(item)
    return [_concept(rule, _gathered(rule, rules, members)) for rule in rules.values()]


def verbs() -> frozenset[str]:
    """What is said of a patient who had a procedure: intubated, dialyzed, transfused."""
    return frozenset(verb for rule in _rules().values() for verb in rule.verbs)


def _concept(rule: Rule, items: Iterable[Item]) -> Concept:
    phrases = dict.fromkeys((rule.name, *rule.phrases, *rule.verbs))
    return Concept(
        kind=KIND,
        name=rule.name,
        phrases=tuple(phrases),
        items=tuple(sorted(items, key=lambda item: (-item.rows, str(item.code)))),
        about=_about(rule),
        source=f"concepts/data/{_DATA}",
    )


def _about(rule: Rule) -> str:
    """The definition in short: codes by system, or words of names, and what is included."""
    parts = []
    for system, title in _SYSTEMS.items():
        codes = [c for code in rule.codes if code[0] == system for c in _shown(system, code[2:])]
        if codes:
            parts.append(f"{title} {_few(codes)}")
    if rule.names and not rule.codes:
        names = dict.fromkeys(line.split(" & ")[0].strip("=") for line in rule.names)
        parts.append(f"named {_few(list(names))}")
    if rule.includes:
        parts.append(f"with {_few(rule.includes)}")
    return "; ".join(parts)


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _shown(system: str, code: str) -> Iterator[str]:
    """A pattern as people write codes: "967" of ICD-9 is 96.7*; of ICD-9 each of "[12]" apart."""
    if system == "9" and (choice := re.search(r"\[(\d{2,4})\]", code)):
        for digit in choice[1]:
            yield from _shown(system, code.replace(choice[0], digit, 1))
        return
    cut = 2 if system == "9" and code[:2].isdigit() and code[2:] else len(code)
    dotted = f"{code[:cut]}.{code[cut:]}".rstrip(".")
    length = len(re.sub(r"\[[^]]*\]", "?", code))
    yield dotted if length >= _LENGTHS[system] else f"{dotted}*"


def _gathered(
    rule: Rule, rules: Mapping[str, Rule], members: Mapping[str, list[Item]]
) -> set[Item]:
    """The members of a rule and of all that it includes."""
    found = set(members[rule.name])
    for name in rule.includes:
        found |= _gathered(rules[name], rules, members)
    return found


def _direct(item: Item) -> Iterator[str]:
    """The rules that an item fits by itself."""
    if item.table == _INFUSIONS:
        yield from _inputs().owners(item.name) | _inputs().owners(item.category)
    elif item.table in TABLES:
        system, code = _system(str(item.code))
        if system:
            yield from _by_code(system, code)
        yield from _names(system).owners(item.name)


def _by_code(system: str, code: str) -> Iterator[str]:
    for name, pattern in _candidates(system, code[:2]):
        if pattern.match(code):
            yield name


def _system(code: str) -> tuple[str, str]:
    """The system of a code and its characters without dots; "" where none is known.

    ``icd9|9604`` says its system; a bare code is known by its form.
    """
    prefix, bar, rest = code.rpartition("|")
    if bar:
        return _PREFIXES.get(prefix.lower(), ""), rest.replace(".", "").upper()
    bare = code.upper()
    for form, system in (*_BARE, (_PCS, "x")):
        if form.fullmatch(bare):
            return system, bare.replace(".", "")
    return "", ""


@cache
def _rules() -> dict[str, Rule]:
    rows = table(_DATA, _FIELDS)
    return {row[0]: Rule(row[0], *map(lists, row[1:])) for row in rows}


@cache
def _names(system: str) -> NameIndex:
    """The names of the rules without codes of a system: of them the name is all that can tell."""
    return NameIndex(
        (rule.name, line)
        for rule in _rules().values()
        if not any(code[0] == system for code in rule.codes)
        for line in rule.names
    )


@cache
def _inputs() -> NameIndex:
    return NameIndex((rule.name, line) for rule in _rules().values() for line in rule.inputs)


@cache
def _candidates(system: str, start: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The rules whose codes may begin with these two characters."""
    found = []
    for rule in _rules().values():
        codes = [c[2:].replace("?", ".") for c in rule.codes if c[0] == system]
        if codes and any(_may_begin(code, start) for code in codes):
            found.append((rule.name, re.compile("|".join(codes))))
    return tuple(found)


def _may_begin(pattern: str, start: str) -> bool:
    marks = re.findall(r"\[[^]]*\]|.", pattern)[: len(start)]
    return re.match("".join(marks), start) is not None
