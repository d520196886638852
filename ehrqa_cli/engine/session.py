"""What stays warm between questions: the database, the linker, the model, the thresholds."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.plugins import Database, Text2Sql
from ehrqa_cli.contracts.types import Answer, Limits, LinkedQuestion, Scope
from ehrqa_cli.engine.confidence import Thresholds

if TYPE_CHECKING:
    from ehrqa_cli.store import AnswerLog

THRESHOLDS_FILE = "text2sql/thresholds.json"
_TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")


class Linker(Protocol):
    """What the engine needs of text2sql.linking.Linker."""

    def link(
        self, question: str, *, patient_id: int | None = None, study_id: int | None = None
    ) -> LinkedQuestion:
        """Tie spans of the question to values of the database."""


class Session:
    """Everything that ``ask`` needs, opened at first use and closed together.

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
        **parts: Any,
    ) -> None:
        """``model`` is a plugin's name or a ready one; ``parts`` are a ready ``database``,
        ``linker`` or ``thresholds``."""
        self.db = db
        self.model_name = model if isinstance(model, str) else model.name
        if not isinstance(model, str):
            parts["model"] = model
        self.scope = scope
        self.limits = limits or Limits()
        self.log = log
        self._as_of = as_of
        # cached_property looks here first, so a given part is never built.
        self.__dict__.update({name: part for name, part in parts.items() if part is not None})

    @cached_property
    def database(self) -> Database:
        """The open EHR. Raises DatabaseError, or UsageError when no file was named."""
        from ehrqa_cli.ehr.sqlite_backend import SqliteDatabase

        if self.db is None:
            raise UsageError("no database was named", "say which with --db FILE")
        return SqliteDatabase.open(self.db)

    @cached_property
    def linker(self) -> Linker:
        """The linker over this database's own values."""
        from ehrqa_cli.ehr.value_index import ValueIndex
        from ehrqa_cli.text2sql.linking import Linker as RealLinker

        return RealLinker(ValueIndex.build(self.database))

    @cached_property
    def model(self) -> Text2Sql:
        """The text-to-SQL model. Raises PluginError or ModelError."""
        from ehrqa_cli import registry

        plugin = registry.load(registry.TEXT2SQL, self.model_name, Text2Sql)  # type: ignore[type-abstract]
        # A plugin is made without arguments; one that asks for a path gets the shipped model.
        made: Callable[..., Text2Sql] = plugin
        return made(shipped_model()) if "path" in signature(made).parameters else made()

    @cached_property
    def thresholds(self) -> Thresholds:
        """Those stored with the model, else the defaults. Raises UsageError for a broken file."""
        from ehrqa_cli import modelstore

        path = modelstore.models_root() / THRESHOLDS_FILE
        return Thresholds.load(path) if path.is_file() else Thresholds()

    @cached_property
    def as_of(self) -> str:
        """The time that stands for now: as given, else what the database says."""
        if self._as_of is not None:
            return check_time(self._as_of)
        default: Callable[[], str] | None = getattr(self.database, "default_as_of", None)
        if default is None:
            raise UsageError("this database does not say when it ends", "name a time with --as-of")
        return default()

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of what an answer depends on."""
        import sqlite3

        out = {"sqlite": sqlite3.sqlite_version}
        for key, package in (("ehrqa", "ehrqa_cli"), ("llama-cpp-python", "llama-cpp-python")):
            try:
                out[key] = version(package)
            except PackageNotFoundError:
                out[key] = "not installed"
        return out

    @cached_property
    def answer_log(self) -> AnswerLog | None:
        """The answer log, None when it is off here or in the settings, which are read once."""
        if not self.log:
            return None
        from ehrqa_cli import config
        from ehrqa_cli.store import AnswerLog

        settings = config.load()
        return AnswerLog(settings.log_path()) if settings.log else None

    def warm(self) -> None:
        """Open everything now instead of at the first question."""
        _ = (self.database, self.linker, self.model, self.thresholds, self.as_of)

    def record(self, answer: Answer) -> str | None:
        """Write the answer to the answer log if it is on; returns what went wrong, or None."""
        if self.answer_log is None:
            return None
        try:
            self.answer_log.add(answer)
        except EhrqaError as error:
            return str(error)  # an answer that cannot be logged is still an answer
        return None

    def close(self) -> None:
        """Close the database and the model; a second call does nothing."""
        for name in ("database", "model"):
            close = getattr(self.__dict__.pop(name, None), "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def shipped_model() -> Path:
    """The model file named by the manifest under models/text2sql. Raises ModelError."""
    from ehrqa_cli import modelstore

    return modelstore.shipped_in("text2sql").path


def open_session(
    db: Path,
    *,
    model: str = "local",
    as_of: str | None = None,
    log: bool = True,
    scope: Scope | None = None,
    thresholds: Thresholds | Path | None = None,
) -> Session:
    """A session over the EHR in ``db``; nothing is opened before it is needed.

    ``as_of`` is YYYY-MM-DD, with HH:MM or HH:MM:SS if wanted, or ``now`` for the wall clock.
    Raises UsageError for a wrong time or thresholds file.
    """
    if as_of is not None:
        as_of = check_time(as_of)
    if isinstance(thresholds, Path):
        thresholds = Thresholds.load(thresholds)
    return Session(db, model=model, as_of=as_of, log=log, scope=scope, thresholds=thresholds)


def check_time(text: str) -> str:
    """``text`` as YYYY-MM-DD HH:MM:SS; a date alone means its last minute, as EHRSQL has it."""
    plain = text.strip().replace("T", " ")
    if plain == "now":
        return datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    found = _TIME.fullmatch(plain)
    full = plain + (" 23:59:00" if len(plain) == 10 else ":00" if len(plain) == 16 else "")
    try:
        if not found:
            raise ValueError
        datetime.strptime(full, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise UsageError(
            f"'{text[:40]}' is not a time", "write it as 2100-12-31 or 2100-12-31 23:59:00, or now"
        ) from None
    return full
