"""How well and how fast lines of notes are found.

    python tests/benchmarks/notes_find.py quality --data models/corpus/notes
    python tests/benchmarks/notes_find.py quality --data ../shared/data/noteqa
    python tests/benchmarks/notes_find.py embedding
    python tests/benchmarks/notes_find.py size --notes 100000 --folder /tmp/many

``quality``: is a line that overlaps a gold evidence among the first 1, 3 and 10, for words only,
meaning only and both, over the answerable questions of a folder in noteqa's format. ``size`` fills
a store with made-up notes; their vectors are drawn, not embedded, which would take a day, so it
measures time and bytes and says nothing of quality. 2,000 of its notes are written and the rest
are copies of these for other patients. Never run as a test.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import notes_made_up
import numpy as np
from shared import OWN_NOTES, imported, is_gold, rows_of, texts_of, wilson

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.find import Finder, index_notes, nearest, rank
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.find.index_file import IndexFile
from ehrqa_cli.notes.find.passages import passages
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.store import NoteStore

DISTINCT = 2000  # notes that are written; more are copies
VARIANTS = {"words": (0.0, 0.0, 1.0), "meaning": (1.0, 0.3, 0.0), "both": None}


def gold_rank(found: list[Line], evidence: list[dict[str, str]], texts: dict[str, str]) -> int:
    """The place of the first line that overlaps a gold evidence; 10,000 when none does."""
    return next((k for k, line in enumerate(found) if is_gold(line, evidence, texts)), 10_000)


def quality(data: Path) -> None:
    """Recall of evidence on the questions of ``data``."""
    texts = texts_of(data)
    asked = [row for row in rows_of(data / "questions.jsonl") if row["answerable"]]
    with imported(data / "notes.jsonl") as db:
        chosen = (rank.MEANING, rank.AROUND, rank.WORDS)
        for name, weights in VARIANTS.items():
            rank.MEANING, rank.AROUND, rank.WORDS = weights or chosen
            with Finder.open(db) as finder:
                ranks = np.array([_rank(finder, question, texts) for question in asked])
            shares = (f"top {k} {wilson(list(ranks < k))}" for k in (1, 3, 10))
            print(f"{name:8}", *shares, sep="  ")
            if weights is None:
                for question, place in zip(asked, ranks, strict=True):
                    if place >= 3:
                        print(f"  {place:6} {question['id']}")


def _rank(finder: Finder, question: dict[str, Any], texts: dict[str, str]) -> int:
    found = finder.find(question["question"], int(question["patient_id"]), k=200)
    return gold_rank([each.line for each in found], question["evidence"], texts)


def embedding() -> None:
    """Lines a second, by the wall and by the processor, on one core and on two."""
    notes = notes_made_up.notes(40, seed=3)
    lines = [line for note in notes for line in note.splitlines() if line.strip()]
    for threads in (1, 2):
        embedder = Embedder.open(threads=threads)
        embedder.embed(lines[:64])
        wall, cpu = time.perf_counter(), time.process_time()
        embedder.embed(lines)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"{threads} threads: {len(lines) / wall:.0f} lines a second,"
            f" {len(lines) / cpu:.0f} a second of processor time"
        )


def size(count: int, folder: Path) -> None:
    """Fill a store, index it with drawn vectors, and time questions."""
    folder.mkdir(parents=True, exist_ok=True)
    db = folder / "ehr.sqlite"
    started = time.perf_counter()
    notes_made_up.write_jsonl(folder / "notes.jsonl", min(count, DISTINCT))
    import_notes(folder / "notes.jsonl", db)
    _told(f"{min(count, DISTINCT):,} notes made and imported", started)
    started = time.perf_counter()
    _copy_notes(db, count)
    _told("copied", started)
    started = time.perf_counter()
    report = index_notes(db, words_only=True)
    _told(f"words of {report.lines:,} lines indexed", started)
    started = time.perf_counter()
    _draw_vectors(db)
    _told("vectors drawn and written", started)
    started = time.perf_counter()
    index = IndexFile.create(db)
    nearest.update(index, lambda done, total, what: None)
    index.close()
    _told("search tree made", started)
    for suffix in (
        "sqlite.notes.sqlite",
        "sqlite.notes.index",
        "sqlite.notes.vectors",
        "sqlite.notes.faiss",
    ):
        path = folder / f"ehr.{suffix}"
        print(f"  {path.name}: {path.stat().st_size / 1e9:.2f} GB")
    ask(db)


def _copy_notes(db: Path, count: int) -> None:
    """Copies of the notes for other patients, until there are ``count``."""
    with NoteStore.open(db, writable=True) as store, store.connection:
        store.connection.execute("BEGIN IMMEDIATE")
        for copy in range(1, count // DISTINCT):
            store.connection.execute(
                "INSERT INTO note (note_id, patient_id, hadm_id, charttime, category, sha256,"
                f" source, text) SELECT note_id || '-{copy}', patient_id + {copy * 1_000_000},"
                " hadm_id, charttime, category, sha256, source, text FROM note"
                f" WHERE id <= {DISTINCT}"
                " ORDER BY id"
            )
            store.connection.execute(
                "INSERT INTO placed (note, number, start, end, section, kind)"
                f" SELECT note + {copy * DISTINCT}, number, start, end, section, kind FROM placed"
                f" WHERE note <= {DISTINCT} ORDER BY id"
            )


def _told(what: str, started: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{what} in {time.perf_counter() - started:.0f} s; so far {used.ru_utime:.0f} s of"
        f" processor time, peak memory {used.ru_maxrss / 1024:.0f} MB",
        flush=True,
    )


def _draw_vectors(db: Path) -> None:
    """Vectors near 500 made-up centres, written as the index writes them."""
    drawn = np.random.default_rng(0)
    centres = drawn.normal(size=(500, 384)).astype(np.float32)
    pool = centres[drawn.integers(0, 500, 200_000)]
    pool += drawn.standard_normal(pool.shape, dtype=np.float32)
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    index = IndexFile.create(db)
    index.write_meta({"model": Embedder.open().sha256})
    row = index.vectors.rows()
    counts: dict[int, tuple[int, int]] = {}
    with NoteStore.open(db) as store:
        todo = [note for (note,) in index.query("SELECT note FROM indexed ORDER BY note")]
        for first in range(0, len(todo), 500):
            batch = []
            for note in todo[first : first + 500]:
                like = (note - 1) % DISTINCT
                if like not in counts:
                    lines = [line for _, line in store.note_lines(note)]
                    counts[like] = (len(passages(lines)), len(lines))
                batch.append((note, *counts[like]))
            total = sum(runs + lines for _, runs, lines in batch)
            index.vectors.append(pool[drawn.integers(0, len(pool), total)])
            with index.writing() as connection:
                for note, runs, lines in batch:
                    connection.execute(
                        "UPDATE indexed SET first_row = ?, passages = ? WHERE note = ?",
                        (row, runs, note),
                    )
                    row += runs + lines
    index.close()


def ask(db: Path) -> None:
    """Time questions about single patients and about all."""
    with Finder.open(db, Embedder.open()) as finder:
        finder.embedder.embed(["warm"])
        patients = finder.store.patients()
        step = max(1, len(patients) // 50)
        for name, again in (("first question on a patient", False), ("second question", True)):
            times, cpu = [], []
            for patient in patients[::step][:50]:
                if again:
                    finder.find("Was there a fever?", patient)
                began, used = time.perf_counter(), time.process_time()
                finder.find("What dose of the diuretic did the patient go home on?", patient)
                times.append(time.perf_counter() - began)
                cpu.append(time.process_time() - used)
            _times(name, times, cpu)
        for query in ("pleural drain", "heart failure", "pancreatitis with pseudocyst", "aspirin"):
            times, cpu = [], []
            for _ in range(5):
                began, used = time.perf_counter(), time.process_time()
                finder.cohort(query, 20)
                times.append(time.perf_counter() - began)
                cpu.append(time.process_time() - used)
            _times(f"all patients, '{query}'", times, cpu)


def _times(name: str, times: list[float], cpu: list[float]) -> None:
    print(
        f"{name}: median {statistics.median(times) * 1e3:.0f} ms, most {max(times) * 1e3:.0f} ms;"
        f" of processor time {statistics.median(cpu) * 1e3:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["quality", "embedding", "size", "ask"])
    parser.add_argument("--data", type=Path, default=OWN_NOTES)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ehrqa_notes")
    chosen = parser.parse_args()
    if chosen.what == "quality":
        quality(chosen.data)
    elif chosen.what == "embedding":
        embedding()
    elif chosen.what == "ask":
        ask(chosen.folder / "ehr.sqlite")
    else:
        size(chosen.notes, chosen.folder)


if __name__ == "__main__":
    main()
