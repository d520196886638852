"""Words to mentions: which findings and places a question names, and which words are only grammar.

Names and synonyms come from ``ehr.cxr_vocabulary``; here they get their plurals, the places that
come in pairs ("both lungs", "left or right hilum"), and words that name two things at once
("left costophrenic angle blunting").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS
from ehrqa_cli.vqa.ontology import ABNORMALITY, POSSIBLE
from ehrqa_cli.words.lists import sections, stop_words

FINDING, PLACE = "finding", "place"
SIDES = ("left", "right")
WORDS = Path(__file__).with_name("words.txt")
_TOKEN = re.compile(r"\d+/\d+|\d*\.\d+|\d+|[a-z]+|[,%<>]")

# Nouns of places that come in pairs, by the words for one of them.
_PAIRED: dict[str, str] = {}
for _name, _words in OBJECTS.items():
    if _name.startswith("left "):
        for _phrase in (_name, *_words):
            _PAIRED[_phrase.removeprefix("left ")] = _name.removeprefix("left ")
_PAIRED["lung apices"] = _PAIRED["apices"] = "apical zone"
# Where a finding said to be "left" or "right" is looked for, the first that it can be in.
_HOMES = (
    *("lung", "chest wall", "hemidiaphragm", "clavicle", "shoulder", "breast"),
    "hilar structures",
)


@dataclass(frozen=True)
class Mention:
    """Tokens ``start`` to ``end`` that name a finding (attribute, category or abnormality) or
    places; several ``places`` are joined by ``op`` ("" for "the lungs": either). ``side`` is
    left, right or both, of a finding whose side stands before or after it."""

    kind: str
    start: int
    end: int
    name: str = ""
    places: tuple[str, ...] = ()
    op: str = ""
    side: str = ""

    @property
    def is_category(self) -> bool:
        """Does it name a class of findings?"""
        return self.name in CATEGORIES or self.name == ABNORMALITY


def tokenise(text: str) -> list[str]:
    """Lower-cased words, numbers (1/2, 0.5) and commas. Slashes and hyphens part words."""
    plain = text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not")
    plain = re.sub(r"\b(?:no\.?|number|id|#)\s*(?=\d{4})", " ", plain)
    plain = re.sub(r"'s?(?![a-z])", " ", plain).replace("and/or", "or")
    plain = re.sub(r"[;:?!\u2014\u2013]|\.(?!\d)|(?<=\s)-(?=\s)", " , ", plain)
    return _TOKEN.findall(plain)


def mentions(tokens: list[str]) -> list[Mention]:
    """The mentions in order, the longest match first at each place."""
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        here = _pair(tokens, at) or _longest(tokens, at)
        if here:
            found += here
            at = here[-1].end
        else:
            at += 1
    return _predicated(tokens, _sided(tokens, found))


def _predicated(tokens: list[str], found: list[Mention]) -> list[Mention]:
    """Places said to be enlarged, blunted, ...: a finding of their own."""
    if any(m.kind == FINDING for m in found):
        return found
    places = {place for m in found for place in m.places}
    for adjective, (name,) in _more("adjectives").items():
        word, noun = adjective.split(", ")
        if word in tokens and places and all(place.endswith(noun) for place in places):
            at = tokens.index(word)
            made = Mention(FINDING, at, at + 1, name=name)
            return sorted([*found, made], key=lambda m: m.start)
    return found


def home(name: str, side: str) -> str | None:
    """The object that "left NAME" means, or None where the finding has no side."""
    for noun in _HOMES:
        if (f"{side} {noun}", name) in POSSIBLE:
            return f"{side} {noun}"
    return None


def _longest(tokens: list[str], at: int) -> list[Mention]:
    phrases = _phrases()
    for size in range(min(_longest_phrase(), len(tokens) - at), 0, -1):
        for made in phrases.get(tuple(tokens[at : at + size]), ())[:1]:
            return [replace(m, start=at, end=at + size) for m in made]
    return []


def _pair(tokens: list[str], at: int) -> list[Mention]:
    """Both of a pair: "left and right lung", "both lungs", "either hilum", "the lungs"."""
    words = tokens[at : at + 9]
    op, skip = "", 0
    if words[0] in SIDES and len(words) > 2 and words[1] in ("and", "or"):
        later = 3 if words[2] == "the" else 2
        if later < len(words) and words[later] in SIDES and words[later] != words[0]:
            op, skip = words[1], later + 1
    elif words[0] in ("both", "either", "bilateral") and len(words) > 1:
        op, skip = ("or" if words[0] == "either" else "and"), 1
        skip += int(words[1] in ("the", "of")) + int(words[1:3] == ["of", "the"])
    named = _longest(tokens, at + skip)
    for size in range(min(4, len(words) - skip), 0, -1):
        noun = _PAIRED_WORDS.get(" ".join(words[skip : skip + size]))
        if noun is None or (named and named[-1].end >= at + skip + size):
            continue  # "lung" of "lung lesion" is no place
        both = tuple(f"{side} {noun}" for side in SIDES)
        return [Mention(PLACE, at, at + skip + size, places=both, op=op)]
    return []


def _sided(tokens: list[str], found: list[Mention]) -> list[Mention]:
    """Take in side words that stand before or after a finding: "left-sided", "bilaterally"."""
    out: list[Mention] = []
    for m in found:
        side, start, end = "", m.start, m.end
        before, after = tokens[: m.start], " ".join(tokens[m.end : m.end + 4])
        trail = re.match(r"(?:on|at) (?:the )?(left|right|both)(?: sides?)?(?![a-z ]*[a-z])", after)
        if m.kind != FINDING:
            pass
        elif before[-1:] == ["bilateral"]:
            side, start = "both", m.start - 1
        elif before[-2:] in (["left", "sided"], ["right", "sided"]):
            side, start = before[-2], m.start - 2
        elif before[-1:] and before[-1] in SIDES:
            side, start = before[-1], m.start - 1
        elif after.startswith("bilaterally"):
            side, end = "both", m.end + 1
        elif trail:
            side, end = trail[1], m.end + len(trail[0].split())
        out.append(replace(m, side=side, start=start, end=end) if side else m)
    return out


def _numbers(phrase: str) -> Iterator[str]:
    """The phrase, and it as one and as several."""
    yield phrase
    *rest, last = phrase.split(" ")
    forms = [last + "s", last + "es"]
    if last.endswith("y"):
        forms.append(last[:-1] + "ies")
    if last.endswith("s"):
        forms += [last[:-1], last[:-2]]
    if last.endswith("ies"):
        forms.append(last[:-3] + "y")
    for form in forms:
        if len(form) > 2:
            yield " ".join([*rest, form])


_PAIRED_WORDS = {form: noun for words, noun in _PAIRED.items() for form in _numbers(words)}


@functools.cache
def _more(section: str) -> dict[str, tuple[str, ...]]:
    """The other names of a section of words.txt, by name."""
    pairs = (line.split(" = ") for line in sections(WORDS)[section])
    return {name: tuple(others.split(" | ")) for name, others in pairs}


@functools.cache
def _phrases() -> dict[tuple[str, ...], list[list[Mention]]]:
    table: dict[tuple[str, ...], list[list[Mention]]] = {}

    def add(phrase: str, made: list[Mention]) -> None:
        for form in _numbers(" ".join(tokenise(phrase))):
            entries = table.setdefault(tuple(form.split(" ")), [])
            if made not in entries:
                entries.append(made)

    more_places, more_findings = _more("places"), _more("findings")
    places = {name: (name, *words, *more_places.get(name, ())) for name, words in OBJECTS.items()}
    findings = {**ATTRIBUTES, **CATEGORIES, ABNORMALITY: ()}
    # Exact names come first, so that no plural of another name can take their place.
    for name in places:
        add(name, [_place(name)])
    for name in findings:
        add(name, [_finding(name)])
    for name, words in places.items():
        for phrase in words:
            add(phrase, [_place(name)])
    for name, known in findings.items():
        for phrase in (name, *known, *more_findings.get(name, ())):
            add(phrase, [_finding(name)])
            for sided, place in _with_side(phrase):
                add(sided, [_finding(name), _place(place)])
    return table


def _with_side(phrase: str) -> Iterator[tuple[str, str]]:
    """ "costophrenic angle blunting" with a side is a finding and its place."""
    for words, noun in _PAIRED.items():
        pattern = rf"\b{re.escape(words)}\b"
        if words != "lung" and re.search(pattern, phrase):
            for side in SIDES:
                yield re.sub(pattern, f"{side} {words}", phrase), f"{side} {noun}"


def _place(name: str) -> Mention:
    return Mention(PLACE, 0, 0, places=(name,))


def _finding(name: str) -> Mention:
    return Mention(FINDING, 0, 0, name=name)


@functools.cache
def _longest_phrase() -> int:
    return max(map(len, _phrases()))


@functools.cache
def grammar() -> frozenset[str]:
    """Words that carry no finding of their own, and the comma."""
    return stop_words("film") | {","}
