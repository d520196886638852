from __future__ import annotations

import pytest

from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.text2sql.linking.clashes import clashing
from ehrqa_cli.text2sql.linking.meant import Meant, Unmeant
from ehrqa_cli.text2sql.linking.tokens import fold, tokenize

HEART = Concept(
    "dx",
    "cardiomyopathy",
    ("cardiomyopathy", "cmp"),
    (Item("diagnoses_icd", "icd_code", "icd10|i420", "dilated cardiomyopathy", rows=3),),
)
PANEL = Concept(
    "lab",
    "comprehensive metabolic panel",
    ("comprehensive metabolic panel", "cmp"),
    (Item("labevents", "itemid", 50912, "creatinine", rows=9),),
)


class Known:
    """Meanings of two concepts."""

    concepts = (HEART, PANEL)

    def knows(self, words):
        return bool(self.named(words))

    def named(self, phrase):
        return [concept for concept in self.concepts if phrase in concept.phrases]

    def has(self, kind):
        return kind in ("dx", "lab")


def found(question):
    text = fold(question)
    return list(Meant(Known()).find(text, tokenize(text), ()))


def test_a_short_name_of_two_things_is_asked_back():
    (unmeant,) = found("how many patients had CMP?")
    assert isinstance(unmeant, Unmeant) and unmeant.kind == "ambiguous"
    assert {concept.name for concept in unmeant.meanings} == {HEART.name, PANEL.name}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("how many patients were diagnosed with cmp?", "dx"),
        ("how many patients had a cmp lab test?", "lab"),
        ("was the cmp over 5?", "lab"),
        ("how many patients had cardiomyopathy?", "dx"),
    ],
)
def test_words_around_it_settle_it(question, kind):
    (link,) = found(question)
    assert isinstance(link, Link) and link.types == (kind,)


@pytest.mark.parametrize(
    ("mention", "first", "second", "clash"),
    [
        ("cmp", HEART, PANEL, True),
        ("cardiomyopathy", HEART, PANEL, False),  # no short name
        ("prbc", Concept("drug", "blood", ()), Concept("proc", "transfusion", ()), False),
        ("flu", Concept("dx", "influenza", ()), Concept("mtest", "influenza test", ()), False),
        ("etoh", Concept("dx", "alcohol use", ()), Concept("lab", "ethanol", ()), True),
    ],
)
def test_what_clashes(mention, first, second, clash):
    assert clashing(mention, [first], [second]) == ([second] if clash else [])
