"""The evidence of an answer, as a person opens it: notes with marks, images, rows in full."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError
from ehrqa_cli.contracts.types import Answer, Limits, Result
from ehrqa_cli.engine.session import Session

_LIMITS = Limits(seconds=5.0, rows=100)


@dataclass(frozen=True)
class NoteLine:
    """One line of a note, as it was imported, with the character ranges to mark."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class NoteView:
    """A note with what an answer cites of it marked; ``first_marked`` is the place of the first
    line with a mark, 0 where there is none."""

    note_id: str
    patient_id: int
    charttime: str | None
    category: str
    lines: tuple[NoteLine, ...]
    first_marked: int = 0


@dataclass(frozen=True)
class Finding:
    """What an image may show, where ("" or None: as a whole), and how probable it is."""

    name: str
    place: str | None
    probability: float
    present: bool


@dataclass(frozen=True)
class ImageView:
    """The image of a study and what its reader sees in it, most probable first; ``problem`` says
    why there is none."""

    study_id: int
    path: Path | None = None
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    view: str | None = None
    sex: str | None = None
    picture: Any = None  # what a screen has made of the file


@dataclass(frozen=True)
class Evidence:
    """What one answer rests on, opened: cited rows by table, notes, images; ``problems`` is what
    could not be."""

    rows: tuple[tuple[str, Result], ...] = ()
    notes: tuple[NoteView, ...] = ()
    images: tuple[ImageView, ...] = ()
    problems: tuple[EhrqaError, ...] = ()


def evidence_of(
    session: Session, answer: Answer, parts: Collection[str] = ("rows", "notes", "images")
) -> Evidence:
    """These parts of what an answer rests on. Raises Cancelled."""
    problems: list[EhrqaError] = []

    def had(part: str, get: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        try:
            return get() if part in parts else ()
        except Cancelled:
            raise
        except EhrqaError as error:
            problems.append(error)
            return ()

    db = session.db
    return Evidence(
        rows=had("rows", lambda: evidence_rows(session, answer)),
        notes=had("notes", lambda: note_views(db, answer) if db else ()),
        images=had(
            "images", lambda: tuple(image_view(session, study) for study in image_studies(answer))
        ),
        problems=tuple(problems),
    )


def note_view(db: Path, note_id: str, spans: Sequence[tuple[int, int]] = ()) -> NoteView:
    """The note ``note_id`` beside the EHR ``db`` with ``spans`` of its text marked.

    Raises DatabaseError when there is no such note.
    """
    from ehrqa_cli.notes.store import NoteStore

    with NoteStore.open(db) as store:
        note = store.note(note_id)
    if note is None:
        raise DatabaseError(
            f"there is no note {note_id} any more", "the notes were imported anew: ask again"
        )
    lines, start = [], 0
    for text in note.text.split("\n"):
        marks = [
            (max(a, start) - start, min(b, start + len(text)) - start)
            for a, b in sorted(set(spans))
            if a < start + len(text) and b > start
        ]
        lines.append(NoteLine(text, tuple(marks)))
        start += len(text) + 1
    marked = (place for place, line in enumerate(lines) if line.marks)
    told = (note.note_id, note.patient_id, note.charttime, note.category)
    return NoteView(*told, tuple(lines), next(marked, 0))


def note_views(db: Path, answer: Answer) -> tuple[NoteView, ...]:
    """The notes that an answer cites, the best cited first. Raises DatabaseError."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for item in answer.evidence:
        if item.get("kind") == "note":
            place = (int(item["start"]), int(item["end"]))
            spans.setdefault(str(item["note_id"]), []).append(place)
    return tuple(note_view(db, note_id, found) for note_id, found in spans.items())


def image_studies(answer: Answer) -> tuple[int, ...]:
    """The studies that an answer rests on, in the order of its evidence."""
    found = [item.get("study_id") for item in answer.evidence if item.get("kind") == "image"]
    asked = answer.question.study_id
    return tuple(dict.fromkeys(int(x) for x in [*found, asked] if x is not None))


def image_view(session: Session, study_id: int) -> ImageView:
    """The image of a study and its findings; never raises for one that is not there.

    Raises Cancelled, and what the reader of images raises when it is broken is the problem.
    """
    reader: Any = session.graphs
    if reader is None:
        return ImageView(study_id, problem="there is no reader of images here")
    try:
        graph = reader.graph(study_id)
        path = _file(reader, study_id)
    except Cancelled:
        raise
    except EhrqaError as error:
        return ImageView(study_id, problem=error.message)
    if graph is None:
        why = reader.problem(study_id)
        problem = (
            f"the image of study {study_id} {why}" if why else f"study {study_id} has no image"
        )
        return ImageView(study_id, path, problem=problem)
    limits, found = reader.thresholds, []
    for relation, value in zip(
        reader.source.coverage().relations, graph.probabilities, strict=True
    ):
        place, name = relation
        p = float(value)
        if p == p:  # NaN: not to be said of this image
            found.append(Finding(name, place or None, p, p >= limits.of(relation)))
    found.sort(key=lambda f: (not f.present, -f.probability, f.name, f.place or ""))
    view = None if graph.pa is None else "PA" if graph.pa >= limits.view else "AP"
    sex = None if graph.female is None else "F" if graph.female >= limits.sex else "M"
    return ImageView(study_id, path, tuple(found), view=view, sex=sex)


def _file(reader: Any, study_id: int) -> Path | None:
    """The file of a study, where the source of scene graphs has looked at one."""
    file_of = getattr(reader.source, "file_of", None)
    path = file_of(study_id) if file_of is not None else None
    return path if path is not None and path.is_file() else None


def evidence_rows(session: Session, answer: Answer) -> tuple[tuple[str, Result], ...]:
    """The rows that an answer cites, in full, table by table in the order of its evidence.

    Rows of another kind of evidence, and tables that are gone, are left out. Raises DatabaseError,
    LimitExceeded and Cancelled.
    """
    keys: dict[tuple[str, str], list[int | str]] = {}
    for item in answer.evidence:
        key = item.get("key")
        if item.get("kind") == "row" and isinstance(key, dict) and len(key) == 1:
            ((column, value),) = key.items()
            keys.setdefault((str(item["table"]), str(column)), []).append(value)
    out = []
    schema = {
        name.lower(): {c.lower() for c in columns} for name, columns in _schema(session, keys)
    }
    for (table, column), values in keys.items():
        # Names from a conversation that was kept may be anything: only the schema's are used.
        if column.lower() not in schema.get(table.lower(), set()):
            continue
        shown = ", ".join(_literal(value) for value in values[: _LIMITS.rows])
        sql = f"SELECT * FROM {table} WHERE {column} IN ({shown}) ORDER BY {column}"
        out.append((table, session.database.execute(sql, _LIMITS)))
    return tuple(out)


def _schema(session: Session, keys: object) -> list[tuple[str, Sequence[str]]]:
    return list(session.database.schema().items()) if keys else []


def _literal(value: int | str) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
