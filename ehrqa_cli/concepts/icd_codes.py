"""Codes of ICD-9-CM and ICD-10-CM: which version a code is of, patterns, and their members."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product

from ehrqa_cli.contracts.concepts import Item

_MARKED = re.compile(r"(?:icd\W*)?(9|10)\D?(?:cm)?[|:_ ]+(\S+)", re.IGNORECASE)
_NINE = re.compile(r"\d{3}\d{0,2}|V\d{2}\d{0,2}|E[89]\d{2}\d?")
_NINE_MARKED = re.compile(r"\d{3,5}|V\d{2,4}|E\d{3,4}")  # also E000-E030, which look like ICD-10
_TEN = re.compile(r"[A-Z]\d[0-9A-Z][0-9A-Z]{0,4}")
_TOKEN = re.compile(r"(!)?([A-Z0-9](?:[A-Z0-9?]|\[[A-Z0-9-]+\])*)(?:-([A-Z0-9]+))?")
_END = "~"  # behind every letter and digit


def versions_of(code: str) -> tuple[tuple[int, str], ...]:
    """The (version, code without dot) that a code as the record writes it may be.

    Two where the form leaves it open (``E8889``, ``V4582``), none where it is no ICD code. A dot
    decides: E codes of ICD-9 have it after four characters. Codes joined by commas are all given.
    """
    found: list[tuple[int, str]] = []
    for part in re.split(r"[,;]\s*", code.strip().upper()):
        marked = _MARKED.fullmatch(part)
        version = int(marked[1]) if marked else 0
        bare = marked[2] if marked else part
        plain = bare.replace(".", "")
        dot = bare.find(".")
        nine = (_NINE_MARKED if marked else _NINE).fullmatch(plain) and dot in (
            -1,
            4 if plain[0] == "E" else 3,
        )
        ten = _TEN.fullmatch(plain) and dot in (-1, 3)
        if version != 10 and nine and (part == bare or version == 9):
            found.append((9, plain))
        if version != 9 and ten:
            found.append((10, plain))
    return tuple(found)


def with_dot(version: int, code: str) -> str:
    """A code as people write it: ``E11.9``, ``518.81``, ``E888.9`` (ICD-9)."""
    at = 4 if version == 9 and code.startswith("E") else 3
    return f"{code[:at]}.{code[at:]}" if len(code) > at else code


class CodeIndex:
    """The items of a record by code, for lookups by pattern."""

    def __init__(self, codes: Iterable[tuple[int, str, Item]]) -> None:
        self._items: dict[tuple[int, str], list[Item]] = defaultdict(list)
        for version, code, item in codes:
            self._items[version, code].append(item)
        self._sorted = {v: sorted(c for w, c in self._items if w == v) for v in (9, 10)}

    def codes(self, version: int, pattern: str) -> set[str]:
        """The codes here that a pattern takes (``"E10-E13 !E11.9"``); its form: diagnoses.tsv."""
        taken: set[str] = set()
        left: set[str] = set()
        have = self._sorted[version]
        for first, last, out in spans(pattern):
            ends = first.partition("?")[0], last.partition("?")[0] + _END
            here = have[bisect_left(have, ends[0]) : bisect_left(have, ends[1])]
            if "?" in first:
                sign = re.compile(first.replace("?", "."))
                here = [code for code in here if sign.match(code)]
            (left if out else taken).update(here)
        return taken - left

    def items(self, version: int, codes: Iterable[str]) -> list[Item]:
        """The items with these codes."""
        return [item for code in codes for item in self._items[version, code]]


def spans(pattern: str) -> list[tuple[str, str, bool]]:
    """(first, last, left out) of each word of a pattern; sets (``[02]``, ``[1-4]``) written out.

    Raises:
        ValueError: a word is no pattern.
    """
    found = []
    for token in pattern.upper().replace(".", "").split():
        match = _TOKEN.fullmatch(token)
        if not match:
            raise ValueError(f"no pattern of codes: {token!r}")
        parts = [_members(part) for part in re.findall(r"\[.+?\]|.", match[2])]
        for code in ("".join(p) for p in product(*parts)):
            found.append((code, match[3] or code, bool(match[1])))
    return found


def _members(part: str) -> list[str]:
    """The characters that one place of a pattern may have."""
    if part[0] != "[":
        return [part]
    signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ends = re.findall(r"(\w)(?:-(\w))?", part)
    return [c for a, b in ends for c in signs[signs.index(a) : signs.index(b or a) + 1]]


def shown(pattern: str) -> str:
    """A pattern for people: ``J96 518.81-518.84 !J96.2`` as ``J96.*, 518.81-518.84, not J96.2``."""
    words = []
    for token in pattern.split():
        bare = token.lstrip("!")
        star = "" if "-" in bare or "." in bare else ".*"
        words.append(("not " if token[0] == "!" else "") + bare + star)
    return ", ".join(words)


def common_start(codes: Sequence[str]) -> str:
    """The beginning that all of ``codes`` share, "" if under three characters."""
    first, last = min(codes), max(codes)
    size = next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
        min(len(first), len(last)),
    )
    return first[:size] if size >= 3 else ""
