"""The lines of notes that bear on a question, of one patient or of all.

Of one patient, all lines are scored: the words of the question (`lexical`, `terms`) and its
meaning (`embed`), fused by `rank`. Vectors come from the index; those that it lacks are made when
they are needed. Of all patients, FTS5 and FAISS propose lines, and the same score orders them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.notes import FoundLine, Line
from ehrqa_cli.notes.find import cohort, lexical, rank
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.find.index_file import IndexFile
from ehrqa_cli.notes.find.mention import line_stance
from ehrqa_cli.notes.store import NoteStore

if TYPE_CHECKING:
    import numpy as np

    from ehrqa_cli.notes.find.embed import Vectors
    from ehrqa_cli.notes.find.rank import Scores

_PATIENTS_KEPT = 8  # of whom lines and vectors stay in memory
_WORDS_AT_ONCE = 10_000  # of lines and passages embedded during a question: three seconds of a core


@dataclass
class _Patient:
    """A patient's lines; ``near`` and ``around`` are their vectors, None where not made yet."""

    record: rank.Record
    near: list[Vectors | None]
    around: list[Vectors | None]


@dataclass
class Finder:
    """Finds lines in the notes beside one EHR. Use ``open``, and close it or use it in ``with``."""

    store: NoteStore
    index: IndexFile | None
    given: Embedder | None = None
    _patients: OrderedDict[int, _Patient] = field(default_factory=OrderedDict)
    _asked: tuple[str, Vectors] | None = None

    @classmethod
    def open(cls, db_path: Path, embedder: Embedder | None = None) -> Finder:
        """Open the notes of the EHR at ``db_path`` and their index if there is one.

        Raises DatabaseError when there are no notes or a file is damaged.
        """
        store = NoteStore.open(db_path)
        try:
            return cls(store, IndexFile.open(db_path), embedder)
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Finder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self.store.close()
        if self.index is not None:
            self.index.close()

    @property
    def embedder(self) -> Embedder:
        """The sentence model, opened when first needed. Raises ModelError."""
        if self.given is None:
            self.given = Embedder.open()
        return self.given

    def find(self, question: str, patient_id: int, k: int = 10) -> list[FoundLine]:
        """The ``k`` lines of the patient's notes that bear most on ``question``, best first.

        None for a patient without notes. Raises DatabaseError and ModelError.
        """
        patient = self._patient(patient_id)
        record = patient.record
        if not record.lines:
            return []
        words = rank.Words.of(question, record)
        share = words.share()
        self._fill(patient, share)
        asked = self._vector(question)
        scores = rank.fuse(
            question, record, share, _cosines(asked, patient.near), _cosines(asked, patient.around)
        )
        telling = sorted(range(len(words.groups)), key=lambda g: -float(words.rarity[g]))
        groups = [words.groups[g] for g in telling]
        order = sorted(range(len(scores)), key=lambda k: (-float(scores[k]), k))
        best = [n for n in order if record.lines[n].kind != "header"][:k]
        return [
            FoundLine(
                record.lines[n],
                float(scores[n]),
                line_stance(record.lines[n], groups),
                record.times[n] or None,
            )
            for n in best
        ]

    def lines(self, patient_id: int) -> Sequence[Line]:
        """All lines of the patient's notes, in the order of the notes' times."""
        return self._patient(patient_id).record.lines

    def cohort(self, query: str, k: int = 20) -> list[tuple[int, FoundLine]]:
        """Up to ``k`` patients in whose notes ``query`` is mentioned, each with its best line.

        Raises DatabaseError when the notes have no index.
        """
        if self.index is None:
            raise DatabaseError(
                "the notes have no index, so all patients cannot be searched at once",
                "run `ehrqa notes index`, or name one with --patient",
            )
        has_vectors = self.index.meta("model") is not None
        # "Which patients' notes mention a pleural drain?" means no more than "pleural drain".
        said = " ".join(group.phrase for group in lexical.groups(query)) or query
        asked = self._vector(said) if has_vectors else None
        return cohort.search(self.store, self.index, query, asked, k)

    def _vector(self, question: str) -> Vectors:
        if self._asked is None or self._asked[0] != question:
            self._asked = (question, self.embedder.embed([question])[0])
        return self._asked[1]

    def _patient(self, patient_id: int) -> _Patient:
        found = self._patients.get(patient_id)
        if found is None:
            found = self._read(patient_id)
            self._patients[patient_id] = found
            while len(self._patients) > _PATIENTS_KEPT:
                self._patients.popitem(last=False)
        self._patients.move_to_end(patient_id)
        return found

    def _read(self, patient_id: int) -> _Patient:
        lines: list[Line] = []
        times: list[str] = []
        near: list[Vectors | None] = []
        around: list[Vectors | None] = []
        for note, charttime in self.store.query(
            "SELECT id, charttime FROM note WHERE patient_id = ?"
            " ORDER BY charttime IS NULL, charttime, note_id",
            (patient_id,),
        ):
            some = [line for _, line in self.store.note_lines(note)]
            kept = self._kept(note, some)
            lines.extend(some)
            times.extend([charttime or ""] * len(some))
            near.extend(kept[0])
            around.extend(kept[1])
        return _Patient(rank.Record(lines, times), near, around)

    def _kept(
        self, note: int, lines: list[Line]
    ) -> tuple[list[Vectors | None], list[Vectors | None]]:
        """The vectors that the index has of a note's lines and of their passages."""
        nothing: list[Vectors | None] = [None] * len(lines)
        index = self.index
        indexed = cohort.current(self.store, index, note) if index else None
        if index is None or indexed is None or indexed.first_row is None or not lines:
            return nothing, nothing
        runs = rank.Record(lines, []).runs()
        if indexed.passages != len(runs) or indexed.lines != len(lines):
            return nothing, nothing
        vectors = index.vectors.read(indexed.first_row, len(runs) + len(lines))
        of_line = {n: vectors[r] for r, run in enumerate(runs) for n in run}
        return list(vectors[len(runs) :]), [of_line[n] for n in range(len(lines))]

    def _fill(self, patient: _Patient, share: Scores) -> None:
        """Make the vectors that are missing, of the lines whose words fit best if they are many."""
        missing = [n for n, vector in enumerate(patient.near) if vector is None]
        if not missing:
            return
        missing.sort(key=lambda n: (-float(share[n]), n))
        chosen, runs = _affordable(patient, missing)
        lines = patient.record.lines
        texts = [" ".join(lines[n].text for n in run) for run in runs]
        vectors = self.embedder.embed([*texts, *(lines[n].text for n in chosen)])
        for run, vector in zip(runs, vectors, strict=False):
            for n in run:
                patient.around[n] = vector
        for n, vector in zip(chosen, vectors[len(runs) :], strict=True):
            patient.near[n] = vector


def _affordable(patient: _Patient, wanted: list[int]) -> tuple[list[int], list[range]]:
    """As many of ``wanted``, from the first, as may be embedded now, with their passages."""
    size = [len(line.text.split()) for line in patient.record.lines]
    run_of = {n: run for run in patient.record.runs() for n in run}
    chosen: list[int] = []
    runs: dict[range, None] = {}
    words = 0
    for n in wanted:
        run = run_of[n]
        words += size[n]
        if patient.around[n] is None and run not in runs:
            words += sum(size[k] for k in run)
            runs[run] = None
        chosen.append(n)
        if words >= _WORDS_AT_ONCE:
            break
    return chosen, list(runs)


def _cosines(asked: Vectors, vectors: list[Any]) -> Scores:
    """Cosines with ``asked``; 0 for a line without a vector."""
    import numpy as np

    found: np.ndarray[Any, np.dtype[np.float32]] = np.zeros(len(vectors), dtype=np.float32)
    there = [n for n, vector in enumerate(vectors) if vector is not None]
    if there:
        found[there] = rank.cosines(asked, np.stack([vectors[n] for n in there]))
    return found
