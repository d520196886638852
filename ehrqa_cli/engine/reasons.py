"""Why an answer is withheld, for people: a kind, a plain sentence, and whether to offer others.

The checks of engine.confidence say which signal withheld an answer. Where that is the model's own
doubt, the judge's head of kinds (models/encoder) says what sort of question it is. Below ``SURE``
the sentence stays general.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.logical_form import describe
from ehrqa_cli.words.lists import word_list

if TYPE_CHECKING:
    from ehrqa_cli.encoder.judge import Judge
    from ehrqa_cli.engine.question_run import Reading

# Kinds for people, in the order of the documentation.
PUBLIC_KINDS = (
    "not_in_database",
    "not_in_notes",
    "unknown_patient",
    "unknown_value",
    "ambiguous",
    "outside_knowledge",
    "prediction",
    "changes_data",
    "no_data",
    "not_seen",
    "not_sure",
)
# What each check means to a person, unless the question itself tells more.
_OF_SIGNAL = {
    "unknown_patient": "unknown_patient",
    "unlinked_value": "unknown_value",
    "out_of_scope": "not_in_database",
    "images": "not_seen",
    "images_words": "not_sure",
    "images_missing": "no_data",
    "images_general": "outside_knowledge",
    "not_recorded": "not_in_database",
    "no_notes": "not_in_database",
    "not_in_notes": "not_in_notes",
    "unsure_notes": "not_sure",
    "sources_differ": "ambiguous",
    "mixed_patient": "ambiguous",
    "mixed_note": "not_in_notes",
    "mixed_table": "no_data",
    "mixed_units": "not_sure",
    "empty_result": "no_data",
    "ambiguous_name": "ambiguous",
}
# Where a known question about the tables would be no help.
_NO_OFFER = frozenset(
    {
        "unknown_patient",
        "no_notes",
        "not_in_notes",
        "unsure_notes",
        "sources_differ",
        "mixed_patient",
    }
)
# Questions that no reading of the records answers, whatever it says.
_NOT_OF_RECORDS = frozenset({"outside_knowledge", "prediction", "changes_data"})
# Doubt of the model: the question may tell why.
_DOUBT = frozenset({"model_declined", "no_form", "low_confidence"})
# A question that was given a query after all needs clearer words to be called something else.
SURE = {"model_declined": 0.6}
_SURER = 0.85
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|their|they|them|(?:this|the|that|my|our|same|other) "
    r"(?:patient|pt|one|person|man|woman|lady|guy))\b"
)
_GROUP = re.compile(r"\b(?:patients|pts|people|everyone|everybody|all|list|how many|which|those)\b")
_SQL = re.compile(
    r"\b(?:drop\s+table|delete\s+from|insert\s+into|truncate\s+table|union\s+select|"
    r"select\s.+\sfrom\s+(?:\w+events|patients|admissions|prescriptions|users|sqlite_\w+)|"
    r"update\s+\w+\s+set|alter\s+table|attach\s+database|or\s+1\s*=\s*1)\b|;\s*--",
    re.IGNORECASE,
)
# Small words of other languages, none of them English; two make a question foreign.
_LANGUAGES = Path(__file__).with_name("languages.txt")
_FOREIGN = word_list(_LANGUAGES, "foreign")
_ENGLISH = word_list(_LANGUAGES, "English")


@dataclass(frozen=True)
class Told:
    """What a person is told: ``kind`` of PUBLIC_KINDS, the sentence, and whether it makes sense
    to offer a question that can be answered."""

    kind: str
    sentence: str
    offer: bool = True


# The kinds that the judge tells apart; ``answerable`` is one of them: it explains nothing.
TELL: Mapping[str, Told] = {
    "not_in_database": Told(
        "not_in_database",
        "I find no way to answer this from the database. It has diagnoses, procedures, drugs, lab "
        "tests, vital signs, fluids, stays and costs, under their own names.",
    ),
    "ambiguous": Told(
        "ambiguous", "It is not clear who or what is meant. Name the patient by id, and the item."
    ),
    "outside_knowledge": Told(
        "outside_knowledge",
        "This needs medical knowledge or judgement, which is not in the records. "
        "Ask what was recorded.",
    ),
    "prediction": Told(
        "prediction",
        "This is about plans or the future. The records hold only what has happened.",
    ),
    "changes_data": Told(
        "changes_data",
        "I only read the records: I cannot change, send or export them, or obey instructions.",
        offer=False,
    ),
    "chitchat": Told("outside_knowledge", "This does not ask about the records.", offer=False),
    "other_language": Told("ambiguous", "I read questions in English only.", offer=False),
    "half": Told(
        "not_in_database",
        "A part of this is not in the database. Ask for the rest alone.",
    ),
    "too_complex": Told(
        "not_sure", "I cannot compute this from the records yet. Ask for one thing at a time."
    ),
}
SEVERAL = Told(
    "ambiguous", "I can read this in several ways, which give different answers. Say which."
)
_NO_PATIENT = Told(
    "ambiguous", "The question names no patient. Add the patient's id, or give it with --patient."
)


def explain(reason: Reason, linked: LinkedQuestion | None, judge: Judge | None) -> Told:
    """What to tell a person about ``reason``; ``judge`` None: from the signal alone. Raises
    ModelError."""
    kind = _OF_SIGNAL.get(reason.kind, "not_sure")
    plain = Told(kind, reason.sentence, offer=reason.kind not in _NO_OFFER)
    if linked is None or reason.kind not in _DOUBT:
        return plain
    if _SQL.search(linked.question):
        return TELL["changes_data"]
    if _foreign(linked.question):
        return TELL["other_language"]
    if judge is not None:
        name, p = max(judge.kinds(linked).items(), key=lambda item: item[1])
        if name in TELL and math.exp(p) >= SURE.get(reason.kind, _SURER):
            return TELL[name]
    if reason.kind == "model_declined" and _names_nobody(linked):
        return _NO_PATIENT
    return plain


def lacking(
    told: Told, reading: Reading | None, linked: LinkedQuestion, judge: Judge | None
) -> Told:
    """The same with the words of the question that the reading may leave out, where the judge can
    point to some. Raises ModelError."""
    if judge is None or reading is None:
        return told
    words = judge.left_out(linked, describe(reading.written))
    if not words:
        return told
    said = " and ".join(f"“{word}”" for word in words)
    return replace(told, sentence=f"I read it as shown, and may have missed {said}. Say it anew.")


def may_run(reason: Reason, told: Told) -> bool:
    """May the reading that was withheld for ``reason`` be run as a tentative answer?"""
    return reason.doubt and told.kind not in _NOT_OF_RECORDS


def _foreign(question: str) -> bool:
    letters = [c for c in question if c.isalpha()]
    if sum(ord(c) > 0x24F for c in letters) > len(letters) / 3:  # no Latin script
        return True
    words = set(re.findall(r"[^\W\d_]+", question.lower()))
    return len(words & _FOREIGN) >= 2 and len(words & _FOREIGN) > len(words & _ENGLISH)


def _names_nobody(linked: LinkedQuestion) -> bool:
    if any({"pat", "study", "adm", "stay"}.intersection(link.types) for link in linked.links):
        return False
    text = linked.question.lower()
    return _PRONOUN.search(text) is not None and _GROUP.search(text) is None
