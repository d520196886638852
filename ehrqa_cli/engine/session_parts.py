"""What stays warm between questions: the database, the linker, the model, the thresholds.

The path of a question is written for `SessionParts`. `session.Session` adds the doors ``ask`` and
``ask_many`` to it, so that the path and the session need not import each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.plugins import Database, NoteReader, Text2Sql
from ehrqa_cli.contracts.types import Answer, Limits, Scope
from ehrqa_cli.engine import calibrated
from ehrqa_cli.engine.part import Part
from ehrqa_cli.engine.parts import Linker, Mode
from ehrqa_cli.engine.risk import GOAL, Thresholds, least_sure
from ehrqa_cli.engine.times import check_time

if TYPE_CHECKING:
    from ehrqa_cli.concepts.own import OwnFile
    from ehrqa_cli.contracts.images import ImageReader
    from ehrqa_cli.encoder.judge import Judge
    from ehrqa_cli.engine.note_route import NoteRouter
    from ehrqa_cli.engine.taught import Taught
    from ehrqa_cli.engine.workers import Pool
    from ehrqa_cli.logical_form import Layout
    from ehrqa_cli.notes.desk import NoteDesk
    from ehrqa_cli.store import AnswerLog
    from ehrqa_cli.text2sql.known import KnownQuestions
    from ehrqa_cli.text2sql.third import ThirdOpinion
    from ehrqa_cli.vqa.film import Films


# Parts that a session may do without: given as None, there is none.
_MAY_LACK = ("judge", "notes")


class SessionParts:
    """Everything that a question needs, opened at first use and closed together.

    Tests and other callers may give the parts themselves: ``Session(database=..., ...)``.
    """

    def __init__(
        self,
        db: Path | None = None,
        *,
        model: str | Text2Sql = "local",
        as_of: str | None = None,
        log: bool = False,
        scope: Scope | None = None,
        limits: Limits | None = None,
        mode: Mode = Mode.NORMAL,
        reader: str | NoteReader = "embedded",
        vision: str | None = None,
        goal: str | None = None,
        concepts: Iterable[Path] = (),
        tentative: bool = False,
        taught: Taught | bool = False,
        **ready: Any,
    ) -> None:
        """``model`` and ``reader`` (of notes) are a plugin's name or a ready one; ``vision`` is the
        model that looks at image files, by its name or card; ``goal`` is one of those that the
        thresholds have a limit for; ``concepts`` are files of the user's own; ``tentative``: a
        reading that is only doubted is run, and its answer marked; ``taught``: answer what was
        taught on this computer, or is given; ``ready`` are a ready
        ``database``, ``linker``, ``thresholds``, ``layout``, ``judge``, ``known``,
        ``third``, ``notes``, ``note_router`` or ``graphs`` (a reader of images)."""
        self.db = db
        self.model_name = model if isinstance(model, str) else model.name
        self.scope = scope
        self.limits = limits or Limits()
        self.log = log
        self.mode = mode
        self.reader = reader
        self.vision = vision
        self.tentative = tentative
        self.warnings: list[str] = []
        self.cancelled = threading.Event()
        # Opens the same session in another process; None where that cannot be.
        self.reopen: Callable[[], SessionParts] | None = None
        # Where ``graphs`` finds its images, for who wants to know whether they changed.
        self.image_folders: tuple[Path, ...] = ()
        self._pool: Pool | None = None
        self.thresholds_from = "the caller"
        self._as_of = as_of
        self._goal = goal
        self._concepts = tuple(concepts)
        self._taught = taught
        self.opened: dict[str, Any] = {} if isinstance(model, str) else {"model": model}
        for name, part in ready.items():
            if not isinstance(getattr(type(self), name, None), Part):
                raise TypeError(f"a session has no part '{name}'")
            if part is not None or name in _MAY_LACK:
                self.opened[name] = part

    @Part
    def database(self) -> Database:
        """The open EHR. Raises DatabaseError, PluginError for a backend that is not installed, or
        UsageError when none was named."""
        from ehrqa_cli.ehr.open import open_database

        if self.db is None:
            raise UsageError("no database was named", "say which with --db FILE")
        return open_database(self.db)

    @Part
    def linker(self) -> Linker:
        """The linker over this database's own values."""
        from ehrqa_cli.concepts.meaning import open_meanings
        from ehrqa_cli.ehr.value_index import ValueIndex
        from ehrqa_cli.text2sql.linking import Linker as RealLinker

        meanings = None
        if not self.layout.ehrsql:
            meanings = open_meanings(self.database, self.own_concepts)
        elif self.own_concepts:
            self.warnings.append(
                "this database is made as EHRSQL's is, where each name means itself: your own "
                "concepts are not used"
            )
        return RealLinker(ValueIndex.build(self.database), meanings)

    @Part
    def own_concepts(self) -> tuple[OwnFile, ...]:
        """The user's own concepts: of the file beside the database and those that were given.
        Raises UsageError for one that cannot be read."""
        from ehrqa_cli.concepts.own import files_for

        return files_for(self.db, self._concepts)

    @Part
    def layout(self) -> Layout:
        """What the database has beyond EHRSQL's tables. Raises DatabaseError."""
        from ehrqa_cli.engine.layouts import layout_of

        return layout_of(self.database)

    @Part
    def encounters(self) -> frozenset[str]:
        """The kinds of encounter that the database has, where not all are admissions to a
        hospital. Raises DatabaseError."""
        from ehrqa_cli.engine.encounters import kinds_in

        return kinds_in(self.database)

    @Part
    def model(self) -> Text2Sql:
        """The text-to-SQL model. Raises PluginError or ModelError."""
        from ehrqa_cli import registry

        plugin = registry.load(registry.TEXT2SQL, self.model_name, Text2Sql)  # type: ignore[type-abstract]
        return plugin.open()

    @Part
    def judge(self) -> Judge | None:
        """What reads the question against its reading. Raises ModelError."""
        from ehrqa_cli import modelstore
        from ehrqa_cli.encoder.judge import Judge

        return Judge.load(modelstore.models_root())

    @Part
    def known(self) -> KnownQuestions:
        """Known questions by their forms. Raises ModelError."""
        from ehrqa_cli import modelstore
        from ehrqa_cli.text2sql.known import KnownQuestions

        return KnownQuestions.load(modelstore.models_root())

    @Part
    def third(self) -> ThirdOpinion:
        """The third opinion of --careful. Raises ModelError, with how to pull it."""
        from ehrqa_cli.text2sql.third import ThirdOpinion

        return ThirdOpinion.pulled()

    @Part
    def taught(self) -> Taught | None:
        """What was taught, where it is wanted and there is any. Raises TaughtError for a damaged
        file."""
        from ehrqa_cli.engine.taught import here

        if isinstance(self._taught, bool):
            return here() if self._taught else None
        return self._taught

    @Part
    def notes(self) -> NoteDesk | None:
        """The notes beside this database with their reader; None when there are none.

        Raises DatabaseError for a damaged file, PluginError and ModelError for the reader.
        """
        from ehrqa_cli.notes.desk import NoteDesk
        from ehrqa_cli.notes.store import notes_path

        if self.db is None or not notes_path(self.db).is_file():
            return None
        return NoteDesk.open(self.db, self.reader)

    @Part
    def graphs(self) -> ImageReader | None:
        """What was given, else the database's own tables of scene graphs, if it has them.

        Raises DatabaseError for a database or tables that cannot be read.
        """
        from ehrqa_cli.ehr.schema import has_graphs

        if self._no_database or self.only_notes:
            return None
        if not has_graphs(self.database.schema()):
            return None
        from ehrqa_cli.vqa.tables import reader_of

        return reader_of(self.database)

    @Part
    def films(self) -> Films:
        """What looks at image files of no study. Raises ImageError where nothing can, UsageError
        for a wrong vision model."""
        from ehrqa_cli.vqa.film import films_of

        return films_of(SessionParts.graphs.open(self), self.vision)

    @Part
    def note_router(self) -> NoteRouter:
        """What tells a question about notes by its words. Raises ModelError."""
        from ehrqa_cli.engine.note_route import NoteRouter

        return NoteRouter.load()

    @property
    def _no_database(self) -> bool:
        """Was a database neither named nor given? Then films alone can be asked about."""
        return self.db is None and not SessionParts.database.is_open(self)

    @property
    def only_notes(self) -> bool:
        """Are there notes and no database?"""
        if self.db is None or self.db.exists() or SessionParts.database.is_open(self):
            return False
        return self.notes is not None

    @Part
    def thresholds(self) -> Thresholds:
        """Those calibrated on this database, else those stored with the model, else the defaults.

        Raises UsageError for a broken file.
        """
        found, self.thresholds_from = calibrated.in_force(
            self.db, self.model_hash, self.warnings.append
        )
        return found.for_goal(self._goal) if self._goal else found

    @Part
    def goal(self) -> str:
        """What answers have to be sure enough for: as given, else that of the thresholds that were
        given or calibrated on this database, else the default."""
        given = SessionParts.thresholds.open(self) or calibrated.stored(self.db)
        return self._goal or str((given.source if given else {}).get("goal", GOAL))

    @property
    def least_sure(self) -> float:
        """The measured probability from which a reader's answer is given, 0 to 1."""
        given = SessionParts.thresholds.open(self)
        return 0.0 if given is not None and given.limit is None else least_sure(self.goal)

    @Part
    def model_hash(self) -> str | None:
        """The SHA-256 of the text-to-SQL model's file, as it tells."""
        return self.model.provenance().get("sha256")

    @Part
    def as_of(self) -> str:
        """The time that stands for now: as given, else what the database says."""
        from ehrqa_cli.ehr.backend.now import now_in

        if self._as_of is not None:
            return check_time(self._as_of)
        return now_in(self.database)

    @Part
    def versions(self) -> dict[str, str]:
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

    @Part
    def answer_log(self) -> AnswerLog | None:
        """The answer log, None when it is off here or in the settings, which are read once."""
        if not self.log:
            return None
        from ehrqa_cli import config
        from ehrqa_cli.store import AnswerLog

        settings = config.load()
        return AnswerLog(settings.log_path()) if settings.log else None

    @property
    def large(self) -> bool:
        """Is there a large model, which takes long for a question and much memory?"""
        return self.mode is Mode.CAREFUL or self.reader != "embedded"

    def workers(self, wanted: int | None) -> Pool | None:
        """Processes that answer beside this one, kept until ``close``; None where one is enough
        or this session cannot be opened in another process."""
        from ehrqa_cli.engine.workers import Pool, how_many, packed

        # A large model fits in once.
        count = 1 if wanted is None and self.large else how_many(wanted)
        opener = packed(self.reopen) if count > 1 else None
        if opener is None:
            return None
        if self._pool is None or self._pool.closed or self._pool.count != count:
            if self._pool is not None:
                self._pool.close()
            self._pool = Pool(opener, count)
        return self._pool

    def warm(self) -> None:
        """Open everything now instead of at the first question."""
        _ = self.notes
        if self.only_notes or self._no_database:
            return
        _ = (self.database, self.linker, self.model, self.thresholds, self.judge, self.as_of)
        if self.mode is Mode.CAREFUL:
            _ = self.third

    def record(self, answer: Answer) -> str | None:
        """Write the answer to the answer log if it is on; returns what went wrong, or None."""
        if self.answer_log is None:
            return None
        try:
            self.answer_log.add(answer)
        except EhrqaError as error:
            return str(error)  # an answer that cannot be logged is still an answer
        return None

    def cancel(self) -> None:
        """End the running ``ask`` from another thread; it raises Cancelled there.

        For the thread that asked: it is forgotten when that ``ask`` has ended.
        """
        self.cancelled.set()
        for part in self._running:
            part.tell(self, "cancel")

    def resume(self) -> None:
        """Forget a ``cancel``: what it was meant for has ended."""
        self.cancelled.clear()
        SessionParts.model.tell(self, "resume")

    def close(self) -> None:
        """Close the database and the models; a second call does nothing."""
        if self._pool is not None:
            self._pool.close()
        for part in self._running:
            part.close(self)

    # What may be at work for long, and holds what has to be given back.
    _running: tuple[Part[SessionParts, Any], ...] = (database, model, third, notes)
