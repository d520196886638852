"""A set to be reviewed: ``questions.jsonl`` and ``notes.jsonl`` in a folder, or in one for each
split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.making.journal import CARD
from ehrqa_cli.sets.making.shares import SPLITS
from ehrqa_cli.sets.notes.checks import plain
from ehrqa_cli.sets.notes.evidence import find_whole
from ehrqa_cli.sets.notes.layout import NOTES, QUESTIONS
from ehrqa_cli.sets.notes.parse import LETTERS
from ehrqa_cli.sets.notes.sample import stratum_of

_NEEDED = ("id", "patient_id", "question", "choices", "answer")


@dataclass(frozen=True)
class Content:
    """What a reviewer may change: ``answer`` is a letter, None where the notes have no answer;
    ``evidence`` are pieces of the notes, as (note id, text)."""

    question: str
    choices: Mapping[str, str]
    answer: str | None
    evidence: tuple[tuple[str, str], ...] = ()

    def as_plain(self) -> Plain:
        """For a line of JSON."""
        return {
            "question": self.question,
            "choices": dict(self.choices),
            "answer": self.answer,
            "evidence": [list(piece) for piece in self.evidence],
        }

    @classmethod
    def of_plain(cls, raw: Mapping[str, Any]) -> Content:
        """Back from JSON."""
        evidence = tuple((str(note), str(text)) for note, text in raw["evidence"])
        return cls(str(raw["question"]), dict(raw["choices"]), raw["answer"], evidence)

    def changed_from(self, other: Content) -> tuple[str, ...]:
        """What differs, as the paper counts it (section 3.3): "question", "answer" (the right
        choice, by its words or its letter), "choice A" for a wrong one, "evidence"."""
        out = ["question"] if self.question != other.question else []
        right, before = (c.choices.get(c.answer or "") for c in (self, other))
        if self.answer != other.answer or right != before:
            out.append("answer")
        for letter, text in self.choices.items():
            wrong = letter not in (self.answer, other.answer)
            if wrong and text != other.choices.get(letter):
                out.append(f"choice {letter}")
        return tuple(out + (["evidence"] if self.evidence != other.evidence else []))


@dataclass(frozen=True)
class Item:
    """One question of the set as it was made. ``raw`` is its line, ``split`` "" where the set has
    none; ``stratum`` is "level 1, 2 notes"."""

    id: str
    split: str
    patient_id: str
    content: Content
    category: str
    stratum: str
    flags: tuple[str, ...]
    raw: Mapping[str, Any]

    def line(self, content: Content) -> Plain:
        """The item's line with this content; what is not changed stays as it was."""
        if content == self.content:
            return dict(self.raw)
        changed = content.changed_from(self.content)
        line = {**self.raw, "question": content.question, "choices": dict(content.choices),
                "answer": content.answer}  # fmt: skip
        if "answer" in changed:
            line["answer_text"] = content.choices[content.answer] if content.answer else None
            line["answerable"] = content.answer is not None
        line["evidence"] = [{"note_id": note, "text": text} for note, text in content.evidence]
        line["flags"] = []
        return line


@dataclass(frozen=True)
class ReviewSet:
    """The items in their order, the notes of each patient in the order of time, and a SHA-256 of
    the files."""

    folder: Path
    sha256: str
    items: tuple[Item, ...]
    notes: Mapping[str, Sequence[Note]]

    def item(self, key: str) -> Item:
        """The item with this id."""
        return next(item for item in self.items if item.id == key)

    def notes_of(self, item: Item) -> Sequence[Note]:
        """The notes that the item is about."""
        return self.notes[item.patient_id]


