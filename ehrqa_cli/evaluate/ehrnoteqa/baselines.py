"""Systems that read no note: gold, declining, and ways to choose an option without reading."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.notes import NoteSpan
from ehrqa_cli.evaluate.ehrnoteqa.load import NoteQuestion
from ehrqa_cli.evaluate.ehrnoteqa.score import MULTI_CHOICE
from ehrqa_cli.evaluate.note_answers import LONGEST, GivenAnswer
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD


def answers_of(
    name: str, items: Sequence[NoteQuestion], form: str, seed: int
) -> Mapping[str, GivenAnswer]:
    """The answer of the baseline ``name`` to each of ``items``; all but gold and abstain choose
    among options, and know nothing of which questions have no answer. Raises UsageError."""
    if name == ABSTAIN:
        return {item.id: GivenAnswer("abstained") for item in items}
    if name == GOLD:
        return {item.id: _gold(item, form) for item in items}
    if form != MULTI_CHOICE:
        raise UsageError(f"{name} chooses among options", "use it with --format multi-choice")
    if name == "most-common":
        letters = _most_common(items)
    else:
        letters = [_longest(i) for i in items] if name == "longest" else _drawn(items, seed)
    return {
        item.id: GivenAnswer("answered", item.choices[letter], letter)
        for item, letter in zip(items, letters, strict=True)
    }


def _gold(item: NoteQuestion, form: str) -> GivenAnswer:
    if not item.answerable:
        return GivenAnswer("abstained")
    texts = {note.note_id: note.text for note in item.notes}
    spans = []
    for gold in item.evidence:
        end = min(gold.end, gold.start + LONGEST)
        spans.append(NoteSpan(gold.note_id, gold.start, end, texts[gold.note_id][gold.start : end]))
    choice = item.answer if form == MULTI_CHOICE else None
    return GivenAnswer("answered", item.answer_text, choice, tuple(spans))


def _most_common(items: Sequence[NoteQuestion]) -> list[str]:
    """For each question the letter that is right most often of the others, so that its own answer
    is never looked at; of equally common ones the first."""
    counts = Counter(item.answer for item in items if item.answer is not None)
    found = []
    for item in items:
        left = {k: counts[k] - (k == item.answer) for k in item.choices}
        found.append(max(sorted(left), key=lambda letter: left[letter]))
    return found


def _longest(item: NoteQuestion) -> str:
    return max(sorted(item.choices), key=lambda letter: len(item.choices[letter]))


def _drawn(items: Sequence[NoteQuestion], seed: int) -> list[str]:
    # A draw of its own for each question: the same with --limit and without.
    return [random.Random(f"{seed} {i.id}").choice(sorted(i.choices)) for i in items]
