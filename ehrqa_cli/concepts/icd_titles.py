"""Titles of ICD codes as words: phrases that people say, and the codes that a name is about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

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
        "remission",
    )
)
GENERAL = frozenset(
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
    r"^(?:other and )?unspecified "
    r"| (?:unspecified(?: (?:site|organism|type|cause|whether .*))?"
    r"|nos|nec|not elsewhere classified)$"
)
_LITTLE = frozenset(("of", "the", "a", "and", "or", "in", "to", "by", "with", "due", "from", "on"))
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
    low = title.lower().replace("`", "'").replace("&", " and ")
    bare = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", low)
    forms = [text.replace("'s", s).replace("'", "") for text in (bare, low) for s in ("s", "")]
    found = [" ".join(re.findall(r"[^\W_]+(?:\.\d+)?", text)) for text in forms]
    return [
        p
        for p in dict.fromkeys(found)
        if p and len(p.split()) < 15 and not p.startswith(("e codes", "conditions classif"))
    ]


def plain(phrase: str) -> str:
    """A title's phrase without "unspecified" and the like."""
    return _PLAIN.sub("", phrase).strip()


@cache
def words_of(text: str) -> frozenset[str]:
    """The words that say what a text means: small, singular, one of each family (words.tsv)."""
    low = text.lower().replace("'s ", " ").replace("'", "")
    return frozenset(_family(word) for word in re.findall(r"[a-z0-9]+", low) if word not in _LITTLE)


@cache
def _family(word: str) -> str:
    one = _singular(word)
    return _families().get(one, one)


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return (
        word[:-1] if len(word) > 3 and re.search(r"[^sui]s$", word) and word != "diabetes" else word
    )


def folded(phrase: str) -> str:
    """A phrase with its last word in the singular."""
    first, space, last = phrase.rpartition(" ")
    return first + space + _singular(last)


@cache
def _families() -> dict[str, str]:
    return {form: word for word, forms in lines("words.tsv") for form in forms.split(" | ")}


@cache
def asserted(name: str) -> frozenset[str]:
    """The words of a name that it affirms: what stands behind "without" or "not" is left out."""
    return words_of(_DENIED.sub("", name.lower()))


def affirming(words: frozenset[str], names: Iterable[str]) -> Iterator[int]:
    """The places of the names that affirm all ``words``, and no mark ("history") beyond them."""
    longest = max(sorted(words), key=len)
    forms = (longest, *(form for form, word in _families().items() if word == longest))
    starts = tuple(form[: max(4, len(form) - 2)] for form in forms)
    for place, name in enumerate(names):
        low = name.lower()
        if any(start in low for start in starts):
            has = asserted(name)
            if words <= has and not (_MARKS & has) - words:
                yield place


def exists(words: frozenset[str]) -> bool:
    """Whether some title of ICD-10-CM or ICD-9-CM affirms all ``words``."""
    own = [title for version in (9, 10) for title, _ in titles(version).values()]
    return any(True for _ in affirming(words, [*own, *(t for _, t in lines("icd10_leaves.tsv"))]))


class Phrases(Generic[T]):
    """Things by phrases, for looking up those whose phrase a name is an example of."""

    def __init__(self, phrases: Iterable[tuple[str, T]]) -> None:
        self._by_word: dict[str, list[tuple[frozenset[str], T]]] = defaultdict(list)
        for phrase, thing in phrases:
            words = words_of(phrase)
            if words - GENERAL and "other" not in words and len("".join(words)) > 3:
                self._by_word[max(sorted(words), key=len)].append((words, thing))

    def fits(self, name: str) -> list[tuple[int, T]]:
        """(number of words, thing) of each phrase whose words all stand in a name.

        Not where the name has a mark ("history", "screening") that the phrase has not.
        """
        has = asserted(name)
        return [
            (len(words), thing)
            for word in has
            for words, thing in self._by_word.get(word, ())
            if words <= has and not (_MARKS & has) - words
        ]


def places_of(name: str) -> tuple[str, ...]:
    """The ICD-10-CM codes (of any length) whose titles fit a name most fully."""
    found = _titled().fits(name)
    most = max((size for size, _ in found), default=0)
    return tuple(sorted({code for size, code in found if size == most}))


@cache
def _titled() -> Phrases[str]:
    names = [
        (code, name)
        for code, (title, more) in titles(10).items()
        if "-" not in code
        for name in (title, *(other for other in more.split(" | ") if " NOS" not in other))
    ]
    names += [(code, title) for code, title in lines("icd10_leaves.tsv")]
    for line in lines("diagnoses.tsv"):  # groups that are one code
        if re.fullmatch(r"[A-Z]\d[0-9A-Z](?:\.\w+)?", line[1] if len(line) > 1 else ""):
            names += [(line[1].replace(".", ""), phrase) for phrase in line[0].split(" | ")]
    return Phrases((plain(phrase), code) for code, name in names for phrase in said_as(name))
