"""The cache: what is kept, for whom, and what happens where nothing can be."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest

from ehrqa_cli.vqa.model.cache import Entry, File, GraphCache, cache_path

BLOB = np.asarray([0.25, np.nan], np.float32).tobytes()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ehr.sqlite"


def filled(cache: GraphCache, count: int, model: str = "m") -> None:
    files = [File(f"/x/{k}.png", 100, 5, f"{k:064x}") for k in range(count)]
    cache.keep(files, [Entry(f.image, BLOB, pa=0.5) for f in files], model)
    chosen = {k: (f.path, f"i{k}") for k, f in enumerate(files)}
    cache.choose(chosen, model)


def test_what_is_kept_is_there_again(db: Path):
    cache = GraphCache.open(db)
    entry = Entry("ab", BLOB, 0.9, None, 0.51, in_distribution=False, problem="it is in colour")
    cache.keep([File("/a.png", 7, 9, "ab")], [entry], "model")
    cache.choose({5: ("/a.png", "i5")}, "model")
    cache.close()
    again = GraphCache.open(db)
    assert again.note == ""
    assert again.image_of(Path("/a.png"), 7, 9) == "ab"
    assert again.image_of(Path("/a.png"), 8, 9) is None
    assert again.image_of(Path("/a.png"), 7, 10) is None
    assert again.graphs(["ab", "cd"], "model") == {"ab": entry}
    assert again.graphs(["ab"], "another") == {}
    found = again.studies([5, 6], "model")
    assert found[5].entry == entry and found[5].image_id == "i5" and list(found) == [5]
    again.close()


def test_only_its_owner_can_read_it(db: Path):
    before = os.umask(0)
    try:
        cache = GraphCache.open(db)
        filled(cache, 3)
        files = sorted(db.parent.glob("*.scene-graphs.sqlite*"))
        assert cache_path(db) in files and len(files) > 1  # with its log of changes
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        cache.close()
    finally:
        os.umask(before)


def test_a_place_that_cannot_be_written_is_said_and_memory_used(db: Path):
    cache_path(db).mkdir()
    cache = GraphCache.open(db)
    assert "not kept" in cache.note and str(cache_path(db)) in cache.note
    filled(cache, 3)
    assert len(cache.studies([0, 1, 2], "m")) == 3
    assert GraphCache.open(None).note == ""


def test_a_file_that_is_no_cache_is_left_alone(db: Path):
    cache_path(db).write_bytes(b"no database" * 100)
    cache = GraphCache.open(db)
    assert "not a database" in cache.note
    filled(cache, 1)
    assert cache_path(db).read_bytes() == b"no database" * 100


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(db: Path):
    db.parent.chmod(0o500)
    try:
        assert "not kept" in GraphCache.open(db).note
    finally:
        db.parent.chmod(0o700)


def test_what_others_indexed_is_read_where_it_cannot_be_written(db: Path, monkeypatch):
    first = GraphCache.open(db)
    filled(first, 4)
    first.close()
    from ehrqa_cli.vqa.model import cache as module

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module, "make_private", refuse)
    second = GraphCache.open(db)
    assert "Permission denied" in second.note
    assert len(second.studies(range(4), "m")) == 4


def test_a_cache_of_another_version_is_made_anew(db: Path):
    first = GraphCache.open(db)
    filled(first, 2)
    first.close()
    with sqlite3.connect(cache_path(db)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert GraphCache.open(db).studies([0, 1], "m") == {}


def test_a_file_is_the_same_by_size_and_time(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    now = path.stat()
    kept = File(str(path), now.st_size, now.st_mtime_ns, "x")
    assert kept.unchanged()
    os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns + 1000))
    assert not kept.unchanged()
    path.unlink()
    assert not kept.unchanged()


def test_ten_thousand_graphs_are_there_at_once(db: Path):
    cache = GraphCache.open(db)
    filled(cache, 10_000)
    asked: list[str] = []
    cache._db.set_trace_callback(asked.append)
    assert len(cache.studies(range(10_000), "m")) == 10_000
    cache._db.set_trace_callback(None)
    assert len(asked) == 1  # not one for each film
    plan = cache._db.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    read = [row[3] for row in plan if row[3].startswith(("SCAN", "SEARCH"))]
    assert len(read) >= 4 and not [line for line in read if re.match(r"SCAN (?!json_each)", line)]
    cache.close()
