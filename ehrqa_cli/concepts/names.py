"""Names of coded things brought to one form, and the reader of this room's tables."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

# The same word in another spelling. Endings of words are cut by `key` first.
_WORDS = {
    "ab": "antibody", "abs": "antibody", "ag": "antigen", "haemoglobin": "hemoglobin",
    "wb": "whole blood", "antibodie": "antibody", "percentage": "percent", "pct": "percent",
}  # fmt: skip
_SPELLINGS = (
    (re.compile(r"haem(?=a|o)"), "hem"), (re.compile(r"leuco"), "leuko"),
    (re.compile(r"oedema"), "edema"), (re.compile(r"faec"), "fec"),
    (re.compile(r"oestr"), "estr"), (re.compile(r"calcaemi"), "calcemi"),
)  # fmt: skip
_FILLERS = frozenset(["of", "in", "the", "and", "an", "for", "to", "by", "on", "with", "per"])
_PUNCTUATION = re.compile(r"[^a-z0-9%]+")


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """``text`` as phrases are written: lower case, words joined by single spaces."""
    plain = text.lower().replace("'", "").replace("°", " ").replace("#", " # ").replace("µ", "u")
    return " ".join(_PUNCTUATION.sub(" ", plain).split())


@lru_cache(maxsize=65536)
def key(text: str) -> frozenset[str]:
    """The words of ``text`` without order, endings and fillers: equal for spellings of one name."""
    plain = fold(text)
    for pattern, spelling in _SPELLINGS:
        plain = pattern.sub(spelling, plain)
    words = (_singular(word) for word in plain.split() if word not in _FILLERS)
    return frozenset(part for word in words for part in _WORDS.get(word, word).split())


def lists(field: str) -> tuple[str, ...]:
    """The entries of a field: "a | b"."""
    return tuple(entry for part in field.split("|") if (entry := part.strip()))


@lru_cache(maxsize=16)
def table(name: str, width: int) -> tuple[tuple[str, ...], ...]:
    """The records of ``data/name``, each with ``width`` fields; absent ones are empty.

    Raises ValueError for a record with more.
    """
    text = (files("ehrqa_cli.concepts") / "data" / name).read_text(encoding="utf-8")
    records = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            fields = tuple(field.strip() for field in line.split("\t"))
            if len(fields) > width:
                raise ValueError(f"{name}: more than {width} fields in {line!r}")
            records.append(fields + ("",) * (width - len(fields)))
    return tuple(records)


def unique(phrases: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Each phrase once, folded, in order."""
    return tuple(dict.fromkeys(plain for phrase in phrases if (plain := fold(phrase))))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
