"""Scores of one question over notes: choice, words, verdicts, and where the citations point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ehrqa_cli.contracts.benchmarks import Record, why
from ehrqa_cli.contracts.judging import Judge, JudgedQuestion
from ehrqa_cli.contracts.notes import Note, NoteSpan
from ehrqa_cli.contracts.types import Answer, Status
from ehrqa_cli.evaluate.ehrnoteqa.load import Gold, NoteQuestion
from ehrqa_cli.evaluate.judge import verdicts
from ehrqa_cli.evaluate.note_answers import fault_of, spans_of
from ehrqa_cli.evaluate.wording import exact, meant_option, token_f1

MULTI_CHOICE, FREE_TEXT = "multi-choice", "free-text"
FORMATS = (MULTI_CHOICE, FREE_TEXT)
TOP = (1, 3, 10)
_SHARED = 0.5  # of the shorter of two spans, to speak of one line
Plain = dict[str, Any]


def record_of(item: NoteQuestion, given: Answer, form: str, judge: Judge | None = None) -> Plain:
    """The question's record: what was asked, answered and cited, and how right it is.

    ``correct`` is None for free text, whose rightness is graded (``exact``, ``f1``,
    ``verdicts``). A question that was declined has no grades: it counts as 0 in the tables; what it
    cited all the same is looked at.
    """
    answered = given.status is Status.ANSWERED
    record: Plain = {
        "question": item.question,
        "patient_id": item.patient_id,
        "level": item.level,
        "notes": len(item.notes),
        "tokens": item.tokens,
        "category": item.category,
        "answerable": item.answerable,
        "gold": item.answer if form == MULTI_CHOICE else item.answer_text,
        "prediction": given.text or None,
        "status": given.status.value,
        "confidence": given.confidence,
        "why": why(given),
    }
    if form == MULTI_CHOICE:
        record["choice"] = _choice(item, given) if answered else None
        record["correct"] = answered and item.answerable and record["choice"] == item.answer
    elif answered and item.answer_text is not None:
        record["exact"] = exact(item.answer_text, given.text)
        record["f1"] = round(token_f1(item.answer_text, given.text), 6)
    if judge is not None and answered and item.answer_text is not None:
        record["verdicts"] = verdicts(judge, _asked(item, given, form))
    return record | _cited(item, spans_of(given))


def _choice(item: NoteQuestion, given: Answer) -> str | None:
    if given.choice is not None:
        return given.choice.strip().upper()
    return meant_option(given.text, item.choices) if given.text else None


def _asked(item: NoteQuestion, given: Answer, form: str) -> JudgedQuestion:
    choices = item.choices if form == MULTI_CHOICE else None
    gold = item.answer_text or ""
    if choices and item.answer:
        gold = f"{item.answer}: {choices[item.answer]}"
    output = given.text
    if choices and given.choice is not None and given.choice in choices:
        output = f"{given.choice}: {choices[given.choice]}"
    return JudgedQuestion(item.question, gold, output, item.notes, choices)


def _cited(item: NoteQuestion, spans: Sequence[NoteSpan]) -> Plain:
    notes: Mapping[str, Note] = {note.note_id: note for note in item.notes}
    faults = [fault_of(span, notes) for span in spans]
    out: Plain = {
        "cited": [[s.note_id, s.start, s.end] for s in spans],
        "faults": [fault for fault in faults if fault],
    }
    if item.evidence:
        sound = [None if fault else span for span, fault in zip(spans, faults, strict=True)]
        out["evidence_ranks"] = [_rank(gold, sound) for gold in item.evidence]
    return out


def _rank(gold: Gold, spans: Sequence[NoteSpan | None]) -> int | None:
    """The place, from 1, of the first sound citation that speaks of the gold line."""
    for place, span in enumerate(spans, 1):
        if span is not None and same_line(gold, span):
            return place
    return None


def same_line(gold: Gold, span: NoteSpan) -> bool:
    """Do they share at least half of the shorter one, in one note?"""
    if gold.note_id != span.note_id:
        return False
    shared = min(gold.end, span.end) - max(gold.start, span.start)
    return shared > 0 and shared >= _SHARED * min(gold.end - gold.start, span.end - span.start)


def best_rank(record: Record) -> int | None:
    """The place of the first citation that meets any gold line."""
    found = [rank for rank in record.get("evidence_ranks", ()) if rank is not None]
    return min(found) if found else None
