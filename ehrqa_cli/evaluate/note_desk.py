"""An installed note reader as a benchmark meets it: through the same desk as ``ehrqa ask``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.notes import Note, NoteAnswer
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.evaluate.note_answers import answer_of
from ehrqa_cli.notes.desk import DEFAULT_READER, NoteDesk
from ehrqa_cli.notes.importing.write import Writer
from ehrqa_cli.notes.read.choose import open_reader
from ehrqa_cli.notes.store import NoteStore

# Fewer are answered sooner here than by processes that must first open everything themselves.
ENOUGH = 64


class DeskSystem:
    """A reader over the notes of a benchmark, which are kept in a folder of their own until the
    system is closed. Use it in ``with``. ``name`` is that by which other processes can open the
    reader, None where they cannot."""

    def __init__(self, reader: NoteReader, name: str | None = None) -> None:
        self.reader, self.name = reader, name
        self._folder: TemporaryDirectory[str] | None = None
        self._desk: NoteDesk | None = None

    @classmethod
    def open(cls, name: str | None = None) -> DeskSystem:
        """The reader called ``name``, a GGUF file, or the default.

        Raises PluginError and ModelError.
        """
        return cls(open_reader(name or DEFAULT_READER), name or DEFAULT_READER)

    def __enter__(self) -> DeskSystem:
        return self

    def __exit__(self, *_: object) -> None:
        if self._desk is not None:
            self._desk.close()
        if self._folder is not None:
            self._folder.cleanup()

    def prepare(self, notes: Iterable[Note]) -> None:
        """Take in the notes that will be asked about. Raises DatabaseError."""
        self._folder = TemporaryDirectory(prefix="ehrqa-eval-")
        db = self._db()
        with NoteStore.open(db, create=True) as store:
            with Writer(store) as writer:
                for note in notes:
                    writer.add(note, "benchmark")
            store.settle()
        self._desk = NoteDesk.open(db, self.reader)

    def answer(
        self, question: str, notes: Sequence[Note], choices: Mapping[str, str] | None
    ) -> NoteAnswer:
        """The answer from the notes of the one patient that ``notes`` are of."""
        return self._there().answer(question, notes[0].patient_id, choices)

    def answers(
        self, questions: Sequence[Question], workers: int | None = None
    ) -> Iterator[Answer]:
        """The answers in their order; each question names its patient. With several processes they
        are the same: each has the reader and the notes for itself. Without ``workers`` there is
        one for each processor, where that pays."""
        from ehrqa_cli.engine.workers import how_many

        desk = self._there()
        small = self.name == DEFAULT_READER  # a larger one fits in once
        count = how_many(workers) if small or workers else 1
        if count == 1 or self.name is None or len(questions) < ENOUGH:
            yield from (_asked(desk, question) for question in questions)
            return
        pool = ProcessPoolExecutor(
            count, get_context("spawn"), _open_desk, (str(self._db()), self.name)
        )
        try:
            yield from pool.map(_of_worker, questions)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _there(self) -> NoteDesk:
        if self._desk is None:
            raise EvaluationError("the notes are not there yet", "call prepare first")
        return self._desk

    def _db(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "ehr.sqlite"

    def provenance(self) -> Mapping[str, str]:
        return {"reader": self.reader.name, **self.reader.provenance()}


def _asked(desk: NoteDesk, question: Question) -> Answer:
    patient, choices = question.patient_id or 0, dict(question.choices) or None
    return answer_of(question, lambda: desk.answer(question.text, patient, choices))


_desk: NoteDesk | None = None  # of a worker


def _open_desk(db: str, reader: str) -> None:
    import signal

    from ehrqa_cli import llama

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    llama.THREADS = 1
    global _desk
    _desk = NoteDesk.open(Path(db), open_reader(reader))


def _of_worker(question: Question) -> Answer:
    assert _desk is not None
    return _asked(_desk, question)
