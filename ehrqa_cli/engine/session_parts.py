"""What stays warm between questions: the database, the linker, the model, the thresholds.

The path of a question is written for `SessionParts`. `session.Session` adds the doors ``ask`` and
``ask_many`` to it, so that the path and the session need not import each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Database, NoteReader, Text2Sql
from ehrqa_cli.contracts.types import Answer, Limits, Scope
from ehrqa_cli.engine import calibrated, parts
from ehrqa_cli.engine.opened import Opened
from ehrqa_cli.engine.parts import Linker, Mode, Second
from ehrqa_cli.engine.risk import GOAL, Thresholds, least_sure
from ehrqa_cli.engine.times import check_time

if TYPE_CHECKING:
    from ehrqa_cli.contracts.images import ImageReader
    from ehrqa_cli.engine.note_route import NoteRouter
    from ehrqa_cli.engine.reasons import ReasonModel
    from ehrqa_cli.engine.workers import Pool
    from ehrqa_cli.notes.desk import NoteDesk
    from ehrqa_cli.store import AnswerLog
    from ehrqa_cli.text2sql.third import ThirdOpinion
    from ehrqa_cli.vqa.film import Films

# Parts that a session may do without: given as None, there is none.
_MAY_LACK = ("second", "reason_model", "notes")


@dataclass(frozen=True)
class Parts:
    """The parts of a session, each opened when it is first needed."""

    database: Opened[Database]
    linker: Opened[Linker]
    model: Opened[Text2Sql]
    second: Opened[Second | None]
    third: Opened[ThirdOpinion]
    reason_model: Opened[ReasonModel | None]
    notes: Opened[NoteDesk | None]
    note_router: Opened[NoteRouter]
    graphs: Opened[ImageReader | None]
    films: Opened[Films]
    thresholds: Opened[Thresholds]
    goal: Opened[str]
    as_of: Opened[str]
    answer_log: Opened[AnswerLog | None]

    def give(self, ready: Mapping[str, Any]) -> None:
        """Take these parts by name instead of opening them; None where it can stand for none.

        Raises TypeError for a name that is no part.
        """
        known = {field.name for field in fields(self)}
        for name, part in ready.items():
            if name not in known:
                raise TypeError(f"a session has no part '{name}'")
            if part is not None or name in _MAY_LACK:
                getattr(self, name).give(part)


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
        **ready: Any,
    ) -> None:
        """``model`` and ``reader`` (of notes) are a plugin's name or a ready one; ``vision`` is the
        model that looks at image files, by its name or card; ``goal`` is one of those that the
        thresholds have a limit for; ``ready`` are parts of `Parts` by name."""
        self.db = db
        self.model_name = model if isinstance(model, str) else model.name
        self.scope = scope
        self.limits = limits or Limits()
        self.log = log
        self.mode = mode
        self.reader = reader
        self.vision = vision
        self.warnings: list[str] = []
        self.cancelled = threading.Event()
        # Opens the same session in another process; None where that cannot be.
        self.reopen: Callable[[], SessionParts] | None = None
        # Where ``graphs`` finds its images, for who wants to know whether they changed.
        self.image_folders: tuple[Path, ...] = ()
        self.thresholds_from = "the caller"
        self._pool: Pool | None = None
        self._as_of = as_of
        self._goal = goal
        self.parts = self._unopened()
        self.parts.give(ready if isinstance(model, str) else {**ready, "model": model})

    def _unopened(self) -> Parts:
        return Parts(
            database=Opened(lambda: parts.open_ehr(self.db)),
            linker=Opened(lambda: parts.open_linker(self.database)),
            model=Opened(lambda: parts.open_model(self.model_name)),
            second=Opened(lambda: parts.open_second(self.mode, self.warnings.append)),
            third=Opened(parts.open_third),
            reason_model=Opened(parts.open_reason_model),
            notes=Opened(lambda: parts.open_notes(self.db, self.reader)),
            note_router=Opened(parts.open_note_router),
            graphs=Opened(self._own_graphs),
            films=Opened(lambda: parts.open_films(self.parts.graphs.open, self.vision)),
            thresholds=Opened(self._thresholds),
            goal=Opened(self._found_goal),
            as_of=Opened(self._now),
            answer_log=Opened(lambda: parts.open_answer_log() if self.log else None),
        )

    def _own_graphs(self) -> ImageReader | None:
        if self._no_database or self.only_notes:
            return None
        return parts.own_graphs(self.database)

    def _thresholds(self) -> Thresholds:
        found, self.thresholds_from = calibrated.in_force(
            self.db, self.model_hash, self.warnings.append
        )
        return found.for_goal(self._goal) if self._goal else found

    def _found_goal(self) -> str:
        found = self.parts.thresholds.open or calibrated.stored(self.db)
        return self._goal or str((found.source if found else {}).get("goal", GOAL))

    def _now(self) -> str:
        from ehrqa_cli.ehr.backend.open import now_in

        return check_time(self._as_of) if self._as_of is not None else now_in(self.database)

    @property
    def database(self) -> Database:
        """The open EHR. Raises DatabaseError, PluginError for a backend that is not installed, or
        UsageError when none was named."""
        return self.parts.database.get()

    @property
    def linker(self) -> Linker:
        """The linker over this database's own values."""
        return self.parts.linker.get()

    @property
    def model(self) -> Text2Sql:
        """The text-to-SQL model. Raises PluginError or ModelError."""
        return self.parts.model.get()

    @property
    def second(self) -> Second | None:
        """The second opinion; None when it is not wanted or not installed."""
        return self.parts.second.get()

    @property
    def third(self) -> ThirdOpinion:
        """The third opinion of --careful. Raises ModelError, with how to pull it."""
        return self.parts.third.get()

    @property
    def reason_model(self) -> ReasonModel | None:
        """What words a refusal; None when it is not installed."""
        return self.parts.reason_model.get()

    @property
    def notes(self) -> NoteDesk | None:
        """The notes beside this database with their reader; None when there are none.

        Raises DatabaseError for a damaged file, PluginError and ModelError for the reader.
        """
        return self.parts.notes.get()

    @property
    def note_router(self) -> NoteRouter:
        """What tells a question about notes by its words. Raises ModelError."""
        return self.parts.note_router.get()

    @property
    def graphs(self) -> ImageReader | None:
        """What was given, else the database's own tables of scene graphs, if it has them.

        Raises DatabaseError for a database or tables that cannot be read.
        """
        return self.parts.graphs.get()

    @property
    def films(self) -> Films:
        """What looks at image files of no study. Raises ImageError where nothing can, UsageError
        for a wrong vision model."""
        return self.parts.films.get()

    @property
    def _no_database(self) -> bool:
        """Was a database neither named nor given? Then films alone can be asked about."""
        return self.db is None and not self.parts.database.is_open

    @property
    def only_notes(self) -> bool:
        """Are there notes and no database?"""
        if self.db is None or self.db.exists() or self.parts.database.is_open:
            return False
        return self.notes is not None

    @property
    def thresholds(self) -> Thresholds:
        """Those calibrated on this database, else those stored with the model, else the defaults.

        Raises UsageError for a broken file.
        """
        return self.parts.thresholds.get()

    @property
    def active_thresholds(self) -> Thresholds:
        """Those in force: without a second opinion, the ones chosen without it."""
        fast = self.thresholds.fast
        return fast if fast is not None and self.second is None else self.thresholds

    @property
    def goal(self) -> str:
        """What answers have to be sure enough for: as given, else that of the thresholds that were
        given or calibrated on this database, else the default."""
        return self.parts.goal.get()

    @property
    def least_sure(self) -> float:
        """The measured probability from which a reader's answer is given, 0 to 1."""
        given = self.parts.thresholds.open
        return 0.0 if given is not None and given.limit is None else least_sure(self.goal)

    @property
    def model_hash(self) -> str | None:
        """The SHA-256 of the text-to-SQL model's file, as it tells."""
        return self.model.provenance().get("sha256")

    @property
    def as_of(self) -> str:
        """The time that stands for now: as given, else what the database says."""
        return self.parts.as_of.get()

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what an answer depends on."""
        return parts.versions()

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
        _ = (self.database, self.linker, self.model, self.thresholds, self.second, self.as_of)
        if self.mode is Mode.CAREFUL:
            _ = self.third

    def record(self, answer: Answer) -> str | None:
        """Write the answer to the answer log if it is on; returns what went wrong, or None."""
        log = self.parts.answer_log.get()
        if log is None:
            return None
        try:
            log.add(answer)
        except EhrqaError as error:
            return str(error)  # an answer that cannot be logged is still an answer
        return None

    def cancel(self) -> None:
        """End the running ``ask`` from another thread; it raises Cancelled there.

        For the thread that asked: it is forgotten when that ``ask`` has ended.
        """
        self.cancelled.set()
        for part in self._running():
            part.tell("cancel")

    def resume(self) -> None:
        """Forget a ``cancel``: what it was meant for has ended."""
        self.cancelled.clear()
        self.parts.model.tell("resume")

    def close(self) -> None:
        """Close the database and the models; a second call does nothing."""
        if self._pool is not None:
            self._pool.close()
        for part in self._running():
            part.close()

    def _running(self) -> tuple[Opened[Any], ...]:
        """What may be at work for long, and holds what has to be given back."""
        return self.parts.database, self.parts.model, self.parts.third, self.parts.notes
