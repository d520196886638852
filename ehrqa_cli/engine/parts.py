"""What a session is made of: how sure to be, what its parts must do, and how each is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ehrqa_cli.contracts.errors import ModelError, UsageError
from ehrqa_cli.contracts.plugins import Database, NoteReader, Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.text2sql.linking.namesakes import Namesakes

if TYPE_CHECKING:
    from ehrqa_cli.contracts.images import ImageReader
    from ehrqa_cli.engine.note_route import NoteRouter
    from ehrqa_cli.engine.reasons import ReasonModel
    from ehrqa_cli.notes.desk import NoteDesk
    from ehrqa_cli.store import AnswerLog
    from ehrqa_cli.text2sql.third import ThirdOpinion
    from ehrqa_cli.vqa.film import Films

THRESHOLDS_FILE = "text2sql/thresholds.json"


class Mode(StrEnum):
    """How much is done to be sure: ``fast`` asks no second opinion, ``careful`` a third one too."""

    FAST = "fast"
    NORMAL = "normal"
    CAREFUL = "careful"


class Near(Protocol):
    """What the engine needs of text2sql.second.Neighbour: a known question's linked ``text``, its
    ``form`` with references to the values of the question at hand, and their cosine distance."""

    @property
    def text(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def distance(self) -> float: ...


class Second(Protocol):
    """What the engine needs of text2sql.second.SecondOpinion."""

    def scores(self, linked: LinkedQuestion, form: str | None) -> dict[str, float]:
        """The measured signals by name."""

    def nearest(self, linked: LinkedQuestion, k: int) -> Sequence[Near]:
        """The nearest known questions that can be filled with this question's values."""

    def provenance(self) -> Mapping[str, str]:
        """Files and their hashes."""


class Linker(Protocol):
    """What the engine needs of text2sql.linking.Linker."""

    def link(
        self, question: str, *, patient_id: int | None = None, study_id: int | None = None
    ) -> LinkedQuestion:
        """Tie spans of the question to values of the database."""

    def namesakes(self, mention: str, kind: str, value: str) -> Namesakes:
        """What else of the database the mention that was linked to a value fits."""

    def shared(self, kind: str, value: str) -> int:
        """How many items of the database have this name."""


def open_ehr(db: Path | None) -> Database:
    """The open EHR. Raises DatabaseError, PluginError for a backend that is not installed, or
    UsageError when none was named."""
    from ehrqa_cli.ehr.backend.open import open_database

    if db is None:
        raise UsageError("no database was named", "say which with --db FILE")
    return open_database(db)


def open_linker(database: Database) -> Linker:
    """The linker over this database's own values."""
    from ehrqa_cli.ehr.value_index import ValueIndex
    from ehrqa_cli.text2sql.linking import Linker as RealLinker

    return RealLinker(ValueIndex.build(database))


def open_model(name: str) -> Text2Sql:
    """The text-to-SQL model of a plugin. Raises PluginError or ModelError."""
    from ehrqa_cli import registry

    return registry.load(registry.TEXT2SQL, name, Text2Sql).open()  # type: ignore[type-abstract]


def open_second(mode: Mode, warn: Callable[[str], None]) -> Second | None:
    """The second opinion; None when it is not wanted or not installed."""
    if mode is Mode.FAST:
        return None
    from ehrqa_cli import modelstore
    from ehrqa_cli.text2sql.second import SecondOpinion

    try:
        return SecondOpinion.load(modelstore.models_root())
    except ModelError as error:
        warn(f"there is no second opinion: {error}")
        return None  # the thresholds in force are then those for doing without


def open_reason_model() -> ReasonModel | None:
    """What words a refusal; None when it is not installed."""
    from ehrqa_cli import modelstore
    from ehrqa_cli.engine.reasons import REASONS_FILE, ReasonModel

    try:
        return ReasonModel.load(modelstore.models_root() / REASONS_FILE)
    except ModelError:
        return None


def open_notes(db: Path | None, reader: str | NoteReader) -> NoteDesk | None:
    """The notes beside this database with their reader; None when there are none.

    Raises DatabaseError for a damaged file, PluginError and ModelError for the reader.
    """
    from ehrqa_cli.notes.desk import NoteDesk
    from ehrqa_cli.notes.store import notes_path

    if db is None or not notes_path(db).is_file():
        return None
    return NoteDesk.open(db, reader)


def own_graphs(database: Database) -> ImageReader | None:
    """The reader of the database's own tables of scene graphs, if it has them.

    Raises DatabaseError for a database or tables that cannot be read.
    """
    from ehrqa_cli.ehr.schema import has_graphs

    if not has_graphs(database.schema()):
        return None
    from ehrqa_cli.vqa.tables import reader_of

    return reader_of(database)


def open_third() -> ThirdOpinion:
    """The third opinion of --careful. Raises ModelError, with how to pull it."""
    from ehrqa_cli.text2sql.third import ThirdOpinion

    return ThirdOpinion.pulled()


def open_note_router() -> NoteRouter:
    """What tells a question about notes by its words. Raises ModelError."""
    from ehrqa_cli.engine.note_route import NoteRouter

    return NoteRouter.load()


def open_films(graphs: ImageReader | None, vision: str | None) -> Films:
    """What looks at image files of no study. Raises ImageError where nothing can, UsageError for a
    wrong vision model."""
    from ehrqa_cli.vqa.film import films_of

    return films_of(graphs, vision)


def open_answer_log() -> AnswerLog | None:
    """The answer log, None when it is off in the settings, which are read once."""
    from ehrqa_cli import config
    from ehrqa_cli.store import AnswerLog

    settings = config.load()
    return AnswerLog(settings.log_path()) if settings.log else None


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of what an answer depends on."""
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    out = {"sqlite": sqlite3.sqlite_version}
    for key, package in (("ehrqa", "ehrqa_cli"), ("llama-cpp-python", "llama-cpp-python")):
        try:
            out[key] = version(package)
        except PackageNotFoundError:
            out[key] = "not installed"
    return out


def shipped_model() -> Path:
    """The model file named by the manifest under models/text2sql. Raises ModelError."""
    from ehrqa_cli import modelstore

    return modelstore.shipped_in("text2sql").path


def shipped_thresholds() -> Thresholds | None:
    """Those stored with the shipped model, if any. Raises UsageError for a broken file."""
    from ehrqa_cli import modelstore

    path = modelstore.models_root() / THRESHOLDS_FILE
    return Thresholds.load(path) if path.is_file() else None
