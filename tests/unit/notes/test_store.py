"""The store of notes beside an EHR."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.importing.write import Outcome, Writer
from ehrqa_cli.notes.store import NoteStore, notes_path

EARLY = Note("7-DS-1", 7, "HPI: Fell.\nPlan: rest. Home.", 70, "2100-01-01", "discharge summary")
LATE = Note("7-DS-2", 7, "HPI: Fell again.", 71, "2100-02-01 10:00:00", "discharge summary")
UNDATED = Note("7-CN-1", 7, "Called.", None, None, "clinic note")
OTHER = Note("8-DS-1", 8, "Well.", 80, "2100-01-01", "discharge summary")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ehr.sqlite"


def fill(db: Path, *notes: Note, replace: bool = False) -> list[Outcome]:
    with NoteStore.open(db, create=True) as store, Writer(store, replace) as writer:
        return [writer.add(note, "test") for note in notes]


def test_what_goes_in_comes_out_in_the_order_of_time(db: Path) -> None:
    fill(db, UNDATED, LATE, OTHER, EARLY)
    with NoteStore.open(db) as store:
        assert store.patients() == [7, 8]
        assert store.notes(7) == [EARLY, LATE, UNDATED]
        assert store.notes(9) == []
        assert store.note("8-DS-1") == OTHER
        assert store.note("nobody") is None
        assert store.count() == 4


def test_lines_point_into_the_text(db: Path) -> None:
    fill(db, LATE, EARLY)
    with NoteStore.open(db) as store:
        lines = store.lines(7)
        keys = [row[0] for row in store.query("SELECT id FROM line ORDER BY id DESC")]
        by_id = store.lines_by_id([*keys, 999])
        assert store.lines(9) == []
    assert [line.text for line in lines] == [
        "HPI: Fell.",
        "Plan: rest.",
        "Home.",
        "HPI: Fell again.",
    ]
    assert [line.number for line in lines] == [0, 1, 2, 0]
    assert lines[1].section == "assessment and plan"
    assert all(EARLY.text[line.start : line.end] == line.text for line in lines[:3])
    assert list(by_id) == keys and set(by_id.values()) == set(lines)


def test_only_its_owner_can_read_it(db: Path) -> None:
    fill(db, EARLY)
    assert stat.S_IMODE(notes_path(db).stat().st_mode) == 0o600


def test_the_same_note_is_kept_once(db: Path) -> None:
    changed = Note("7-DS-1", 7, "Another text.", 70)
    stolen = Note("7-DS-1", 8, EARLY.text, 70)
    assert fill(db, EARLY, EARLY, changed, stolen) == [
        Outcome.ADDED,
        Outcome.SAME,
        Outcome.CONFLICT,
        Outcome.CONFLICT,
    ]
    with NoteStore.open(db) as store:
        assert store.notes(7) == [EARLY]


def test_replace_takes_the_new_text_and_its_lines(db: Path) -> None:
    changed = Note("7-DS-1", 7, "Another text. And more.", 70)
    fill(db, EARLY)
    with NoteStore.open(db) as store:
        old = [row[0] for row in store.query("SELECT id FROM line")]
    assert fill(db, changed, replace=True) == [Outcome.REPLACED]
    with NoteStore.open(db) as store:
        assert [line.text for line in store.lines(7)] == ["Another text.", "And more."]
        assert store.lines_by_id(old) == {}  # an index made before finds nothing, not other lines


def test_replace_takes_new_facts_about_the_same_text(db: Path) -> None:
    dated = Note("7-CN-1", 7, UNDATED.text, 72, "2100-03-01", "clinic note")
    fill(db, UNDATED)
    assert fill(db, dated) == [Outcome.SAME]
    with NoteStore.open(db) as store:
        assert store.notes(7) == [UNDATED]
    fill(db, dated, replace=True)
    with NoteStore.open(db) as store:
        assert store.notes(7) == [dated]


def test_a_copy_under_another_id_is_kept_once_and_found_by_both(db: Path) -> None:
    copy = Note("7-DS-9", 7, EARLY.text, None)
    next_visit = Note("7-DS-8", 7, EARLY.text, 71)
    anothers = Note("8-DS-9", 8, EARLY.text, 70)
    assert fill(db, EARLY, copy, copy, next_visit, anothers) == [
        Outcome.ADDED,
        Outcome.COPY,
        Outcome.SAME,
        Outcome.ADDED,
        Outcome.ADDED,
    ]
    with NoteStore.open(db) as store:
        assert store.note("7-DS-9") == EARLY
        assert [note.note_id for note in store.notes(7)] == ["7-DS-1", "7-DS-8"]


def test_replacing_a_note_leaves_its_copy_with_the_old_text(db: Path) -> None:
    fill(db, EARLY, Note("7-DS-9", 7, EARLY.text, 70))
    fill(db, Note("7-DS-1", 7, "New.", 70), replace=True)
    with NoteStore.open(db) as store:
        old, new = store.note("7-DS-9"), store.note("7-DS-1")
    assert old is not None and old.text == EARLY.text
    assert new is not None and new.text == "New."


def test_the_fingerprint_is_of_the_notes_and_not_of_their_order(db: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    fill(db, EARLY, LATE)
    fill(other, LATE, EARLY)
    with NoteStore.open(db, writable=True) as one, NoteStore.open(other) as two:
        before = one.fingerprint()
        assert before == two.fingerprint()
        one.settle()
        assert one.fingerprint() == before
    fill(db, OTHER)
    with NoteStore.open(db) as store:
        assert store.fingerprint() != before


def test_an_error_half_way_through_a_note_leaves_whole_notes(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NoteStore.open(db, create=True) as store, Writer(store) as writer:
        writer.add(EARLY, "test")
        writer.commit()
        monkeypatch.setattr(Writer, "_term", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            writer.add(LATE, "test")
    with NoteStore.open(db) as store:
        assert store.notes(7) == [EARLY]


def test_no_notes_says_how_to_get_some(db: Path) -> None:
    with pytest.raises(DatabaseError, match=r"has no notes .*ehrqa notes import"):
        NoteStore.open(db)
    assert not notes_path(db).exists()


@pytest.mark.parametrize("create", [False, True])
def test_a_damaged_store_is_said_to_be_one(db: Path, create: bool) -> None:
    notes_path(db).write_bytes(b"not a database at all" * 100)
    with pytest.raises(DatabaseError, match=r"damaged.*import` again"):
        NoteStore.open(db, create=create)


def test_a_store_of_another_version_is_refused(db: Path) -> None:
    fill(db, EARLY)
    with NoteStore.open(db, writable=True) as store:
        store.connection.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    with pytest.raises(DatabaseError, match="not a notes file of this version"):
        NoteStore.open(db)


def test_opened_for_reading_nothing_can_be_written(db: Path) -> None:
    fill(db, EARLY)
    with NoteStore.open(db) as store, pytest.raises(sqlite3.OperationalError):
        store.connection.execute("DELETE FROM note")
