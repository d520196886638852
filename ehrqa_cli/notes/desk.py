"""One call from a question about a patient's notes to an answer with its citations.

    with NoteDesk.open(Path("ehr.sqlite")) as desk:
        answer = desk.answer("What dose of torsemide did he go home on?", 501)

A desk keeps the store, the finder and the reader open, so that a second question on the same
patient is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.notes.find import Finder, cohort
from ehrqa_cli.notes.read import EmbeddedReader
from ehrqa_cli.notes.read.choose import open_reader
from ehrqa_cli.notes.read.record import OnRead, Record, RecordNote, RecordReader
from ehrqa_cli.notes.read.topic import topic, without_patient
from ehrqa_cli.notes.read.verdict import yes_or_no

DEFAULT_READER = "embedded"
LINES = 48  # given to the reader
LINES_OF_OPTION = 8  # more for each option, where a record is longer than LINES


@dataclass
class NoteDesk:
    """The notes beside one EHR and their reader. Use ``open``; close it or use it in ``with``."""

    finder: Finder
    reader: NoteReader
    _told: set[int] = field(default_factory=set)
    _ended: Event = field(default_factory=Event)

    @classmethod
    def open(cls, db_path: Path, reader: str | NoteReader = DEFAULT_READER) -> NoteDesk:
        """Open the notes of the EHR at ``db_path`` with a reader, or the name of one or the path
        of a GGUF file: see `open_reader`.

        Raises DatabaseError when there are no notes or a file is damaged, PluginError for a reader
        that is not installed and ModelError when its model is missing.
        """
        if isinstance(reader, str):
            reader = open_reader(reader)
        return cls(Finder.open(db_path), reader)

    def __enter__(self) -> NoteDesk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, and free a reader's model."""
        self.finder.close()
        if isinstance(self.reader, RecordReader):
            self.reader.close()

    def patients(self) -> list[int]:
        """The ids of the patients who have notes, ascending."""
        return self.finder.store.patients()

    def has(self, patient_id: int) -> bool:
        """Are there notes of this patient?"""
        found = self.finder.store.query(
            "SELECT 1 FROM note WHERE patient_id = ? LIMIT 1", (patient_id,)
        )
        return bool(found)

    def fingerprint(self) -> str:
        """Of all notes: changes when one of them does."""
        return self.finder.store.fingerprint()

    def provenance(self) -> Mapping[str, str]:
        """The reader's, enough to repeat the answer."""
        return self.reader.provenance()

    def cancel(self) -> None:
        """End the running ``answer`` from another thread; it raises Cancelled there."""
        self._ended.set()
        self.reader.cancel()

    def lines(
        self, question: str, patient_id: int, choices: Mapping[str, str] | None = None
    ) -> list[FoundLine]:
        """The lines of the patient's notes that the reader is given, best first."""
        found = self.finder.find(question, patient_id, k=LINES)
        if len(found) < LINES or not choices:
            return found
        least = found[-1].score
        known = {(each.line.note_id, each.line.number) for each in found}
        for option in choices.values():
            for each in self.finder.find(f"{question} {option}", patient_id, k=LINES_OF_OPTION):
                key = (each.line.note_id, each.line.number)
                if key not in known:
                    known.add(key)
                    found.append(FoundLine(each.line, least, each.stance, each.charttime))
        return found

    def answer(
        self, question: str, patient_id: int, choices: Mapping[str, str] | None = None
    ) -> NoteAnswer:
        """Answer ``question`` from the notes of ``patient_id`` and nothing else, or decline.

        ``choices`` are letters with their options; then ``choice`` of the answer is a letter.
        Without them a yes or no is borne out by a line, whatever the reader (`read.verdict`).
        Raises DatabaseError for damaged files, ModelError for a missing model, and Cancelled after
        ``cancel``.
        """
        self._ended.clear()
        question = without_patient(question) or question
        if not choices and topic(question).yes_no:
            return yes_or_no(question, self.finder.lines(patient_id))
        found = self.lines(question, patient_id, choices)
        if not found:
            return NoteAnswer(None, reason=f"patient {patient_id} has no notes")
        self.prepare(patient_id)
        if self._ended.is_set():  # a reader forgets what came before it was asked
            raise Cancelled("cancelled", "")
        if isinstance(self.reader, RecordReader):
            record = self.record(patient_id)
            return self.reader.read_record(question, record, found, choices)
        return self.reader.read(question, found, choices)

    def record(self, patient_id: int) -> Record:
        """All lines of the patient's notes, in order of time."""
        store = self.finder.store
        rows = store.query(
            "SELECT id, note_id, charttime, category FROM note WHERE patient_id = ?"
            " ORDER BY charttime IS NULL, charttime, note_id",
            (patient_id,),
        )
        return Record(
            tuple(
                RecordNote(
                    name, charttime, category, tuple(line for _, line in store.note_lines(note))
                )
                for note, name, charttime, category in rows
            )
        )

    def read_ahead(self, patient_id: int, on_read: OnRead | None = None) -> bool:
        """Let a reader that reads whole records read this one before it is asked about.

        ``on_read`` is called with (read, all) tokens. False where there is nothing to read ahead:
        another reader, no notes, or a record too long to be read whole. Raises ModelError, and
        Cancelled after ``cancel``; what was read until then is kept.
        """
        if not isinstance(self.reader, RecordReader) or not self.has(patient_id):
            return False
        return self.reader.prepare(self.record(patient_id), on_read)

    def prepare(self, patient_id: int) -> None:
        """Give the reader the vectors that the index holds, so that it need not make them."""
        index, reader = self.finder.index, self.reader
        if index is None or patient_id in self._told:
            return
        if not isinstance(reader, EmbeddedReader | RecordReader):
            return
        self._told.add(patient_id)
        store = self.finder.store
        for (note,) in store.query("SELECT id FROM note WHERE patient_id = ?", (patient_id,)):
            indexed = cohort.current(store, index, note)
            if indexed is None or indexed.first_row is None:
                continue
            lines = [line.text for _, line in store.note_lines(note)]
            if lines and len(lines) == indexed.lines:
                first = indexed.first_row + (indexed.passages or 0)
                reader.meaning.keep(lines, index.vectors.read(first, len(lines)))
