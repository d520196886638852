"""Predicting the class that a note gives a patient (smoking status, obesity).

The paper's baseline (Pampari et al. 2018, section 7.2): multi-class logistic regression over
TF-IDF vectors of the question and the note. The better one reads only the sentences that speak of
what is asked, since a note says it in one or two of its two hundred, and takes up to three words at
a time, so that "does not smoke" is one feature.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError

TRAIN_SHARE = 0.8
_SENTENCE = re.compile(r"[^.\n;:!?]+[.\n;:!?]*")
# How notes speak of what is asked, as beginnings of words; of anything else its own words are used.
_CUES: Mapping[str, tuple[str, ...]] = {
    "smok": ("smok", "tobac", "cigar", "nicotin", "pack", "ppd", "pipe", "chew"),
    "tobacco": ("smok", "tobac", "cigar", "nicotin", "pack", "ppd", "pipe", "chew"),
    "obes": ("obes", "overweight", "bmi", "body mass", "weight", "pounds", "lbs", "habitus"),
    "hypertension": ("hypertens", "htn", "blood pressure"),
    "diabetes": ("diabet", "dm", "insulin", "a1c"),
    "cad": ("cad", "coronar", "cabg", "stent"),
    "chf": ("chf", "heart failure", "ejection"),
}
_IDLE_TEXT = "is the patient a an of does do has have had what status ever currently was"
_IDLE = frozenset(_IDLE_TEXT.split())
_STEM = 5


@dataclass(frozen=True)
class ClassItem:
    """One case: what is asked, the whole note and its class. ``group`` is the record, which stands
    in training or in test with all its questions."""

    id: str
    group: str
    question: str
    text: str
    label: str


@dataclass(frozen=True)
class ClassSplit:
    """Cases to learn from and to measure on."""

    train: tuple[ClassItem, ...]
    test: tuple[ClassItem, ...]


def split(items: Sequence[ClassItem], seed: int = 0) -> ClassSplit:
    """80 to 20 by record. Raises EvaluationError for fewer than five records."""
    groups = sorted({item.group for item in items})
    if len(groups) < 5:
        raise EvaluationError(
            f"{len(groups)} labelled records are too few to train and test on", "give at least 5"
        )
    random.Random(seed).shuffle(groups)
    kept = set(groups[: round(TRAIN_SHARE * len(groups))])
    return ClassSplit(
        tuple(i for i in items if i.group in kept), tuple(i for i in items if i.group not in kept)
    )


def majority(data: ClassSplit) -> list[str]:
    """For each test case the most common class in training of the same question's words."""
    out = []
    for item in data.test:
        same = [i.label for i in data.train if i.question == item.question]
        labels = same or [i.label for i in data.train]
        out.append(max(sorted(set(labels)), key=labels.count))
    return out


def tfidf_regression(data: ClassSplit) -> list[str]:
    """The paper's baseline."""
    return _fit_predict(data, lambda i: f"{i.question}\n{i.text}", words=(1, 1), balanced=False)


def cue_regression(data: ClassSplit) -> list[str]:
    """The same regression over the sentences that speak of what is asked, one to three words at a
    time, the classes balanced."""
    return _fit_predict(data, _focused, words=(1, 3), balanced=True)


SYSTEMS = {
    "majority": majority,
    "TF-IDF + logistic regression": tfidf_regression,
    "cue sentences": cue_regression,
}


def _focused(item: ClassItem) -> str:
    found = cue_sentences(item.question, item.text)
    # Each question's words are marked with what is asked, so that one model serves all of them.
    topic = "_".join(sorted(_content(item.question))) or "asked"
    return " ".join([f"topic_{topic}", *(found or ["nosentence"])])


def cue_sentences(question: str, text: str) -> list[str]:
    """The sentences of the note that speak of what the question asks."""
    cues = _cues(question)
    return [
        " ".join(m[0].lower().split())
        for m in _SENTENCE.finditer(text)
        if any(re.search(rf"\b{re.escape(cue)}", m[0].lower()) for cue in cues)
    ]


def _cues(question: str) -> set[str]:
    found: set[str] = set()
    for word in _content(question):
        known = next((cues for begin, cues in _CUES.items() if word.startswith(begin)), None)
        found.update(known or (word[:_STEM],))
    return found


def _content(question: str) -> list[str]:
    return [w for w in re.findall(r"[a-z]{2,}", question.lower()) if w not in _IDLE]


def _fit_predict(
    data: ClassSplit, text_of: Any, *, words: tuple[int, int], balanced: bool
) -> list[str]:
    labels = sorted({item.label for item in data.train})
    if len(labels) < 2:
        return [labels[0]] * len(data.test) if labels else []
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=words, token_pattern=r"\w+"),
        LogisticRegression(max_iter=1000, class_weight="balanced" if balanced else None, C=10.0),
    )
    model.fit([text_of(i) for i in data.train], [i.label for i in data.train])
    return [str(label) for label in model.predict([text_of(i) for i in data.test])]
