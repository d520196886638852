"""The reader that is always there: no language model, a few hundred fitted numbers.

It orders the lines by what an answer needs, quotes the best, matches options by their support in
the lines, and declines by a fitted null score (as Rajpurkar et al. 2018, section 5, and Devlin et
al. 2019, section 4.3, decline on SQuAD 2.0). It does what its code does whatever a note says;
lines addressed to a reader are left out besides (`injection`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import FoundLine, Line, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.notes.read import decline, injection, options
from ehrqa_cli.notes.read.compose import compose
from ehrqa_cli.notes.read.evidence import Evidence, weigh
from ehrqa_cli.notes.read.meaning import Meaning
from ehrqa_cli.notes.read.question import ask
from ehrqa_cli.notes.read.weights import Weights, load, score

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Embedder

LONGEST = 300  # characters of an excerpt
LIKELIER = 0.5  # what is likelier wrong than right is not said
MOST_CITED = 10
_BEHIND = 6.0  # a line whose score is so far behind the best is not cited
_NOTHING = "the notes hold no line that bears on the question"
_UNSAID = "I cannot tell it from the notes; the nearest lines are cited"
_NO_OPTION = "I find no option borne out by the notes"


class EmbeddedReader(NoteReader):
    """Reads lines with the fitted weights of models/note_reader and the sentence model."""

    name = "embedded"

    def __init__(
        self, embedder: Embedder | None = None, weights: Path | Weights | None = None
    ) -> None:
        """Raises ModelError when the weights are missing."""
        self.weights = weights if isinstance(weights, Weights) else load(weights)
        self.meaning = Meaning(embedder)

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        """Answer from ``lines``, or decline. Raises ModelError without the sentence model."""
        asked = ask(question)
        kept = without_addressed(question, lines)
        if not kept or not question.strip():
            return NoteAnswer(None, reason=_NOTHING, kind=asked.kind.value)
        evidence = weigh(asked, kept, self.meaning, self.weights)
        if choices:
            return self._choose(evidence, choices)
        return self._answer(evidence)

    def provenance(self) -> Mapping[str, str]:
        """The reader's name and the hashes of its weights and of the sentence model."""
        from ehrqa_cli.notes.find.embed import NAME, SHA256

        return {
            "reader": self.name,
            "weights_sha256": self.weights.sha256,
            "sentence_model": NAME,
            "sentence_model_sha256": SHA256,
        }

    def _answer(self, evidence: Evidence) -> NoteAnswer:
        features = decline.features_of(evidence)
        said = decline.likely(score(self.weights.null, features))
        about = decline.aboutness(evidence)
        sure = decline.likely(score(self.weights.right, features | about))
        kind = evidence.asked.kind.value
        if (
            said < self.weights.thresholds["null"]
            or sure < LIKELIER
            or not about["about, near"]  # a line about something else answers nothing
        ):
            return NoteAnswer(None, cite(evidence), sure, reason=_UNSAID, kind=kind)
        text, used = compose(evidence)
        return NoteAnswer(text, cite(evidence, used), sure, kind=kind)

    def _choose(self, evidence: Evidence, choices: Mapping[str, str]) -> NoteAnswer:
        found = options.support(evidence, choices, self.meaning, self.weights)
        said = decline.sure_of_choice(evidence, found, self.weights)
        features = decline.with_options(decline.features_of(evidence), found)
        sure = decline.likely(score(self.weights.right_choice, features))
        kind = evidence.asked.kind.value
        best = found[0]
        if said < self.weights.thresholds["null_choice"]:
            return NoteAnswer(None, cite(evidence), sure, reason=_NO_OPTION, kind=kind)
        bearing = (evidence.lines[best.line].line,) if best.share >= _BEARS else ()
        spans = cite(evidence, bearing, keep_first=True)
        return NoteAnswer(choices[best.letter], spans, sure, choice=best.letter, kind=kind)


_BEARS = 0.3  # of an option's score, from which the line that bears it out is cited among the first


def without_addressed(question: str, lines: Sequence[FoundLine]) -> list[FoundLine]:
    """``lines`` without those addressed to the reader, unless ``question`` asks about such."""
    if injection.asks_about(question):
        return list(lines)
    out = injection.addressed([each.line for each in lines])
    return [each for each in lines if (each.line.note_id, each.line.number) not in out]


def cite(
    evidence: Evidence, used: Sequence[Line] = (), *, keep_first: bool = False
) -> tuple[NoteSpan, ...]:
    """The lines ``used`` and then the best, those far behind the best left out.

    With ``keep_first`` the best line stays first and ``used`` follow it.
    """
    top = evidence.scores[0]
    scored = {
        (each.line.note_id, each.line.number): (each.line, value)
        for each, value in zip(evidence.lines, evidence.scores, strict=True)
    }
    near = [key for key, (_, value) in scored.items() if top - value <= _BEHIND]
    chosen = [(line.note_id, line.number) for line in used]
    ordered = [*near[:1], *chosen, *near] if keep_first else [*chosen, *near]
    keys = [key for key in dict.fromkeys(ordered) if key in scored][:MOST_CITED]
    return tuple(span(*scored[key]) for key in keys)


def span(line: Line, value: float) -> NoteSpan:
    """A line as a citation, cut at LONGEST characters."""
    end = min(line.end, line.start + LONGEST)
    return NoteSpan(line.note_id, line.start, end, line.text[: end - line.start], round(value, 4))
