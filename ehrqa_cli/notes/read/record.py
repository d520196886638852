"""A patient's whole record, for a reader that reads it ahead of the question."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import FoundLine, Line, NoteAnswer
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.notes.read.meaning import Meaning

OnRead = Callable[[int, int], None]  # tokens read, all tokens


@dataclass(frozen=True)
class RecordNote:
    """One note as its lines, in their order."""

    note_id: str
    charttime: str | None
    category: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Record:
    """The notes of one patient, in order of time."""

    notes: tuple[RecordNote, ...]

    @classmethod
    def of_lines(cls, found: Sequence[FoundLine]) -> Record:
        """What can be told of a record from some of its lines: their notes, by name."""
        by_note: dict[str, set[Line]] = {}
        for each in found:
            by_note.setdefault(each.line.note_id, set()).add(each.line)
        return cls(
            tuple(
                RecordNote(name, None, "note", tuple(sorted(lines, key=lambda x: x.number)))
                for name, lines in sorted(by_note.items())
            )
        )


class RecordReader(NoteReader):
    """A reader that is given the record beside the lines that were found in it.

    ``meaning`` may be given the vectors of its lines beforehand.
    """

    meaning: Meaning

    @abstractmethod
    def prepare(self, record: Record, on_read: OnRead | None = None) -> bool:
        """Read ``record`` ahead, so that a question on it is answered sooner; False where it is too
        long to be read whole. ``on_read`` is called with (read, all) tokens, with the tokens that
        were already held counted as read. Raises ModelError, and Cancelled after ``cancel``."""

    @abstractmethod
    def read_record(
        self,
        question: str,
        record: Record,
        found: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        """As `read`, of ``found`` lines of ``record``, best first; any line of it may be cited."""

    @abstractmethod
    def close(self) -> None:
        """Free what the reader holds; a later question takes it up again."""
