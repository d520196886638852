"""The reader that is a local instruction model, as a GGUF file.

The model reads the record (the whole of it, or the lines that matter), answers and cites; the
embedded reader's evidence orders the lines, says how far they bear out what the model said, and has
a say in choosing and declining. What the cited lines do not bear out is withdrawn.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.chat import Gguf
from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer, NoteSpan
from ehrqa_cli.llama import Llama
from ehrqa_cli.notes.read import injection
from ehrqa_cli.notes.read.embedded import MOST_CITED, span, without_addressed
from ehrqa_cli.notes.read.evidence import Evidence, weigh
from ehrqa_cli.notes.read.instruct import asking, signals
from ehrqa_cli.notes.read.instruct.fitted import digest, fitted
from ehrqa_cli.notes.read.instruct.model import Held, told
from ehrqa_cli.notes.read.instruct.page import Page, best_page, whole_page
from ehrqa_cli.notes.read.instruct.states import States
from ehrqa_cli.notes.read.meaning import Meaning
from ehrqa_cli.notes.read.question import ask
from ehrqa_cli.notes.read.record import OnRead, Record, RecordReader
from ehrqa_cli.notes.read.weights import load as load_weights

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Embedder

BUDGET = 3500  # tokens of a record that is read whole
PICKED = 1200  # tokens of the lines that matter of a longer one, which are read for every question
_ROOM = 1536  # tokens for the rules, the question, its options and the answer
_LONGEST = 2000  # characters of a question or an option
_NOTHING = "the notes hold no line that bears on the question"
_UNSAID = "the model cannot tell it from the notes; the nearest lines are cited"
_NO_OPTION = "the notes bear out no option, as far as the model can tell"
_WITHDRAWN = "the lines that are cited do not say what the model said"
CHOOSING = ("fitted", "written", "likely", "borne out")


class InstructReader(RecordReader):
    """A GGUF file as a reader of notes; its model is loaded when first needed.

    ``cancel`` may be called from another thread; everything else waits for what runs. Raises
    ModelError, when made, for a file that is not there or is none.
    """

    name = "instruct"

    def __init__(
        self,
        file: Gguf | Path,
        *,
        budget: int = BUDGET,
        threads: int | None = None,
        states: States | None = None,
        embedder: Embedder | None = None,
        load: Callable[[Path, int, int], Llama] = Llama,
    ) -> None:
        self.file = file if isinstance(file, Gguf) else Gguf.named(file)
        self.budget = budget
        self.states = states or States()
        self.fitted = fitted(self.file.sha256)
        self.weights = load_weights(None)
        self.meaning = Meaning(embedder)
        self.choosing = CHOOSING[0]
        self._threads = threads or min(8, os.cpu_count() or 1)
        self._load = load
        self._held: Held | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()  # while the model is loaded, which takes a while
        self._page: tuple[tuple[Record, frozenset[tuple[str, int]]], Page | None] | None = None

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        """Answer from ``lines`` as if they were the record. Raises ModelError and Cancelled."""
        return self.read_record(question, Record.of_lines(lines), lines, choices)

    def prepare(self, record: Record, on_read: OnRead | None = None) -> bool:
        with self._lock:
            held = self._model()
            page = self._whole(record, _addressed(record), held)
            if page is not None and page.lines:
                held.hold(asking.prefix(held.transcript, page), on_read)
            return page is not None

    def read_record(
        self,
        question: str,
        record: Record,
        found: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        seen = self.look(question, record, found, choices)
        if seen is None:
            return NoteAnswer(None, reason=_NOTHING, kind=ask(question).kind.value)
        return self.decide(seen)

    def look(
        self,
        question: str,
        record: Record,
        found: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
        said: asking.Said | None = None,
    ) -> signals.Seen | None:
        """All that the model and the evidence say, undecided; None where there is nothing to look
        at. ``said`` is what the model said to the same question before, if it was asked."""
        kept = without_addressed(question, found)
        if not kept or not question.strip():
            return None
        evidence = weigh(ask(question), kept, self.meaning, self.weights)
        given = {letter: text[:_LONGEST] for letter, text in (choices or {}).items()}
        with self._lock:
            held = self._model()
            out = frozenset() if injection.asks_about(question) else _addressed(record)
            page = self._whole(record, out, held) or best_page(
                record, _ordered(evidence, found), out, min(PICKED, self.budget), _count(held)
            )
            said, letters = self._ask(held, question[:_LONGEST], page, given, said)
        return signals.Seen(evidence, page, said, letters, given, self.meaning, self.weights)

    def decide(self, seen: signals.Seen) -> NoteAnswer:
        """The answer or the letter that comes of it, or none."""
        return self._choose(seen) if seen.choices else self._answer(seen)

    def cancel(self) -> None:
        self._ended.set()
        if self._held is not None:
            self._held.cancel()

    def provenance(self) -> Mapping[str, str]:
        from ehrqa_cli.notes.find.embed import NAME, SHA256

        return {
            "reader": self.name,
            **told(self.file),
            "fitted_sha256": digest(),
            "weights_sha256": self.weights.sha256,
            "sentence_model": NAME,
            "sentence_model_sha256": SHA256,
        }

    def close(self) -> None:
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None

    def _model(self) -> Held:
        """The model, loaded when it is first needed, ready to be spoken to."""
        if self._held is None:
            self._ended.clear()
            context = self.budget + _ROOM
            self._held = Held(self.file, self._threads, context, self.states, self._load)
            if self._ended.is_set():
                raise Cancelled("cancelled", "")
        self._held.resume()
        return self._held

    def _whole(self, record: Record, out: frozenset[tuple[str, int]], held: Held) -> Page | None:
        """The page of the whole record, None where it is too long; the last one is remembered."""
        if self._page is None or self._page[0] != (record, out):
            budget = min(self.budget, held.context - _ROOM)
            self._page = ((record, out), whole_page(record, out, budget, _count(held)))
        return self._page[1]

    def _ask(
        self,
        held: Held,
        question: str,
        page: Page,
        choices: Mapping[str, str],
        said: asking.Said | None,
    ) -> tuple[asking.Said, Mapping[str, float]]:
        before = asking.prefix(held.transcript, page)
        most = _count(held)(question + "".join(choices.values())) + 256
        if len(before) + most > held.context:
            raise ModelError("the question is too long for the model", "ask it in fewer words")
        held.hold(before)
        said = said or asking.free(held.transcript, before, question, page)
        if not choices:
            return said, {}
        return said, asking.letters(held.transcript, before, question, choices)

    def _answer(self, seen: signals.Seen) -> NoteAnswer:
        kind = seen.evidence.asked.kind.value
        features = seen.answered()
        sure = signals.likely(self.fitted.answered, features)
        confidence = sure if self.fitted.measured else None
        spans = self._spans(seen, seen.said.text)
        if sure < 0.5 or not seen.said.text:
            return NoteAnswer(None, spans, confidence, reason=_UNSAID, kind=kind)
        if not seen.borne(seen.said.text).enough:
            return NoteAnswer(None, spans, confidence, reason=_WITHDRAWN, kind=kind)
        return NoteAnswer(seen.said.text, spans, confidence, kind=kind)

    def _choose(self, seen: signals.Seen) -> NoteAnswer:
        kind = seen.evidence.asked.kind.value
        letter = seen.chosen(self.choosing, self.fitted.option)
        features = seen.answered_choice()
        sure = signals.likely(self.fitted.answered_choice, features)
        confidence = sure if self.fitted.measured else None
        if sure < 0.5:
            spans = self._spans(seen, seen.said.text)
            return NoteAnswer(None, spans, confidence, reason=_NO_OPTION, kind=kind)
        text = seen.choices[letter]
        spans = self._spans(seen, f"{seen.said.text} {text}")
        return NoteAnswer(text, spans, confidence, choice=letter, kind=kind)

    def _spans(self, seen: signals.Seen, answer: str) -> tuple[NoteSpan, ...]:
        """The lines that bear the answer out, then those that bear on the question."""
        ranked = seen.ranked(answer, self.fitted.line)[:MOST_CITED]
        return tuple(span(line, score) for line, score in ranked)


def _addressed(record: Record) -> frozenset[tuple[str, int]]:
    """The lines of ``record`` that are addressed to its reader."""
    return injection.addressed([line for note in record.notes for line in note.lines])


def _ordered(evidence: Evidence, found: Sequence[FoundLine]) -> list[FoundLine]:
    """The lines of the evidence, best first, and then the others found."""
    return [*dict.fromkeys([*evidence.lines, *found])]


def _count(held: Held) -> Callable[[str], int]:
    return lambda text: len(held.transcript.writer.tokenize(text))
