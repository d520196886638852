"""What a run over one of emrQA's tasks is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.evaluate.note_answers import NoteSystem


@dataclass(frozen=True)
class EmrRun:
    """One run of ``task``. ``data`` is the folder of emrQA's data.json, or of i2b2's labelled
    records for classes; ``split`` the file of it that is read (None: the whole); ``db`` the EHR
    whose values the questions of ``forms`` speak of.

    ``finder`` finds evidence (``bm25``, ``vectors``, ``reader``, which is ``system``, or a baseline
    of systems.EMR_EVIDENCE), unless ``predictions`` is a file of it; of the other tasks it names
    the one system that is measured (None: all). ``pairs`` are made for ``forms``; ``progress`` is
    called with (done, all).
    """

    task: str
    data: Path | None = None
    split: str | None = None
    db: Path | None = None
    finder: str | None = None
    system: NoteSystem | None = None
    predictions: Path | None = None
    out: Path | None = None
    limit: int | None = None
    pairs: int = 5000
    seed: int = 0
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def folder(self) -> Path:
        """``data``. Raises UsageError where it is not given."""
        if self.data is None:
            raise UsageError(f"{self.task} needs the benchmark's folder", "give it with --data DIR")
        return self.data
