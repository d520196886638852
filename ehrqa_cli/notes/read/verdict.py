"""The answer to a yes/no question about one patient's notes: yes or no with the lines that say it,
or none, whatever reader is at work."""

from __future__ import annotations

from collections.abc import Sequence

from ehrqa_cli.contracts.notes import Line, NoteAnswer
from ehrqa_cli.notes.read import injection
from ehrqa_cli.notes.read.compose import quoted
from ehrqa_cli.notes.read.decline import likely
from ehrqa_cli.notes.read.embedded import MOST_CITED, span
from ehrqa_cli.notes.read.question import AnswerKind
from ehrqa_cli.notes.read.statement import Said, judge
from ehrqa_cli.notes.read.weights import Weights, load, score

_REASONS = {
    Said.UNMENTIONED: "the notes do not mention “{}”",
    Said.NEAR: "I cannot tell from the notes whether it is so (“{}”); the nearest lines are cited",
    Said.UNCLEAR: "the notes name “{}”, but do not say plainly whether it is so of this patient",
}
_WORDS = {Said.YES: "Yes", Said.NO: "No"}


def yes_or_no(question: str, lines: Sequence[Line], weights: Weights | None = None) -> NoteAnswer:
    """Answer the yes/no ``question`` from ``lines``, all of one patient, or decline.

    ``confidence`` is the measured share of such verdicts that were right. Raises ModelError
    when the weights are missing.
    """
    weights = weights or load()
    if not lines:
        return NoteAnswer(None, reason="this patient has no notes", kind=AnswerKind.YES_NO.value)
    if not injection.asks_about(question):
        lines = injection.without_addressed(lines)
    found = judge(question, lines)
    spans = tuple(span(line, 0.0) for line in found.lines[:MOST_CITED])
    word = _WORDS.get(found.said)
    if word is None:
        reason = _REASONS[found.said].format(found.thing)
        return NoteAnswer(None, spans, reason=reason, kind=AnswerKind.YES_NO.value)
    sure = likely(score(weights.verdict, {"one": 1.0}))
    return NoteAnswer(
        f"{word}: {quoted(found.lines[0])}", spans, round(sure, 4), kind=AnswerKind.YES_NO.value
    )
