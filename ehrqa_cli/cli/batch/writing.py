"""One run of a batch: questions in, chunks to the engine, rows out in the same order."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ehrqa_cli.cli import interrupt, output
from ehrqa_cli.cli.batch.reading import Item
from ehrqa_cli.cli.batch.rows import Row, Target, read_row, row_text
from ehrqa_cli.cli.batch.seen import Seen, key_of
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status

if TYPE_CHECKING:
    from ehrqa_cli.cli.answer_options import BatchOptions
    from ehrqa_cli.cli.diagnostics import Advance
    from ehrqa_cli.engine import Session

_LOOKED_AT = 2048  # rows of a chunk at most, those without a question of their own among them


@dataclass
class Tally:
    """How the rows ended, those kept from before among them."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, Status), 0))
    kept: int = 0
    repeated: int = 0

    def add(self, status: str) -> None:
        """Count one row."""
        if status in self.counts:
            self.counts[status] += 1

    def summary(self, rows: int) -> str:
        """One line for stderr."""
        shown = [s for s in self.counts if s != Status.TENTATIVE or self.counts[s]]
        parts = [f"{self.counts[status]:,} {status}" for status in shown]
        notes = [f"{self.kept:,} kept from before"] if self.kept else []
        notes += [f"{self.repeated:,} asked before"] if self.repeated else []
        told = f" ({', '.join(notes)})" if notes else ""
        return f"{rows:,} rows{told}: {', '.join(parts)}"


@dataclass
class _Entry:
    """A row to come: one that is asked waits for its answer."""

    item: Item
    key: bytes | None = None
    asked: bool = False


@dataclass
class Run:
    """What the rows of one run share."""

    items: Iterator[Item]
    target: Target
    times: TextIO | None = None
    advance: Advance | None = None
    total: int | None = None
    tally: Tally = field(default_factory=Tally)
    seen: Seen = field(default_factory=Seen)
    pending: deque[_Entry] = field(default_factory=deque)

    def keep(self, rows: int | None, digest: str | None) -> None:
        """Go on after the rows that OUT has: ``rows`` of them, answering the questions of this
        hash, or where nothing is known all that are whole. Raises UsageError."""
        target, place = self.target, 0
        with target.path.open("rb") as file:
            if target.as_csv:
                read_row(file, True)
                place = file.tell()
            while rows is None or self.tally.kept < rows:
                row = read_row(file, target.as_csv)
                if row is None:
                    break
                self._keep(row, place)
                place = file.tell()
        if digest is not None and (
            target.rows != rows or digest != (target.digest.hexdigest() if rows else "")
        ):
            raise UsageError(
                f"{target.path} is no answer to this file: its films or questions have changed",
                "--restart begins anew; or name another OUT",
            )
        target.cut(place)

    def _keep(self, row: Row, place: int) -> None:
        item, other = next(self.items, None), "--restart begins anew; or name another OUT"
        if item is None:
            raise UsageError(f"{self.target.path} has more rows than there are questions", other)
        if not row.answers(item, self.target.as_csv):
            raise UsageError(
                f"{self.target.path} is no answer to this file: row {self.tally.kept + 1} and "
                f"line {item.number} have other ids",
                other,
            )
        self.target.note(item)
        self.target.rows += 1
        self.tally.kept += 1
        self.tally.add(row.status)
        if item.question is not None:
            key = key_of(item.question)
            if self.seen.add(key):
                self.seen.put(key, place)

    def chunks(self, size: int) -> Iterator[list[Question]]:
        """The questions to ask, ``size`` at most at a time; a chunk may be empty."""
        chunk: list[Question] = []
        looked = 0
        for item in self.items:
            entry = _Entry(item)
            if item.question is not None:
                entry.key = key_of(item.question)
                entry.asked = self.seen.add(entry.key)
            self.pending.append(entry)
            self._write_ready()
            looked += 1
            if entry.asked and item.question is not None:
                chunk.append(item.question)
            if len(chunk) >= size or looked >= _LOOKED_AT:
                yield chunk
                chunk, looked = [], 0
        if chunk:
            yield chunk

    def take(self, answer: Answer) -> None:
        """Write the row of the question that has waited longest, and those that follow from it."""
        entry = self.pending.popleft()
        self._write(entry, answer)
        self._write_ready()

    def _write_ready(self) -> None:
        """Write what needs no answer: faults of the input, and questions answered before."""
        while self.pending and not self.pending[0].asked:
            entry = self.pending.popleft()
            error, question = entry.item.error, entry.item.question
            if error is not None or question is None:
                told = error or UsageError("there is no question", "write one")
                self._write(entry, _failed(told))
                continue
            started = time.perf_counter()
            place = self.seen.place(entry.key) if entry.key else None
            row = self.target.row_at(place) if place is not None else None
            assert row is not None, "a question is asked before its row is wanted again"
            self.tally.repeated += 1
            raw = row.answer_to(entry.item, self.target.as_csv)
            self._put(entry, raw, row.status, {"total": time.perf_counter() - started})

    def _write(self, entry: _Entry, answer: Answer) -> None:
        from ehrqa_cli.store import answer_record

        item = entry.item
        record = {**answer_record(answer), "id": item.id, "question": item.text}
        raw = row_text(record, self.target.as_csv)
        place = self._put(entry, raw, answer.status.value, answer.timings, answer.again)
        if entry.key is not None:
            self.seen.put(entry.key, place)

    def _put(
        self,
        entry: _Entry,
        raw: bytes,
        status: str,
        seconds: dict[str, float],
        again: bool = False,
    ) -> int:
        interrupt.check()
        place = self.target.add(raw, entry.item, again)
        self.tally.add(status)
        if self.times is not None:
            self.times.write(output.to_json({"id": entry.item.id, **seconds}) + "\n")
            self.times.flush()
        if self.advance is not None:
            self.advance(self.target.rows, self.total, "questions")
        return place


