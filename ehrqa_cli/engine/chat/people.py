"""Whether a question that names no patient is about the conversation's."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.chat import phrases
from ehrqa_cli.engine.chat.phrases import Part
from ehrqa_cli.text2sql.linking.tokens import fold

# One person who must have been named before.
_PRONOUN = re.compile(
    r"\b(?:he|she|him|her|hers|his|himself|herself|(?:this|that|the\s+same|the)\s+(?:patient|pt)"
    r"(?:'s)?)\b(?!\s+(?:who|whose|with|that|which|count|counts|population|records?|number))"
)
_THEY = re.compile(r"\b(?:their|they|them|theirs)\b")
# Many people, or something that is about nobody.
_COHORT = re.compile(
    r"\b(?:patients|(?<!the )(?<!this )(?<!that )(?<!same )patient\s+[a-z]+|people|persons"
    r"|patient\s+(?:who|whose|with|that|counts?|population|records?|numbers?)"
    r"|individuals|everyone|everybody|anyone|anybody|women|men|females?|males?|cohort|oldest"
    r"|youngest|(?:most|more|commonly|frequently)\s+(?:common|frequent|used|prescribed|ordered)\w*"
    r"|commonest|top|(?:costs?|prices?)\s+(?:of|for)|cost\s*\?|survival|mortality|prevalence"
    r"|incidence|stands?\s+for|abbreviat\w*|acronym|intake\s+method|method\s+of\s+intake)\b"
)
# What a question of nobody in particular may also say.
_ANYBODY = re.compile(
    r"\b(?:any|each|every|most|who|whom|those|all\s+the|overall|on\s+average|frequent\w*|common\w*"
    r"|mean|meaning|costs?|prices?|charges?|how\s+is|route\s+of|consumed|ingested)\b"
)
_OF_ONE = re.compile(
    r"\b(?:last|latest|first|second|third|most\s+recent(?:ly)?|current|currently|earliest|highest"
    r"|lowest|gender|sex|age|old|insurance|marital|language|birth|born|die|died|weight|weigh|height"
    r"|tall|discharged|stay|x-?ray|film|study)\b"
)


def asks_of_one(plain: str) -> bool:
    """Whether the question has a word that stands for one person named before.

    ``plain`` is its text without values and times (`plain_text`).
    """
    if _PRONOUN.search(plain):
        return True
    many = _COHORT.search(plain) or _ANYBODY.search(plain)
    return _THEY.search(plain) is not None and not many


def wants_patient(linked: LinkedQuestion, pinned: bool) -> bool:
    """Whether the conversation's patient is to be given with a question that names none.

    ``pinned``: the user said whose questions these are (--patient, /patient). Then only a question
    of many people is asked without; else one must look as if it were of a single person.
    """
    plain = plain_text(linked)
    if asks_of_one(plain):
        return True
    if _COHORT.search(plain):
        return False
    return pinned or (_OF_ONE.search(plain) is not None and not _ANYBODY.search(plain))


def plain_text(linked: LinkedQuestion) -> str:
    """The folded question less its values and times, whose words say nothing of people."""
    text = fold(linked.question)
    links = [link for link in linked.links if link.how != "option"]
    times = phrases.find(text, links).times
    return phrases.cover(text, [*times, *(Part(x.start, x.end, "") for x in links)])
