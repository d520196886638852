"""Diseases that a question narrows ("acute X", "X of the leg") or gives by their codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ehrqa_cli.concepts.diagnoses import by_code, narrowed
from ehrqa_cli.concepts.meaning import Meanings, folded
from ehrqa_cli.concepts.units import find_unit
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.text2sql.linking.mentions import Mention
from ehrqa_cli.text2sql.linking.tokens import WORDS, Token
from ehrqa_cli.words import lists

_QUALIFIERS = lists.word_list(WORDS, "qualifiers")
# What may stand between a disease and its place or cause, and within them.
_CANCER = re.compile(r"C[0-7]")  # where it began; what has spread is coded apart
_OF = re.compile(r" (?:of|from|due to|caused by|because of) ")
_SMALL = frozenset({"the", "a", "an", "to", "by", "of"})
_MOST_WORDS = 5
_CODE = re.compile(
    r"\b(?P<said>icd[- ]?(?:9|10)?(?:[- ]?cm)?(?: codes?)?:? |codes? )?"
    r"(?P<code>(?:[a-z]\d[\da-z]|\d{3}|e\d{3})(?P<more>\.[\da-z]{0,4}\*?|\*)?)(?![\w.]*\w)"
)


# A bare number is a code of ICD-9 only for one who has it: "a temperature of 100.4" is none.
_HAVING = re.compile(r"\b(?:with|had|has|have|having|dx|diagnos\w+(?: of| with)?) $")


def _measured(text: str, code: re.Match[str]) -> bool:
    """Whether what looks like a code is a value."""
    if not code["code"].replace(".", "").isdigit():
        return False
    return not _HAVING.search(text[: code.start()]) or find_unit(text, code.end()) is not None


class Diseases:
    """Reads diseases more narrowly, in one record."""

    def __init__(self, meanings: Meanings) -> None:
        self.meanings = meanings

    def of_sort(self, mention: Mention, tokens: list[Token], concept: Concept) -> list[Concept]:
        """The disease with the word before it ("old", "acute"), where that makes another of it;
        none where nothing tells which."""
        before = tokens[mention.first - 1].text if mention.first else ""
        if before not in _QUALIFIERS or (before == "primary" and _CANCER.match(concept.about)):
            return [concept]
        for phrase in concept.phrases:
            for known in self.meanings.named(f"{before} {phrase}"):
                if known.kind == concept.kind and known.items:
                    return [known]
        if before == "acute" and not any("chronic" in i.name.lower() for i in concept.items):
            return [concept]
        found = self._narrowed(f"{before} {concept.phrases[0]}") if concept.phrases else None
        return [found] if found else []

    def qualified(self, mention: Mention, tokens: list[Token]) -> bool:
        """Whether such a word stands before a disease."""
        return mention.first > 0 and tokens[mention.first - 1].text in _QUALIFIERS

    def placed(self, text: str, tokens: list[Token], mentions: Iterable[Mention]) -> list[Mention]:
        """The mentions, those of a disease with its place or cause where titles tell these apart;
        mentions inside of that are dropped."""
        kept: list[Mention] = []
        for mention in sorted(mentions, key=lambda one: one.start):
            if kept and mention.start < kept[-1].end:
                continue
            kept.append(self._with_place(text, tokens, mention))
        return kept

    def codes(self, text: str, tokens: list[Token]) -> Iterator[Mention]:
        """Diagnoses given by their ICD codes: "i50.9", "icd-10 e11", "j96.*"."""
        for match in _CODE.finditer(text):
            if match["said"] or (match["more"] and not _measured(text, match)):
                concept = by_code(match["code"], self.meanings.of_kind("dx"))
                start, end = match.span()
                inside = [n for n, t in enumerate(tokens) if t.start < end and start < t.end]
                if concept is not None and inside:
                    found = {"dx": (concept,)}
                    yield Mention(inside[0], inside[-1] + 1, start, end, found)

    def _with_place(self, text: str, tokens: list[Token], mention: Mention) -> Mention:
        meant = mention.options.get("dx", ())
        joint = _OF.match(text[mention.end :])
        if joint is None or len(meant) != 1:
            return mention
        start = mention.end + joint.end()
        last = next((n for n, t in enumerate(tokens) if t.start >= start), len(tokens))
        ends = []
        for place in range(last, min(last + _MOST_WORDS, len(tokens))):
            word = tokens[place].text
            if not word.isalpha() or (word in lists.question_words() and word not in _SMALL):
                break
            ends.append(place)
        for place in reversed(ends):
            found = self._of_place(
                folded(text[mention.start : mention.end]), folded(text[start : tokens[place].end])
            )
            if found and len(found.items) <= len(meant[0].items):
                options = {"dx": (found,)}
                return replace(mention, last=place + 1, end=tokens[place].end, options=options)
        return mention

    def _of_place(self, disease: str, place: str) -> Concept | None:
        """ "Fracture" of "the hip", by the name of a hip fracture or by the titles' words."""
        turned = " ".join(word for word in place.split() if word not in _SMALL)
        for known in self.meanings.named(f"{turned} {disease}"):
            if known.kind == "dx" and known.items:
                return known
        return None if place.split()[-1] in _SMALL else self._narrowed(f"{disease} of {place}")

    def _narrowed(self, phrase: str) -> Concept | None:
        found = narrowed(phrase, self.meanings.by_phrase, self.meanings.of_kind("dx"))
        return found if found and found.items else None
