"""Why an answer is withheld, for people: a kind, a plain sentence, and whether to offer others.

The checks of engine.confidence say which signal withheld an answer. Where that is the model's own
doubt, a small linear classifier over the words of the linked question (models/reasons) says what
sort of question it is: it was trained on the builder's unanswerable families. It only words a
refusal; it never decides one. Below ``SURE`` the sentence stays general.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.words.lists import word_list

REASONS_FILE = "reasons/reasons.json"

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
_NGRAM_WORD = re.compile(r"<[a-z_]+>|[^\W\d_]+(?:'[^\W\d_]+)?|\?|\d+")


@dataclass(frozen=True)
class Told:
    """What a person is told: ``kind`` of PUBLIC_KINDS, the sentence, and whether it makes sense
    to offer a question that can be answered."""

    kind: str
    sentence: str
    offer: bool = True


# The classes of the classifier. ``answerable`` is one of them: it explains nothing.
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
    "too_complex": Told(
        "not_sure", "I cannot compute this from the records yet. Ask for one thing at a time."
    ),
}
_NO_PATIENT = Told(
    "ambiguous", "The question names no patient. Add the patient's id, or give it with --patient."
)


def explain(reason: Reason, linked: LinkedQuestion | None, model: ReasonModel | None) -> Told:
    """What to tell a person about ``reason``; ``model`` None: from the signal alone."""
    kind = _OF_SIGNAL.get(reason.kind, "not_sure")
    plain = Told(kind, reason.sentence, offer=reason.kind not in _NO_OFFER)
    if linked is None or reason.kind not in _DOUBT:
        return plain
    if _SQL.search(linked.question):
        return TELL["changes_data"]
    if _foreign(linked.question):
        return TELL["other_language"]
    if model is not None:
        name, p = model.best(linked.text)
        if name in TELL and p >= SURE.get(reason.kind, _SURER):
            return TELL[name]
    if reason.kind == "model_declined" and _names_nobody(linked):
        return _NO_PATIENT
    return plain


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


def ngrams(text: str) -> list[str]:
    """Words, the beginnings of long ones, and pairs of words of a linked question; a reference
    counts as its types."""
    words = [w if not w.isdigit() else "0" for w in _NGRAM_WORD.findall(text.lower())]
    words = [w for w in re.sub(r"#\d+", "", " ".join(words)).split() if w]
    edged = ["^", *words, "$"]
    stems = [f"{w[:5]}~" for w in words if len(w) > 5 and w[0] != "<"]
    return [*words, *stems, *(f"{a} {b}" for a, b in pairwise(edged))]


@dataclass(frozen=True)
class ReasonModel:
    """Multinomial logistic regression over the presence of n-grams; ``weights`` has a number a
    class for each, times ``scale``, and under "" those that every question gets."""

    classes: tuple[str, ...]
    weights: Mapping[str, Sequence[float]]
    scale: float = 1.0

    @classmethod
    def load(cls, path: Path) -> ReasonModel:
        """Read models/reasons/reasons.json. Raises ModelError."""
        hint = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"
        try:
            raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            classes = tuple(str(name) for name in raw["classes"])
            weights = {str(k): [float(x) for x in v] for k, v in raw["weights"].items()}
            scale = float(raw["scale"])
        except OSError as error:
            raise ModelError(f"cannot read {path.name}: {error.strerror}", hint) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise ModelError(f"{path.name} is no model of reasons", hint) from None
        if any(len(row) != len(classes) for row in weights.values()):
            raise ModelError(f"{path.name} is no model of reasons", hint)
        return cls(classes, weights, scale)

    def probabilities(self, text: str) -> dict[str, float]:
        """The probability of each class, for a linked question's text."""
        found = [self.weights[g] for g in {*ngrams(text)} if g in self.weights]
        rows = [self.weights.get("", [0.0] * len(self.classes)), *found]
        logits = [self.scale * sum(column) for column in zip(*rows, strict=True)]
        top = max(logits)
        raised = [math.exp(x - top) for x in logits]
        return {c: x / sum(raised) for c, x in zip(self.classes, raised, strict=True)}

    def best(self, text: str) -> tuple[str, float]:
        """The most probable class and its probability."""
        found = self.probabilities(text)
        name = max(found, key=lambda c: found[c])
        return name, found[name]
