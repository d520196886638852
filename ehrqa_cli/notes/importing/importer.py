"""An import from its first file to its report: streamed, resumable, de-duplicated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.importing import folder, tables
from ehrqa_cli.notes.importing.encoding import TextFile, known_encoding, open_text, stray
from ehrqa_cli.notes.importing.record import Found, Problem
from ehrqa_cli.notes.importing.write import Outcome, Writer
from ehrqa_cli.notes.store import NoteStore

# Called with (bytes or files done, how many in all).
Advance = Callable[[int, int], None]
_KEPT_PROBLEMS = 1000  # of a file where everything is wrong
_LAYOUTS = (
    "give MIMIC-IV-Note's discharge.csv(.gz), JSON Lines with note_id, patient_id and text, "
    "or a folder of .txt files"
)


@dataclass
class NotesReport:
    """What an import did: how many notes had which outcome, and which were left out and why."""

    source: Path
    store: Path
    read: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    left_out: int = 0
    stray_bytes: int = 0
    patients: int = 0
    notes: int = 0
    lines: int = 0

    @property
    def complete(self) -> bool:
        """Is every note of the source in the store?"""
        return self.left_out == 0


def import_notes(
    source: Path,
    db_path: Path,
    *,
    patient: int | None = None,
    encoding: str | None = None,
    replace: bool = False,
    on_problem: Callable[[Problem], None] | None = None,
    advance: Advance | None = None,
) -> NotesReport:
    """Import the notes of ``source`` beside the EHR at ``db_path``.

    ``patient`` is whose the notes are that name none. Problems are told to ``on_problem`` as they
    are met, and the import goes on. Raises ImportFailed when the source is not of a known layout
    or there is no note in it, and DatabaseError when the store cannot be written.
    """
    known_encoding(encoding)
    advance = advance or (lambda done, total: None)
    if not source.exists():
        raise ImportFailed(f"there is no file or folder {source}", _LAYOUTS)
    if not db_path.parent.is_dir():
        raise ImportFailed(f"there is no folder {db_path.parent}", "make it, or name another --db")
    strays = stray.count
    stream = _stream(source, patient, encoding, advance)
    first = next(stream, None)  # a source that cannot be read must not leave an empty store
    if first is None:
        raise ImportFailed(f"there is no note in {source}", _LAYOUTS)
    with NoteStore.open(db_path, create=True) as store:
        report = NotesReport(source, store.path)
        with Writer(store, replace) as writer:
            for found in chain((first,), stream):
                problem = _take(found, writer, source, report)
                if problem is not None:
                    report.left_out += 1
                    if len(report.problems) < _KEPT_PROBLEMS:
                        report.problems.append(problem)
                    if on_problem is not None:
                        on_problem(problem)
        store.settle()
        report.stray_bytes = stray.count - strays
        report.notes = store.count()
        report.patients = len(store.patients())
        report.lines = int(store.query("SELECT count(*) FROM placed")[0][0])
    return report


def _take(found: Found, writer: Writer, source: Path, report: NotesReport) -> Problem | None:
    report.read += 1
    if not isinstance(found.note, Note):
        return Problem(found.where, found.note.message, found.note.hint)
    outcome = writer.add(found.note, source.name)
    report.outcomes[outcome] += 1
    if outcome is not Outcome.CONFLICT:
        return None
    return Problem(
        found.where,
        f"note {found.note.note_id} is there already with another text or patient",
        "add --replace to take the new one",
    )


def _stream(
    source: Path, patient: int | None, encoding: str | None, advance: Advance
) -> Iterator[Found]:
    if source.is_dir():
        yield from _folder(source, patient, encoding, advance)
        return
    if source.suffix.lower() in folder.ENDINGS:
        yield folder.read_text(source, source.parent, patient, encoding)
        return
    with open_text(source, encoding) as file:
        for found in _reader(file)(file, patient):
            advance(file.position(), file.size)
            yield found


def _folder(
    source: Path, patient: int | None, encoding: str | None, advance: Advance
) -> Iterator[Found]:
    paths = list(folder.text_files(source))
    if not paths:
        raise ImportFailed(f"there are no .txt files in {source}", _LAYOUTS)
    for done, path in enumerate(paths):
        advance(done, len(paths))
        yield folder.read_text(path, source, patient, encoding)
    advance(len(paths), len(paths))


def _reader(file: TextFile) -> Callable[[TextFile, int | None], Iterator[Found]]:
    """The reader for a file's layout: by its name, else by how it begins."""
    name = file.path.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return tables.csv_notes
    if name.endswith((".jsonl", ".ndjson")):
        return tables.jsonl_notes
    first = file.text.buffer.peek(4096)[:4096]  # type: ignore[attr-defined]
    begin = first.decode(file.text.encoding, "ignore").lstrip("\ufeff \t\r\n")
    if begin.startswith("{"):
        return tables.jsonl_notes
    if "note_id" in begin.partition("\n")[0].lower() and "," in begin:
        return tables.csv_notes
    raise ImportFailed(f"{file.path} is of no layout that is known", _LAYOUTS)
