"""Items one after another: whose notes, which topic, two steps of a model, and the checks.

An attempt depends on the seed and on what the attempts before it gave, never on what the model
still holds, so a build that was killed goes on to the same bytes.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.making.shares import fraction
from ehrqa_cli.sets.notes import checks
from ehrqa_cli.sets.notes.author import Author
from ehrqa_cli.sets.notes.donors import unanswerable
from ehrqa_cli.sets.notes.evidence import Place, by_words, content, locate
from ehrqa_cli.sets.notes.parse import (
    LETTERS,
    Draft,
    Options,
    read_draft,
    read_listed,
    read_options,
)
from ehrqa_cli.sets.notes.prompts import TOPICS, choices_begun, choices_prompt, question_prompt
from ehrqa_cli.sets.notes.sample import STRATA, Sample, next_stratum, stratum_of

NONE = "unanswerable: other patient"
_STEP_1, _STEP_2, _CHOICE = 260, 420, 60  # tokens written at most
_MORE = "FGH"  # choices beyond the five, where some of them are alike
_REASON, _CORRECT = "Reason", "Correct"
_ENDS = re.compile(r"\n[\s\-*]*(?:Correct|Reason)")
_SURE = 0.5  # the probability of the right choice when the model is asked again


@dataclass(frozen=True)
class Plan:
    """``size`` items in all, a share ``unanswerable`` of them without an answer; of a patient at
    most ``per_patient`` others, in at most ``tries`` attempts for each."""

    size: int
    seed: int
    per_patient: int = 1
    tries: int = 3
    unanswerable: float = 0.1


@dataclass
class _State:
    """What the attempts so far amount to."""

    sample: Sample
    next_of: Counter[str] = field(default_factory=Counter)  # patients taken, by stratum
    made_of: Counter[str] = field(default_factory=Counter)
    stratum: str = ""
    patient: int = 0  # none yet, while there is no stratum
    tried: int = 0
    own: list[Plain] = field(default_factory=list)  # items of this patient
    declined_tried: bool = False
    items: list[Plain] = field(default_factory=list)
    declined: int = 0
    seen: set[str] = field(default_factory=set)
    letters: Counter[str] = field(default_factory=Counter)
    longest: int = 0


class NoteItems:
    """Makes the items of a set. ``draw`` gives the sample, ``notes_of`` a patient's notes in the
    order of time, ``split_of`` the split of a patient."""

    def __init__(
        self,
        plan: Plan,
        author: Author,
        draw: Callable[[], Sample],
        notes_of: Callable[[int], Sequence[Note]],
        split_of: Callable[[int], str],
    ) -> None:
        self._plan, self._author, self._draw = plan, author, draw
        self._notes_of = lru_cache(maxsize=8)(notes_of)
        self._split_of = split_of
        self._state: _State | None = None

    @property
    def made(self) -> int:
        """Items made so far."""
        return len(self._state.items) if self._state else 0

    def attempt(self, done: Plain | None) -> Plain | None:
        """The next attempt: the one ``done`` in an earlier run, or a new one; the first is the
        sample. None when the set is complete, or nobody is left to ask about."""
        if self._state is None:
            line = done or {"sample": self._draw().as_plain(), "failed": "", "why": {}}
            self._state = _State(Sample(**line["sample"]))
            return line
        state = self._state
        if len(state.items) >= self._plan.size or not self._seek(state):
            return None
        if self._wants_none(state):
            line = done or self._without_answer(state)
            state.declined_tried = True
        else:
            line = done or self._new(state)
            state.tried += 1
        if "failed" not in line:
            self._count(state, line)
        elif checks.TOO_LONG_NOTES in line["why"]:
            state.tried = len(TOPICS)
        return line

    def _seek(self, state: _State) -> bool:
        """Stay with the patient while there is something to ask, else go to the next."""
        plan = self._plan
        answered = [item for item in state.own if item["answer"] is not None]
        most = min(plan.tries * plan.per_patient, len(TOPICS))
        if state.stratum and (
            (len(answered) < plan.per_patient and state.tried < most) or self._wants_none(state)
        ):
            return True
        patients = state.sample.patients
        left = {name: len(patients[name]) - state.next_of[name] for name in STRATA}
        name = next_stratum(state.made_of, left)
        if name is None:
            return False
        state.stratum = name
        state.patient = patients[name][state.next_of[name]]
        state.next_of[name] += 1
        state.tried, state.own, state.declined_tried = 0, [], False
        return True

    def _wants_none(self, state: _State) -> bool:
        """Is it time for a question without an answer? Of a patient who has one with, if any."""
        due = state.declined + 1 <= self._plan.unanswerable * (len(state.items) + 1)
        return due and bool(state.own) and not state.declined_tried

    def _count(self, state: _State, line: Plain) -> None:
        state.items.append(line)
        state.own.append(line)
        state.made_of[state.stratum] += 1
        state.seen.add(checks.plain(line["question"]))
        if line["answer"] is None:
            state.declined += 1
        else:
            state.letters[line["answer"]] += 1
            state.longest += checks.longest_is_right(line["choices"], line["answer"])

    def _new(self, state: _State) -> Plain:
        notes = self._notes_of(state.patient)
        topics = _topics(self._plan.seed, state.patient)
        topic = topics[state.tried % len(topics)]
        if not self._author.begin(notes):
            return _failed(state.patient, topic, checks.TOO_LONG_NOTES)
        wrote: list[str] = []
        found = self._written(state, notes, topic, wrote)
        if isinstance(found, str):
            return _failed(state.patient, topic, found) | {"wrote": wrote}
        return found

    def _written(
        self, state: _State, notes: Sequence[Note], topic: str, wrote: list[str]
    ) -> Plain | str:
        """An item, or what is wrong with what the model ``wrote``, step by step."""
        whole = "\n".join(note.text for note in notes)
        wrote.append(self._author.write(question_prompt(topic), _STEP_1, _REASON))
        draft = read_draft(wrote[-1])
        if draft is None:
            return checks.UNREADABLE
        fault = checks.draft_fault(draft, whole)
        if fault is not None:
            return fault
        mine = [item["question"] for item in state.own]
        if checks.asked_before(draft.question, state.seen) or checks.nearly(draft.question, mine):
            return checks.REPEATED
        places = locate(draft.evidence, notes, f"{draft.question} {draft.answer}")
        copied = bool(places)
        places = places or by_words(draft.evidence, notes)
        if not places:
            return checks.NOT_IN_NOTES
        found = self._choices(draft, whole, wrote)
        if isinstance(found, str):
            return found
        options, told = found
        if checks.longest_is_right(options.choices, options.correct) and checks.longest_too_often(
            state.longest, len(state.items)
        ):
            return checks.LONGEST_RIGHT
        choices, letter = self._lettered(state, options.choices, options.correct)
        reader = _found(self._author.chances(draft.question, choices))
        if reader[0] != letter or reader[1] < _SURE:
            return checks.UNFOUND
        blind = _found(self._author.chances_without_notes(draft.question, choices))
        item = self._item(state, topic, draft.question, choices)
        return item | {
            "answer": letter,
            "answer_text": choices[letter],
            "evidence": [{"note_id": p.note_id, "text": p.text} for p in places],
            "flags": _flags(choices, whole, blind[0] == letter) + _unborne(choices[letter], places),
            "checks": {
                "found_again": reader[1],
                "evidence_copied": copied,
                "answer_told": told,
                "step_1_answer": draft.answer,
            },
        }

    def _choices(self, draft: Draft, whole: str, wrote: list[str]) -> tuple[Options, bool] | str:
        """The choices and whether the answer had to be told, or what is wrong with them. First
        from the question alone, as in the paper; where that fails, with the answer told."""
        wrote.append(self._author.write(choices_prompt(draft.question), _STEP_2, _REASON))
        options = read_options(wrote[-1])
        fault = _fault(options, draft, whole)
        if options is not None and fault is None:
            return options, False
        told = self._step_2_told(draft, wrote)
        if told is None or _fault(told, draft, whole):
            return fault or checks.NO_CHOICES
        return told, True

    def _step_2_told(self, draft: Draft, wrote: list[str]) -> Options | None:
        """The choices with the answer told: the first is right, the others are gone on with until
        four differ."""
        asked, begun = choices_prompt(draft.question), choices_begun(draft.question, draft.answer)
        text = self._author.write(asked, _STEP_2, _CORRECT, begun)
        before = 0
        for letter in _MORE:
            text = _ENDS.split(text)[0].rstrip()
            found = read_listed(text)
            if len(found) >= len(LETTERS) or len(found) == before:
                break  # enough, or it only repeats itself
            before = len(found)
            text = self._author.write(asked, _CHOICE, "\n", f"{text}\n{letter}:")
        wrote.append(text)
        found = read_listed(_ENDS.split(text)[0])
        if len(found) < len(LETTERS):
            return None
        return Options(dict(zip(LETTERS, found, strict=False)), LETTERS[0])

    def _lettered(
        self, state: _State, given: Mapping[str, str], right: str
    ) -> tuple[dict[str, str], str]:
        """The choices under new letters: the right one under a letter that was right least often,
        the others in an order drawn by the seed."""
        texts = [text for letter, text in given.items() if letter != right]
        rng = random.Random(f"{self._plan.seed} letters {len(state.items)} {given[right]}")
        rng.shuffle(texts)
        letter = min(LETTERS, key=lambda k: (state.letters[k], fraction(self._plan.seed, k)))
        texts.insert(LETTERS.index(letter), given[right])
        return dict(zip(LETTERS, (text.rstrip(" .") for text in texts), strict=True)), letter

    def _without_answer(self, state: _State) -> Plain:
        """A question of another patient of the split that these notes do not answer."""
        notes = self._notes_of(state.patient)
        split = self._split_of(state.patient)
        others = [
            item
            for item in state.items
            if item["split"] == split
            and item["answer"] is not None
            and item["patient_id"] != str(state.patient)
        ]
        taken = {item["from"] for item in state.items if "from" in item}
        donor = unanswerable([o for o in others if o["id"] not in taken], notes)
        if donor is None:
            return _failed(state.patient, NONE, "no fitting question")
        item = self._item(state, NONE, donor["question"], donor["choices"])
        return item | {
            "answer": None,
            "answer_text": None,
            "evidence": [],
            "flags": [],
            "checks": {},
            "from": donor["id"],
        }

    def _item(self, state: _State, topic: str, question: str, choices: Mapping[str, str]) -> Plain:
        notes = self._notes_of(state.patient)
        stratum, tokens = stratum_of(notes)
        return {
            "id": f"nq-{len(state.items) + 1:05d}",
            "patient_id": str(state.patient),
            "split": self._split_of(state.patient),
            "question": question,
            "choices": dict(choices),
            "category": topic,
            "level": stratum.partition(",")[0],
            "num_notes": len(notes),
            "tokens": tokens,
        }


def _unborne(right: str, places: Sequence[Place]) -> list[str]:
    """Whether the evidence speaks of the answer at all."""
    words = content(right)
    if words & content(" ".join(place.text for place in places)) or not words:
        return []
    return ["the evidence has no word of the right choice"]


def _fault(options: Options | None, draft: Draft, whole: str) -> str | None:
    return checks.NO_CHOICES if options is None else checks.options_fault(options, draft, whole)


def _topics(seed: int, patient: int) -> list[str]:
    """All topics in an order drawn for the patient, by the paper's shares (Efraimidis and Spirakis
    2006: of weighted random keys the largest first)."""

    def key(name: str) -> float:
        return float(max(fraction(seed, "topic", patient, name), 1e-9) ** (1 / TOPICS[name][0]))

    return sorted(TOPICS, key=key, reverse=True)


def _failed(patient: int, topic: str, why: str) -> Plain:
    return {"failed": str(patient), "topic": topic, "why": {why: 1}}


def _found(chances: Mapping[str, float]) -> tuple[str, float]:
    """The choice that the model finds most likely, "" for none of them, and how likely."""
    best = max(chances, key=lambda letter: (chances[letter], letter))
    return best, round(math.exp(chances[best]), 3)


def _flags(choices: Mapping[str, str], whole: str, guessed: bool) -> list[str]:
    """What a reviewer should look at."""
    strange = checks.strange_choices(choices, whole)
    out = [f"not all words of {', '.join(strange)} stand in the notes"] if strange else []
    return [*out, "the model also finds the answer without the notes"] if guessed else out
