"""An installed note reader as a benchmark meets it: through the same desk as ``ehrqa ask``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.evaluate.note_answers import GivenAnswer
from ehrqa_cli.notes.desk import DEFAULT_READER, NoteDesk
from ehrqa_cli.notes.importing.write import Writer
from ehrqa_cli.notes.read.choose import open_reader
from ehrqa_cli.notes.store import NoteStore


class DeskSystem:
    """A reader over the notes of a benchmark, which are kept in a folder of their own until the
    system is closed. Use it in ``with``."""

    def __init__(self, reader: NoteReader) -> None:
        self.reader = reader
        self._folder: TemporaryDirectory[str] | None = None
        self._desk: NoteDesk | None = None

    @classmethod
    def open(cls, name: str | None = None) -> DeskSystem:
        """The reader called ``name``, a GGUF file, or the default.

        Raises PluginError and ModelError.
        """
        return cls(open_reader(name or DEFAULT_READER))

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
        db = Path(self._folder.name) / "ehr.sqlite"
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
        found = self._desk.answer(question, notes[0].patient_id, choices)
        answered = found.choice if choices else found.text
        return GivenAnswer(
            "abstained" if answered is None else "answered",
            found.text,
            found.choice,
            found.spans,
            found.confidence,
            found.reason or None,
        )

    def provenance(self) -> Mapping[str, str]:
        return {"reader": self.reader.name, **self.reader.provenance()}
