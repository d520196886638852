"""An installed note reader as a benchmark meets it: through the same desk as ``ehrqa ask``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from ehrqa_cli.contracts.errors import EhrqaError, EvaluationError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.evaluate.note_answers import GivenAnswer
from ehrqa_cli.notes.desk import DEFAULT_READER, NoteDesk
from ehrqa_cli.notes.importing.write import Writer
from ehrqa_cli.notes.read.choose import open_reader
from ehrqa_cli.notes.store import NoteStore

# Fewer are answered sooner here than by processes that must first open everything themselves.
ENOUGH = 64
Asked = tuple[str, int, Mapping[str, str] | None]  # question, patient, choices


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
    ) -> GivenAnswer:
        """The answer from the notes of the one patient that ``notes`` are of."""
        if self._desk is None:
            raise EvaluationError("the notes are not there yet", "call prepare first")
        return _answer(self._desk, (question, notes[0].patient_id, choices))

    def answer_many(
        self, asked: Sequence[Asked], workers: int | None = None
    ) -> Iterator[tuple[GivenAnswer, float]]:
        """The answers in their order, and the seconds of each; a fault of one is its answer. With
        several processes they are the same: each has the reader and the notes for itself. Without
        ``workers`` there is one for each processor, where that pays."""
        from ehrqa_cli.engine.workers import how_many

        if self._desk is None:
            raise EvaluationError("the notes are not there yet", "call prepare first")
        small = self.name == DEFAULT_READER  # a larger one fits in once
        count = how_many(workers) if small or workers else 1
        if count == 1 or self.name is None or len(asked) < ENOUGH:
            yield from (_timed(self._desk, one) for one in asked)
            return
        pool = ProcessPoolExecutor(
            count, get_context("spawn"), _open_desk, (str(self._db()), self.name)
        )
        try:
            yield from pool.map(_of_worker, asked)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _db(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "ehr.sqlite"

    def provenance(self) -> Mapping[str, str]:
        return {"reader": self.reader.name, **self.reader.provenance()}


def _answer(desk: NoteDesk, asked: Asked) -> GivenAnswer:
    question, patient, choices = asked
    found = desk.answer(question, patient, choices)
    answered = found.choice if choices else found.text
    return GivenAnswer(
        "abstained" if answered is None else "answered",
        found.text,
        found.choice,
        found.spans,
        found.confidence,
        found.reason or None,
    )


def _timed(desk: NoteDesk, asked: Asked) -> tuple[GivenAnswer, float]:
    started = time.perf_counter()
    try:
        found = _answer(desk, asked)
    except EhrqaError as error:  # one question that fails is a row, never the end of the run
        found = GivenAnswer("failed", why=error.message)
    return found, round(time.perf_counter() - started, 6)


_desk: NoteDesk | None = None  # of a worker


def _open_desk(db: str, reader: str) -> None:
    import signal

    from ehrqa_cli import llama

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    llama.THREADS = 1
    global _desk
    _desk = NoteDesk.open(Path(db), open_reader(reader))


def _of_worker(asked: Asked) -> tuple[GivenAnswer, float]:
    assert _desk is not None
    return _timed(_desk, asked)
