"""emrQA's own data.json, as its scripts make it from the i2b2 data sets."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import find_file, read_objects

NAME = "emrQA"
FILES = ("data.json", "emrqa.json", "emrQA.json", "dev.json", "test.json", "train.json")
# Of these a class is asked; the whole note is their evidence (section 4.3).
CLASS_TITLES = ("smoking", "obesity")
_EMPTY = ("", "empty")


@dataclass(frozen=True)
class EvidenceGold:
    """One answer: its line(s) in the note, where they start (None where they are not found
    there), and the ``entities`` that must be in them, where they are known."""

    evidence: str
    start: int | None
    entities: tuple[str, ...]


@dataclass(frozen=True)
class EmrQuestion:
    """One question in one wording. ``id`` is title, note, and places in the file."""

    id: str
    title: str
    note_id: str
    question: str
    golds: tuple[EvidenceGold, ...]
    label: str | None = None


@dataclass(frozen=True)
class EmrSet:
    """The questions for evidence, those for a class, and the notes' texts by (title, note id)."""

    sha256: str
    evidence: tuple[EmrQuestion, ...]
    classes: tuple[EmrQuestion, ...]
    notes: Mapping[tuple[str, str], str]


def load_emrqa(data: Path, seed: int = 0, split: str | None = None) -> EmrSet:
    """Read ``split``.json in ``data``, or without one the first of FILES. Of each question's
    paraphrases one is taken at random, as the paper does to measure the worst case. Raises
    EvaluationError."""
    path = find_file(data, FILES if split is None else (f"{split}.json",), NAME)
    source = read_objects(path, ("title", "paragraphs"))
    rng = random.Random(seed)
    notes: dict[tuple[str, str], str] = {}
    evidence: list[EmrQuestion] = []
    classes: list[EmrQuestion] = []
    try:
        for title, paragraph in _paragraphs(source.content):
            note_id = str(paragraph["note_id"])
            text = _joined(paragraph["context"])
            if notes.setdefault((title, note_id), text) != text:
                raise EvaluationError(
                    f"{path} has two texts of note {note_id} of {title}", "fetch the file again"
                )
            for number, raw in enumerate(paragraph["qas"]):
                found = _question(title, note_id, number, (raw, text), rng)
                (classes if found.label is not None else evidence).append(found)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise EvaluationError(
            f"{path} is not emrQA's: {type(error).__name__} {error}",
            'expected {"data": [{"title", "paragraphs": [{"note_id", "context", "qas"}]}]}',
        ) from None
    return EmrSet(source.sha256, tuple(evidence), tuple(classes), notes)


def _paragraphs(content: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in content:
        for paragraph in part["paragraphs"]:
            yield str(part["title"]), paragraph


def _question(
    title: str,
    note_id: str,
    number: int,
    raw_and_text: tuple[Mapping[str, Any], str],
    rng: random.Random,
) -> EmrQuestion:
    raw, text = raw_and_text
    wordings = raw["question"] if isinstance(raw["question"], list) else [raw["question"]]
    question = str(rng.choice(wordings))
    key = f"{title}/{note_id}/{number}"
    answers = raw["answers"]
    if any(name in title.lower() for name in CLASS_TITLES):
        label = _joined(answers[0]["text"]).strip().lower()
        return EmrQuestion(key, title, note_id, question, (), label)
    golds = tuple(_gold(answer, text) for answer in answers)
    return EmrQuestion(key, title, note_id, question, golds)


def _gold(answer: Mapping[str, Any], text: str) -> EvidenceGold:
    evidence = _joined(answer["evidence"]).strip("\n")
    kind = str(answer.get("answer_entity_type") or "").lower()
    raw = answer.get("text") or ""
    entities = raw if isinstance(raw, list) else [raw]
    known = () if kind in _EMPTY else tuple(str(e).strip() for e in entities if str(e).strip())
    return EvidenceGold(evidence, _place(evidence, answer.get("evidence_start"), text), known)


def _place(evidence: str, told: Any, text: str) -> int | None:
    """Where the evidence starts. Some parts of emrQA tell characters and some a line, and spaces
    may differ, so what is told is believed only where the evidence stands there."""
    if not evidence.strip():
        return None
    first = told[0] if isinstance(told, list) and told else told
    if isinstance(first, int) and 0 <= first < len(text) and text.startswith(evidence, first):
        return first
    place = text.find(evidence)
    if place >= 0:
        return place
    found = re.search(r"\s+".join(map(re.escape, evidence.split())), text)
    return found.start() if found else None


def _joined(value: Any) -> str:
    if isinstance(value, list):
        lines = [str(line) for line in value]
        return "".join(lines) if any(line.endswith("\n") for line in lines) else "\n".join(lines)
    return str(value)
