"""Is a paraphrase one? What a small model writes is kept only when it passes all of these.

Kept are the slots (each as often as in the template), numbers, words about time and words that say
what is computed; the answer is of the same kind; the words are neither the template's nor another
paraphrase's; a question about one image is parsed to the same program; and the sentence means, to
the encoder that the notes are searched with, what the template means, and nothing that another
template with the same slots means more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.paraphrase_words import Spelled, spell

LEAST_CHANGE = 0.2  # of the words' characters, to the template
LEAST_APART = 0.12  # and to another paraphrase
# Of rule-made wordings 95 of 100 are nearer to their template than this. So are 88 of 100 to the
# nearest other template with the same slots, which is why they are compared with those as well.
SIMILAR = 0.65
MOST_CHARACTERS = 260
Embed = Callable[[Sequence[str]], "Vectors"]
Vectors = Sequence[Sequence[float]]

# What a question asks for and about when: a paraphrase has the groups that its template has.
_GROUPS = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in table("pairs/words/paraphrase")["group"].items()
}
# Groups that a paraphrase may add, drop or both without another answer.
_FREE = frozenset({"value", "prescribed", "volume", "visit", "change", "same", "when", "id"})
_MUST = frozenset({"change", "visit", "same", "id"})  # not to be dropped, though
_NUMBERS = re.compile(
    r"\d+|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice)\b", re.IGNORECASE
)
_YES_NO = re.compile(
    r"^(?:(?:please|can|could|would|you|i|tell|me|need|to|want|like|know|let|find|out|say|ever|"
    r"check|verify|confirm|determine|see|if|whether)[ ,]+)*"
    r"(?:(?:if|whether)\b|(?:is|are|was|were|has|have|had|did|does|do)\b)",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:questions?|answers?|reword\w*|(?:do|did|have|are|were|if) you|your?)\b(?! (?:look|find|"
    r"tell|show|give|check|say))",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\b[Ww]hich\b.*, (?:the )?(.+?) or (?:the )?[^,]+\?$")
_ASIDE = re.compile(
    r"^(?:in|on|for|of|during|given|looking at|based on|after|since)\b[^,]*, ", re.I
)


@dataclass(frozen=True)
class Peers:
    """The templates with the same slots, filled alike, with their vectors; ``own`` is the place
    of the template itself."""

    texts: tuple[str, ...]
    vectors: Vectors
    own: int


def rejected(
    said: str, spelled: Spelled, kept: Sequence[str], same_program: Callable[[str], bool] | None
) -> str | None:
    """Why a paraphrase is none, by everything but its meaning; None when it may be one. ``said``
    has the stand-ins, and so has every one ``kept`` before."""
    if len(said.split()) < 3 or len(said) > MOST_CHARACTERS or "\n" in said:
        return "no single sentence"
    if spelled.slotted(said) is None or re.search(r"[{}\[\]()$<>|*]", said):
        return "a slot is lost or doubled"
    before, after = spelled.without(spelled.text), spelled.without(said)
    if _numbers(before) != _numbers(after):
        return "another number"
    if why := _other_groups(before, after):
        return why
    if _ABOUT_ITSELF.search(after):
        return "about the question, or the reader"
    if is_yes_no(spelled.text) != is_yes_no(said):
        return "another kind of answer"
    if _options_lost(spelled.text, said):
        return "no longer a choice"
    if _apart(said, spelled.text) < LEAST_CHANGE:
        return "hardly changed"
    if any(_apart(said, other) < LEAST_APART for other in kept):
        return "nearly the same as another"
    if same_program is not None and not same_program(said):
        return "parsed as something else"
    return None


def means_another(said: str, peers: Peers, embed: Embed) -> str | None:
    """Why the meaning is another, by the encoder; None when it is the template's."""
    (vector,) = embed([said])
    near = [_dot(vector, other) for other in peers.vectors]
    if near[peers.own] < SIMILAR:
        return "too far from the template"
    if max(near) > near[peers.own]:
        return "nearer to another template"
    return None


def peers_of(template: str, others: Sequence[str], embed: Embed) -> Peers:
    """A template among those with the same slots."""
    texts = tuple(dict.fromkeys(spell(text).text for text in (template, *others)))
    return Peers(texts, embed(texts), 0)


def _options_lost(text: str, said: str) -> bool:
    """Of a choice between two ("which is it, this or that?"): do the words make the first of them
    what something else is related to, or one more of a list?"""
    found = _CHOICE.search(text)
    if found is None:
        return False
    first = re.escape(found[1])
    related = rf"\b(?:to|with|by|of|from) (?:the )?{first}\b|\b{first}, (?:and|or)\b"
    return re.search(related, said, re.IGNORECASE) is not None


def is_yes_no(text: str) -> bool:
    """Is the answer yes or no?"""
    return bool(_YES_NO.match(_ASIDE.sub("", text.strip())))


def _other_groups(before: str, after: str) -> str | None:
    for name, pattern in _GROUPS.items():
        had, has = bool(pattern.search(before)), bool(pattern.search(after))
        if had == has:
            continue
        if name in _FREE and not (had and name in _MUST):
            continue
        return f"words about '{name}' {'lost' if had else 'added'}"
    return None


def _numbers(text: str) -> list[str]:
    return sorted(found.lower() for found in _NUMBERS.findall(text))


def _apart(one: str, other: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_distance(_plain(one), _plain(other)))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9/'-]+", text.lower()))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(a * b for a, b in zip(one, other, strict=True)))
