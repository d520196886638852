"""Titles of ICD codes as words: phrases that people say, and the codes that a name is about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"

# a name with one of these is of something else than the disease, unless the words sought have it
_MARKS = frozenset(
    (
        "history",
        "family",
        "screening",
        "suspected",
        "risk",
        "vaccination",
        "immunization",
        "education",
        "counseling",
        "fear",
        "exposure",
        "contact",
    )
)
_GENERAL = frozenset(
    (
        "disease",
        "disorder",
        "condition",
        "finding",
        "symptom",
        "status",
        "other",
        "complication",
        "problem",
        "of",
        "the",
        "and",
        "in",
    )
)
_DENIED = re.compile(r"\b(?:without|not|no|absence of|negative for|except|excluding|ruled out)\b.*")
_PLAIN = re.compile(
    r"^(?:other and unspecified|unspecified|other) | (?:unspecified(?: \w+)*|nos|nec|not elsewhere classified)$"
)
_BRITISH = tuple(
    (re.compile(american), british)
    for american, british in (
        (r"(?<!a)emia\b", "aemia"),
        (r"(?<=[hnrlcxk])emic\b", "aemic"),
        (r"hem(?=[ao])", "haem"),
        (r"(?<!o)edema", "oedema"),
        (r"esoph", "oesoph"),
        (r"rrhea", "rrhoea"),
        (r"pnea\b", "pnoea"),
        (r"tumor\b", "tumour"),
        (r"\bfet(?=al|us)", "foet"),
        (r"celiac", "coeliac"),
        (r"fecal", "faecal"),
        (r"cesarean", "caesarean"),
        (r"\blabor\b", "labour"),
        (r"behavior", "behaviour"),
        (r"estrogen", "oestrogen"),
    )
)


def british(phrase: str) -> str:
    """A phrase in British spelling."""
    for american, there in _BRITISH:
        phrase = american.sub(there, phrase)
    return phrase


def lines(name: str) -> list[list[str]]:
    """The records of a data file: fields by tab; ``#`` lines are its head."""
    text = (DATA / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]


@cache
def titles(version: int) -> dict[str, tuple[str, str]]:
    """(title, other names joined by " | ") by code or section of ICD ``version`` (9 or 10)."""
    return {
        line[0]: (line[1], line[2] if len(line) > 2 else "") for line in lines(f"icd{version}.tsv")
    }


def said_as(title: str) -> list[str]:
    """The phrases of a title: without what stands in brackets, and with it."""
    low = title.lower().replace("'", "").replace("`", "").replace("&", " and ")
    bare = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", low)
    found = [" ".join(re.findall(r"[^\W_]+(?:\.\d+)?", text)) for text in (bare, low)]
    return [
        p for p in dict.fromkeys(found) if p and len(p.split()) < 15 and not p.startswith("e codes")
    ]


def plain(phrase: str) -> str:
    """A title's phrase without "unspecified" and the like."""
    return _PLAIN.sub("", phrase).strip()


@cache
def words_of(text: str) -> frozenset[str]:
    """The words of a text, small, without the s of a plural."""
    found = re.findall(r"[a-z0-9]+", text.lower().replace("'s ", " ").replace("'", ""))
    return frozenset(
        w[:-3] + "y"
        if w.endswith("ies")
        else w[:-1]
        if re.search(r"[^sui]s$", w) and len(w) > 3
        else w
        for w in found
    )


def asserted(name: str) -> frozenset[str]:
    """The words of a name that it affirms: what stands behind "without" or "not" is left out."""
    return words_of(_DENIED.sub("", name.lower()))


def covers(phrase: str, name: str) -> bool:
    """Whether a name without a code of ICD is an example of what a phrase means."""
    return fits(words_of(phrase), asserted(name))


def fits(wanted: frozenset[str], has: frozenset[str]) -> bool:
    """Whether all words wanted are there, and no mark that turns the meaning."""
    return len("".join(wanted)) > 3 and wanted <= has and not (_MARKS & has) - wanted


def places_of(name: str) -> tuple[str, ...]:
    """The ICD-10-CM codes (of any length) whose titles fit a name most fully."""
    has = asserted(name)
    found = [
        (len(wanted), code)
        for word in has
        for wanted, code in _by_word().get(word, ())
        if fits(wanted, has)
    ]
    most = max((size for size, _ in found), default=0)
    return tuple(sorted({code for size, code in found if size == most}))


@cache
def _by_word() -> dict[str, list[tuple[frozenset[str], str]]]:
    """(words of a title, code) by the title's longest word."""
    found: dict[str, list[tuple[frozenset[str], str]]] = defaultdict(list)
    for code, phrase in _sayings():
        wanted = words_of(phrase)
        if wanted - _GENERAL and "other" not in wanted:
            found[max(sorted(wanted), key=len)].append((wanted, code))
    return found


def _sayings() -> Iterator[tuple[str, str]]:
    for code, (title, more) in titles(10).items():
        if "-" not in code:
            names: Iterable[str] = (title, *(more.split(" | ") if more else ()))
            yield from ((code, plain(p)) for n in names for p in said_as(n))
