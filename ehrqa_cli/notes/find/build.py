"""Making the index of the notes: words first, which is quick, then vectors, then their search tree.

Only what is not indexed yet is done, in steps that are each written down, so that an index that
was broken off goes on where it stopped; a step holds a few hundred lines in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.notes.find import nearest
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.find.index_file import IndexFile, delete
from ehrqa_cli.notes.find.passages import passages, texts_of
from ehrqa_cli.notes.store import NoteStore
from ehrqa_cli.store import own

# Called with (notes done, notes in all, what is being done).
Advance = Callable[[int, int | None, str], None]
_NOTES_AT_ONCE = 200  # words of so many notes are written together
_TEXTS_AT_ONCE = 512  # and vectors of about so many lines


@dataclass
class IndexReport:
    """What an indexing did, and what the index holds now."""

    new_notes: int = 0
    new_vectors: int = 0
    notes: int = 0
    lines: int = 0
    vectors: int = 0
    sizes: dict[str, int] = field(default_factory=dict)


def index_notes(
    db_path: Path,
    *,
    words_only: bool = False,
    rebuild: bool = False,
    threads: int = 0,
    embedder: Embedder | None = None,
    advance: Advance | None = None,
) -> IndexReport:
    """Index the notes of the EHR at ``db_path`` that are not indexed yet.

    ``words_only`` leaves the vectors for later; ``rebuild`` begins anew; ``embedder`` is used in
    place of the shipped one. Raises DatabaseError when
    there are no notes, the index is damaged or is being made by another process, and ModelError
    when the sentence model is not there.
    """
    advance = advance or (lambda done, total, what: None)
    with NoteStore.open(db_path) as store:
        if not words_only and embedder is None:
            embedder = Embedder.open(threads=threads)
        if rebuild:
            delete(db_path)
        index = IndexFile.create(db_path)
        try:
            with _alone(index):
                report = IndexReport()
                _drop_changed(store, index)
                _add_words(store, index, report, advance)
                if embedder is not None and not words_only:
                    _add_vectors(store, index, embedder, report, advance)
                    nearest.update(index, advance)
                _conclude(index, report)
        finally:
            index.close()
    return report


@contextmanager
def _alone(index: IndexFile) -> Iterator[None]:
    """Keep a second process from writing vectors at the same time."""
    index.vectors.cut(index.vectors.rows())
    with index.vectors.path.open("rb") as file:
        if not own(file):
            raise DatabaseError(
                f"the notes of {index.db_path} are being indexed by another process",
                "wait until it is done, then run `ehrqa notes index` again",
            )
        yield


def _drop_changed(store: NoteStore, index: IndexFile) -> None:
    """Forget notes that are gone or were given other text or lines since they were indexed.

    Their words and vectors stay behind, found by nobody: ids of lines are never used twice.
    """
    gone = [
        note
        for note, sha256, first_line, lines in index.query(
            "SELECT note, sha256, first_line, lines FROM indexed"
        )
        if _state(store, note) != (sha256, first_line, lines)
    ]
    with index.writing() as connection:
        connection.executemany("DELETE FROM indexed WHERE note = ?", [(k,) for k in gone])


def _state(store: NoteStore, note: int) -> tuple[str, int, int] | None:
    rows = store.query(
        "SELECT sha256, (SELECT min(id) FROM line WHERE note = note.id),"
        " (SELECT count(*) FROM line WHERE note = note.id) FROM note WHERE id = ?",
        (note,),
    )
    return (rows[0][0], rows[0][1] or 0, rows[0][2]) if rows else None


def _add_words(store: NoteStore, index: IndexFile, report: IndexReport, advance: Advance) -> None:
    known = {row[0] for row in index.query("SELECT note FROM indexed")}
    todo = [
        row for row in store.query("SELECT id, sha256 FROM note ORDER BY id") if row[0] not in known
    ]
    for first in range(0, len(todo), _NOTES_AT_ONCE):
        advance(first, len(todo), "words")
        with index.writing() as connection:
            for note, sha256 in todo[first : first + _NOTES_AT_ONCE]:
                lines = store.note_lines(note)
                connection.executemany(
                    "INSERT INTO line_text (rowid, text) VALUES (?, ?)",
                    ((key, line.text) for key, line in lines),
                )
                connection.execute(
                    "INSERT INTO indexed (note, sha256, first_line, lines) VALUES (?, ?, ?, ?)",
                    (note, sha256, min((key for key, _ in lines), default=0), len(lines)),
                )
                report.new_notes += 1
    advance(len(todo), len(todo), "words")


def _add_vectors(
    store: NoteStore, index: IndexFile, embedder: Embedder, report: IndexReport, advance: Advance
) -> None:
    _same_model(index, embedder)
    row = _mend(index)
    todo = [
        k for (k,) in index.query("SELECT note FROM indexed WHERE first_row IS NULL ORDER BY note")
    ]
    done = 0
    for batch in _batches(store, todo):
        advance(done, len(todo), "vectors")
        index.vectors.append(embedder.embed([text for _, texts, _ in batch for text in texts]))
        with index.writing() as connection:
            for note, texts, count in batch:
                connection.execute(
                    "UPDATE indexed SET first_row = ?, passages = ? WHERE note = ?",
                    (row, count, note),
                )
                row += len(texts)
                report.new_vectors += len(texts)
        done += len(batch)
    advance(len(todo), len(todo), "vectors")


def _batches(store: NoteStore, todo: list[int]) -> Iterator[list[tuple[int, list[str], int]]]:
    """Notes with the texts to embed and how many of these are passages, some at once."""
    batch: list[tuple[int, list[str], int]] = []
    for note in todo:
        lines = [line for _, line in store.note_lines(note)]
        batch.append((note, texts_of(lines), len(passages(lines))))
        if sum(len(texts) for _, texts, _ in batch) >= _TEXTS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _same_model(index: IndexFile, embedder: Embedder) -> None:
    """Vectors of another model are worth nothing beside this one's."""
    if index.meta("model") == embedder.sha256:
        return
    index.query("UPDATE indexed SET first_row = NULL, passages = NULL")
    index.vectors.cut(0)
    index.faiss.unlink(missing_ok=True)
    index.write_meta({"model": embedder.sha256, "faiss_learnt": "0", "faiss_until": "0"})


def _mend(index: IndexFile) -> int:
    """Forget vectors that are not in their file; the row where the next vector goes.

    What an indexing that was killed wrote last stays in the file, belonging to no note.
    """
    there = index.vectors.rows()
    lost = "first_row + passages + lines > ?"
    if index.query(f"SELECT 1 FROM indexed WHERE {lost} LIMIT 1", (there,)):
        index.query(f"UPDATE indexed SET first_row = NULL, passages = NULL WHERE {lost}", (there,))
        index.faiss.unlink(missing_ok=True)
        index.write_meta({"faiss_learnt": "0", "faiss_until": "0"})
    return there


def _conclude(index: IndexFile, report: IndexReport) -> None:
    (report.notes, report.lines), *_ = index.query(
        "SELECT count(*), coalesce(sum(lines), 0) FROM indexed"
    )
    report.vectors = index.vectors.rows()
    for path in (index.path, index.vectors.path, index.faiss):
        report.sizes[path.name] = path.stat().st_size if path.exists() else 0
