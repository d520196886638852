"""Making the index: only what is new, going on where it stopped, mending what is broken."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.notes.find import Finder, build, index_notes, nearest
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.find.index_file import FAISS, SUFFIX, IndexFile, beside
from ehrqa_cli.notes.find.passages import MOST_WORDS, passages
from ehrqa_cli.notes.find.vectors import SUFFIX as VECTORS
from ehrqa_cli.notes.find.vectors import VectorFile
from ehrqa_cli.notes.store import NoteStore

from .made_up import NOTES, Numbers

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Vectors


def drains(db: Path, numbers: Embedder) -> list[int]:
    """The patients whose notes mention a chest tube."""
    with Finder.open(db, numbers) as finder:
        return sorted(
            patient
            for patient, found in finder.cohort("chest tube")
            if "chest tube" in found.line.text
        )


def test_only_what_is_new(db: Path, numbers: Numbers, add_notes: Callable[..., Path]) -> None:
    first = index_notes(db, embedder=numbers)
    assert (first.new_notes, first.notes) == (4, 4)
    assert first.vectors == first.new_vectors > first.lines > 0
    again = index_notes(db, embedder=numbers)
    assert (again.new_notes, again.new_vectors, again.vectors) == (0, 0, first.vectors)
    add_notes([{"note_id": "14-DS-1", "patient_id": 14, "text": "A chest tube was left in place."}])
    more = index_notes(db, embedder=numbers)
    assert (more.new_notes, more.new_vectors) == (1, 2)
    assert drains(db, numbers) == [11, 12, 14]


def test_words_now_vectors_later(db: Path, numbers: Numbers) -> None:
    report = index_notes(db, words_only=True)
    assert (report.new_notes, report.vectors) == (4, 0)
    assert drains(db, numbers) == [11, 12]
    later = index_notes(db, embedder=numbers)
    assert later.new_notes == 0
    assert later.new_vectors > 0


def test_broken_off_and_finished(
    db: Path, numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tired(Numbers):
        calls = 0

        def embed(self, texts: Sequence[str]) -> Vectors:
            Tired.calls += 1
            if Tired.calls == 3:
                raise KeyboardInterrupt
            return super().embed(texts)

    monkeypatch.setattr(build, "_TEXTS_AT_ONCE", 1)
    with pytest.raises(KeyboardInterrupt):
        index_notes(db, embedder=Tired(None, "numbers"))
    whole = beside(db, VECTORS).stat().st_size
    with beside(db, VECTORS).open("ab") as file:
        file.write(b"half a vector")
    report = index_notes(db, embedder=numbers)
    assert 0 < whole < beside(db, VECTORS).stat().st_size
    assert report.new_notes == 0
    with Finder.open(db, numbers) as finder, NoteStore.open(db) as store:
        assert finder.index is not None
        for note, expected in zip((1, 2, 3, 4), NOTES, strict=True):
            kept = finder.index.of_note(note)
            assert kept is not None and kept.first_row is not None and kept.passages is not None
            lines = [line for _, line in store.note_lines(note)]
            assert lines[0].note_id == expected["note_id"]
            rows = finder.index.vectors.read(kept.first_row + kept.passages, kept.lines)
            made = numbers.embed([line.text for line in lines])
            assert ((rows * made).sum(axis=1) > 0.98).all()


def test_lost_vectors_are_made_again(db: Path, numbers: Numbers) -> None:
    before = index_notes(db, embedder=numbers)
    VectorFile(beside(db, VECTORS)).cut(3)
    with (
        pytest.raises(DatabaseError, match="ehrqa notes index"),
        Finder.open(db, numbers) as finder,
    ):
        finder.find("chest tube", 13)
    report = index_notes(db, embedder=numbers)
    assert 0 < report.new_vectors <= before.vectors
    assert drains(db, numbers) == [11, 12]


def test_another_model_makes_all_vectors_anew(db: Path, numbers: Numbers) -> None:
    before = index_notes(db, embedder=numbers)
    after = index_notes(db, embedder=Numbers(None, "another"))
    assert after.new_vectors == before.vectors == after.vectors


def test_a_replaced_note(db: Path, numbers: Numbers, add_notes: Callable[..., Path]) -> None:
    index_notes(db, embedder=numbers)
    changed: list[dict[str, Any]] = [{**NOTES[0], "text": "Hospital Course:\nNothing was done."}]
    add_notes(changed, replace=True)
    assert drains(db, numbers) == [12]  # before it is indexed again, the old text is not found
    with Finder.open(db, numbers) as finder:
        assert {found.line.text for found in finder.find("chest tube", 11)} >= {"Nothing was done."}
    assert index_notes(db, embedder=numbers).new_notes == 1
    assert drains(db, numbers) == [12]


def test_a_damaged_index_harms_no_note(db: Path, numbers: Numbers) -> None:
    index_notes(db, embedder=numbers)
    path = beside(db, SUFFIX)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"not a database, but long enough to be read as one" * 200)
    with pytest.raises(DatabaseError, match="cannot be used") as caught:
        Finder.open(db, numbers)
    assert "ehrqa notes index --rebuild" in caught.value.hint
    with pytest.raises(DatabaseError, match="cannot be used"):
        index_notes(db, embedder=numbers)
    assert index_notes(db, embedder=numbers, rebuild=True).notes == 4
    assert drains(db, numbers) == [11, 12]


def test_a_damaged_or_missing_search_tree(db: Path, numbers: Numbers) -> None:
    index_notes(db, embedder=numbers)
    beside(db, FAISS).write_bytes(b"nothing")
    with Finder.open(db, numbers) as finder, pytest.raises(DatabaseError, match="search tree"):
        finder.cohort("chest tube")
    beside(db, FAISS).unlink()
    assert drains(db, numbers) == [11, 12]
    index_notes(db, embedder=numbers)
    assert beside(db, FAISS).is_file()


def test_an_index_of_another_version(db: Path, numbers: Numbers) -> None:
    index_notes(db, embedder=numbers)
    connection = sqlite3.connect(beside(db, SUFFIX))
    connection.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    connection.commit()
    connection.close()
    with pytest.raises(DatabaseError, match="version"):
        Finder.open(db, numbers)


def test_without_notes(tmp_path: Path, numbers: Numbers) -> None:
    with pytest.raises(DatabaseError, match="has no notes") as caught:
        index_notes(tmp_path / "ehr.sqlite", embedder=numbers)
    assert "ehrqa notes import" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_for_the_owner_only(db: Path, numbers: Numbers) -> None:
    index_notes(db, embedder=numbers)
    for suffix in (SUFFIX, VECTORS, FAISS):
        assert beside(db, suffix).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks there")
def test_two_at_once(db: Path, numbers: Numbers) -> None:
    import fcntl

    index_notes(db, embedder=numbers)
    handle = os.open(beside(db, VECTORS), os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(DatabaseError, match="another process"):
            index_notes(db, embedder=numbers)
    finally:
        os.close(handle)


def test_many_passages_get_a_tree_with_lists(
    add_notes: Callable[..., Path], numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "TREE_FROM", 1000)
    monkeypatch.setattr(nearest, "_MOST_LISTS", 8)
    monkeypatch.setattr(nearest, "_CODE", "PQ24np")
    texts = [f"Line number {k} of its own." for k in range(1200)]
    db = add_notes([{"note_id": str(k), "patient_id": k, "text": t} for k, t in enumerate(texts)])
    index_notes(db, embedder=numbers)
    index = IndexFile.open(db)
    assert index is not None
    tree = nearest.open_tree(index.faiss)
    assert tree is not None and tree.nlist == 8 and tree.ntotal == 1200
    rows = nearest.search(tree, numbers.embed([texts[700]])[0], 10)
    found = [index.of_row(row) for row in rows]
    index.close()
    assert 701 in [kept.note for kept in found if kept]


def test_passages_cover_all_lines_once(db: Path) -> None:
    with NoteStore.open(db) as store:
        lines = store.lines(11) * 20
    runs = passages(lines)
    assert [k for run in runs for k in run] == list(range(len(lines)))
    words = [sum(len(lines[k].text.split()) for k in run) for run in runs]
    assert max(words) <= MOST_WORDS
    assert passages([]) == []
