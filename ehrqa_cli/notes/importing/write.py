"""Notes written into the store, a batch at a time, each with its lines or not at all."""

from __future__ import annotations

import time
from enum import StrEnum

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.lines import cuts
from ehrqa_cli.notes.store import NoteStore, digest

_BATCH_SECONDS = 2.0
_BATCH_NOTES = 500


class Outcome(StrEnum):
    """What became of a note."""

    ADDED = "added"
    REPLACED = "replaced"
    SAME = "already there"
    COPY = "copies of another"
    CONFLICT = "conflict"


class Writer:
    """Adds notes to a store. Use as a context manager: what is added is kept when it ends well.

    A batch is one transaction, so a run that is killed leaves whole notes only, and the same run
    started again skips them and ends in the same store.
    """

    def __init__(self, store: NoteStore, replace: bool = False) -> None:
        self.store = store
        self.replace = replace
        self._terms: dict[str, int] = {}
        self._open = 0
        self._since = 0.0

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.commit()  # what came before an error in the file is good

    def add(self, note: Note, source: str) -> Outcome:
        """Add one note that came from the file ``source``."""
        try:
            with self.store.faults():
                self._begin()
                outcome = self._add(note, source)
        except BaseException:  # also Ctrl-C: half a note is worse than none
            self.rollback()
            raise
        if self._open >= _BATCH_NOTES or time.monotonic() - self._since > _BATCH_SECONDS:
            self.commit()
        return outcome

    def commit(self) -> None:
        """Keep what was added so far."""
        if self._open:
            with self.store.faults():
                self.store.connection.execute("COMMIT")
            self._open = 0

    def rollback(self) -> None:
        """Forget what was added since the last batch."""
        self._open = 0
        if self.store.connection.in_transaction:
            self.store.connection.execute("ROLLBACK")

    def _begin(self) -> None:
        if not self._open:
            self.store.connection.execute("BEGIN IMMEDIATE")
            self._since = time.monotonic()
            self._terms = dict(self.store.query("SELECT name, id FROM term"))
        self._open += 1

    def _add(self, note: Note, source: str) -> Outcome:
        sha256 = digest(note.text)
        outcome = Outcome.ADDED
        held = self.store.query(
            "SELECT id, patient_id, sha256, 0 FROM note WHERE note_id = ? UNION ALL"
            " SELECT note.id, patient_id, sha256, 1 FROM alias JOIN note ON note.id = alias.note"
            " WHERE alias.note_id = ?",
            (note.note_id, note.note_id),
        )
        if held:
            key, patient_id, text_there, is_alias = held[0]
            if patient_id == note.patient_id and text_there == sha256:
                if self.replace and not is_alias:
                    self._update(key, note)
                return Outcome.SAME
            if not self.replace:
                return Outcome.CONFLICT
            self._remove(key, note.note_id, bool(is_alias))
            outcome = Outcome.REPLACED
        twin = self._twin(note, sha256)
        self.store.connection.execute("DELETE FROM meta WHERE key = 'fingerprint'")
        if twin is not None:
            self.store.connection.execute("INSERT INTO alias VALUES (?, ?)", (note.note_id, twin))
            return Outcome.COPY if outcome is Outcome.ADDED else outcome
        self._insert(note, sha256, source)
        return outcome

    def _update(self, key: int, note: Note) -> None:
        connection = self.store.connection
        connection.execute("DELETE FROM meta WHERE key = 'fingerprint'")
        connection.execute(
            "UPDATE note SET hadm_id = ?, charttime = ?, category = ? WHERE id = ?",
            (note.hadm_id, note.charttime, note.category, key),
        )

    def _twin(self, note: Note, sha256: str) -> int | None:
        """A note of the same patient and admission with the very same text, under another id."""
        rows = self.store.query(
            "SELECT id FROM note WHERE patient_id = ? AND sha256 = ?"
            " AND (hadm_id IS NULL OR ? IS NULL OR hadm_id = ?) ORDER BY id LIMIT 1",
            (note.patient_id, sha256, note.hadm_id, note.hadm_id),
        )
        return int(rows[0][0]) if rows else None

    def _remove(self, key: int, note_id: str, is_alias: bool) -> None:
        connection = self.store.connection
        if is_alias:
            connection.execute("DELETE FROM alias WHERE note_id = ?", (note_id,))
            return
        other = self.store.query(
            "SELECT min(note_id) FROM alias WHERE note = ? HAVING count(*) > 0", (key,)
        )
        if other:  # the old text goes on under its other id
            connection.execute("DELETE FROM alias WHERE note_id = ?", other[0])
            connection.execute("UPDATE note SET note_id = ? WHERE id = ?", (other[0][0], key))
            return
        connection.execute("DELETE FROM placed WHERE note = ?", (key,))
        connection.execute("DELETE FROM note WHERE id = ?", (key,))

    def _insert(self, note: Note, sha256: str, source: str) -> None:
        cursor = self.store.connection.execute(
            "INSERT INTO note (note_id, patient_id, hadm_id, charttime, category, sha256, source,"
            " text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                note.note_id,
                note.patient_id,
                note.hadm_id,
                note.charttime,
                note.category,
                sha256,
                source,
                note.text,
            ),
        )
        key = cursor.lastrowid
        self.store.connection.executemany(
            "INSERT INTO placed (note, number, start, end, section, kind)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (key, number, cut.start, cut.end, self._term(cut.section), self._term(cut.kind))
                for number, cut in enumerate(cuts(note.text))
            ],
        )

    def _term(self, name: str) -> int:
        if name not in self._terms:
            cursor = self.store.connection.execute("INSERT INTO term (name) VALUES (?)", (name,))
            self._terms[name] = int(cursor.lastrowid or 0)
        return self._terms[name]