def load_set(folder: Path) -> ReviewSet:
    """Read a set. Raises BuildError for a folder that holds none, a broken file, and a set whose
    files are not what its card says."""
    found = [split for split in SPLITS if (folder / split / QUESTIONS).is_file()]
    places = [(split, folder / split) for split in found] or [("", folder)]
    if not (places[0][1] / QUESTIONS).is_file():
        raise BuildError(
            f"{folder} holds no questions over notes",
            "give the folder that `ehrqa build notes` wrote, or one with questions.jsonl",
        )
    if (folder / CARD).is_file():
        hint = "review the set as it was written; edits are made in the review"
        cards.refuse_changed(folder, cards.read_card(folder), hint)
    summed = hashlib.sha256()
    items: list[Item] = []
    notes: dict[str, list[Note]] = {}
    for split, place in places:
        for name in (QUESTIONS, NOTES):
            summed.update(_bytes(place / name))
        for note in map(_note, _lines(place / NOTES)):
            own = notes.setdefault(str(note.patient_id), [])
            if note not in own:  # two splits may have the same
                own.append(note)
        items += [_item(raw, split, place / QUESTIONS) for raw in _lines(place / QUESTIONS)]
    for own in notes.values():
        own.sort(key=lambda n: (n.charttime or "", n.note_id))
    lacking = [item.id for item in items if item.patient_id not in notes]
    if lacking or not items:
        what = f"no notes to question {lacking[0]}" if lacking else "no questions"
        raise BuildError(f"{folder} holds {what}", "is it whole? build it again")
    if len({item.id for item in items}) < len(items):
        raise BuildError(f"{folder} has two questions with one id", "build it again")
    ready = tuple(_with_stratum(item, notes[item.patient_id]) for item in items)
    return ReviewSet(folder, summed.hexdigest(), ready, notes)


def checked(content: Content, item: Item, notes: Sequence[Note]) -> Content:
    """The content with its evidence as it stands in the notes. Raises BuildError for what a set
    cannot hold: an empty question, choices that are alike, evidence that is nowhere."""
    hint = "change it, or leave the item as it was"
    if not content.question.strip():
        raise BuildError("the question is empty", hint)
    texts = [plain(text) or text.strip() for text in content.choices.values()]
    if not all(texts):
        raise BuildError("a choice is empty", hint)
    if len(set(texts)) < len(texts):
        raise BuildError("two choices are alike", hint)
    if content.answer is not None and content.answer not in content.choices:
        known = ", ".join(content.choices)
        raise BuildError(f"no choice is called {content.answer!r}", f"one of {known}, or none")
    if content.answer is None and content.evidence:
        raise BuildError("an item without an answer has no evidence", "take the evidence away")
    pieces = []
    for named, text in content.evidence:
        place = find_whole(text, sorted(notes, key=lambda n: n.note_id != named))
        if place is None:
            shown = " ".join(text.split())[:40]
            raise BuildError(f"this is not in the notes: {shown!r}", "copy it word for word")
        pieces.append((place.note_id, place.text))
    return Content(content.question, content.choices, content.answer, tuple(pieces))


def _item(raw: Plain, split: str, path: Path) -> Item:
    lacking = [name for name in _NEEDED if name not in raw]
    choices = raw.get("choices") or {}
    if lacking or not isinstance(choices, dict) or raw["answer"] not in (None, *choices):
        what = f"no {lacking[0]}" if lacking else "choices that do not fit its answer"
        raise BuildError(f"{path}: question {raw.get('id')} has {what}", "build the set again")
    pieces = raw.get("evidence") or ()
    evidence = tuple((str(p["note_id"]), str(p["text"])) for p in pieces)
    named = {letter: str(choices[letter]) for letter in LETTERS if letter in choices}
    content = Content(str(raw["question"]), named, raw["answer"], evidence)
    return Item(
        str(raw["id"]),
        split,
        str(raw["patient_id"]),
        content,
        str(raw.get("category") or ""),
        "",
        tuple(map(str, raw.get("flags") or ())),
        raw,
    )


def _with_stratum(item: Item, notes: Sequence[Note]) -> Item:
    level = str(item.raw.get("level") or stratum_of(notes)[0].partition(",")[0])
    named = f"level {level}" if level.isdigit() else level
    plural = "s" * (len(notes) != 1)
    return replace(item, stratum=f"{named}, {len(notes)} note{plural}")


def _note(raw: Plain) -> Note:
    try:
        hadm = raw.get("hadm_id")
        return Note(
            str(raw["note_id"]),
            int(raw["patient_id"]),
            str(raw["text"]),
            None if hadm in (None, "") else int(str(hadm)),
            raw.get("charttime"),
            str(raw.get("category") or "discharge summary"),
        )
    except (KeyError, ValueError) as error:
        raise BuildError(f"a note lacks {error}", "build the set again") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BuildError(f"cannot read {path}: {error.strerror}", "check the folder") from None


def _lines(path: Path) -> Iterator[Plain]:
    for number, line in enumerate(_bytes(path).split(b"\n"), 1):
        if line.strip():
            try:
                raw = json.loads(line)
            except ValueError:
                raw = None
            if not isinstance(raw, dict):
                raise BuildError(f"line {number} of {path} is not JSON", "build the set again")
            yield raw