def _failed(error: UsageError) -> Answer:
    fault = {"message": error.message, "hint": error.hint}
    return Answer(Question(""), Status.FAILED, text=f"Failed: {error.message}.", error=fault)


def settings_of(options: BatchOptions, session: Session, as_csv: bool) -> dict[str, Any]:
    """What the answers depend on beside the questions, as plain values. Raises DatabaseError,
    and UsageError for a wrong vision model that is needed."""
    from ehrqa_cli.engine import calibrated
    from ehrqa_cli.engine.sources import sources_of

    database, thresholds = None, options.thresholds
    if options.db is not None:
        database = None if session.only_notes else session.database.fingerprint()
        thresholds = thresholds or calibrated.path_for(options.db)
    sources = sources_of(session)
    return {
        "database": database,
        "as of": options.as_of,
        "patient": options.patient,
        "scope": options.scope,
        "model": [options.model, _model_hash(options.model), session.versions],
        "mode": options.mode,
        "goal": options.goal,
        "thresholds": _hash(thresholds) if thresholds else None,
        "concepts": sources.get("concepts"),
        "tentative": options.tentative,
        "taught": session.taught.fingerprint() if session.taught else None,
        "notes": sources.get("notes"),
        "images": sources.get("images"),
        "vision": vision_of(options) if options.films else None,
        "reader": options.reader,
        "format": "csv" if as_csv else "jsonl",
    }


def vision_of(options: BatchOptions) -> str | None:
    """What looks at films: the hash of its card; None without one. A wrong one is an error only
    where it is known to be needed."""
    from ehrqa_cli import config
    from ehrqa_cli.vqa.model import card, choose

    settings = config.load()
    try:
        found = choose.find_card(options.vision or settings.vision, settings.models_dir())
        return card.load(found).digest[:16] if found else None
    except UsageError:
        if options.films and options.scene_graphs is None:
            raise
        return None


def _model_hash(name: str) -> str | None:
    """Of the shipped model's file, as its manifest says."""
    from ehrqa_cli.engine.parts import shipped_model

    return _hash(shipped_model().parent / "manifest.json") if name == "local" else None


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None
