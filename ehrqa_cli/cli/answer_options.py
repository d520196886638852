"""Options of the commands that answer questions, and what they mean with the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli.image_options import (
    image_folders,
    images_option,
    labels,
    read_graphs,
    scene_graphs_option,
    vision_option,
)
from ehrqa_cli.cli.options import (
    FILE,
    Command,
    as_of_option,
    concepts_option,
    database_named,
    database_path,
    db_option,
)
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Scope

if TYPE_CHECKING:
    from ehrqa_cli.config import Resolved
    from ehrqa_cli.engine import Mode, Session


@dataclass(frozen=True)
class BatchOptions:
    """The options of batch, as given or from the settings. Without ``db`` the questions have to
    name films; ``films``: the first one does."""

    db: Path | None
    as_of: str | None
    patient: int | None
    scope: Scope | None
    model: str
    log: bool
    mode: Mode
    goal: str | None
    thresholds: Path | None
    scene_graphs: Path | None
    images: Path | None = None
    vision: str | None = None
    reader: str = "embedded"
    films: bool = False
    concepts: tuple[Path, ...] = ()
    tentative: bool = False
    taught: bool = True

    def session(self) -> Session:
        """Open the session these options ask for; use it as a context manager."""
        from ehrqa_cli.engine import open_session

        session = open_session(
            self.db,
            model=self.model,
            as_of=self.as_of,
            log=self.log,
            scope=self.scope,
            thresholds=self.thresholds,
            mode=self.mode,
            goal=self.goal,
            reader=self.reader,
            vision=self.vision,
            concepts=self.concepts,
            tentative=self.tentative,
            taught=self.taught,
            graphs=read_graphs(
                self.scene_graphs,
                db=self.db,
                images=self.images,
                vision=self.vision,
                films=self.films,
            ),
        )
        if self.scene_graphs is None:
            session.image_folders = image_folders(self.db, self.images)
        return session


@dataclass(frozen=True)
class AnswerOptions(BatchOptions):
    """The options of ask: those of batch, and a database."""

    db: Path


def answer_options(command: Command) -> Command:
    """Add the options of ask and batch to ``command``; `read_answer_options` reads them."""
    for option in reversed(
        [
            db_option,
            as_of_option,
            click.option(
                "--patient",
                type=click.IntRange(min=0),
                metavar="ID",
                help="Ask about this patient where the question names none.",
            ),
            click.option(
                "--scope",
                type=click.Choice([scope.value for scope in Scope]),
                help="Answer from this part of the EHR [default: routed by the question].",
            ),
            click.option(
                "--model",
                metavar="NAME",
                help="The text-to-SQL model, by its plugin's name [default: local].",
            ),
            click.option(
                "--careful",
                is_flag=True,
                help="Also ask a larger model, which is slow and must have been pulled.",
            ),
            click.option(
                "--goal",
                metavar="GOAL",
                help="What to weigh: penalty=N (of a wrong answer) or precision=P [default: 10].",
            ),
            click.option(
                "--thresholds",
                type=FILE,
                metavar="FILE",
                help="Decide by this file [default: as calibrated, else the model's].",
            ),
            click.option(
                "--tentative",
                is_flag=True,
                help="Run a reading that is only doubted, and mark its answer as unverified.",
            ),
            concepts_option,
            scene_graphs_option,
            images_option,
            vision_option,
            click.option(
                "--reader",
                metavar="NAME|FILE",
                help="What reads notes: a plugin, a pulled model or a .gguf [default: embedded].",
            ),
            click.option("--no-log", is_flag=True, help="Keep this out of the answer log."),
        ]
    ):
        command = option(command)
    return command


def read_answer_options(flags: dict[str, Any]) -> AnswerOptions:
    """Take the options of `answer_options` out of ``flags``. Raises UsageError."""
    return AnswerOptions(db=database_path(flags.pop("db")), **_parts(flags))


def read_batch_options(flags: dict[str, Any], films: bool) -> BatchOptions:
    """The same of a batch, which needs no database where its first question names a film."""
    given = flags.pop("db")
    path = database_named(given) if films else database_path(given)
    return BatchOptions(db=path, films=films, **_parts(flags))


def _parts(flags: dict[str, Any]) -> dict[str, Any]:
    """All of the options but the database."""
    from ehrqa_cli import config
    from ehrqa_cli.engine import Mode
    from ehrqa_cli.engine.risk import Thresholds, goal_key
    from ehrqa_cli.engine.times import check_time

    resolved = config.resolve()
    settings = resolved.settings
    scope = flags.pop("scope")
    images, vision = flags.pop("images"), flags.pop("vision")
    return {
        "as_of": _or_set(flags.pop("as_of"), resolved, "as_of", check_time),
        "patient": flags.pop("patient"),
        "scope": Scope(scope) if scope else None,
        "model": flags.pop("model") or settings.model,
        "log": settings.log and not flags.pop("no_log"),
        "mode": Mode.CAREFUL if flags.pop("careful") else Mode.NORMAL,
        "goal": _or_set(flags.pop("goal"), resolved, "goal", goal_key),
        "thresholds": _or_set(flags.pop("thresholds"), resolved, "thresholds", Thresholds.load),
        "scene_graphs": labels(flags.pop("scene_graphs"), images, vision),
        "images": images,
        "vision": vision,
        "reader": flags.pop("reader") or settings.reader,
        "tentative": flags.pop("tentative"),
        "taught": settings.taught,
        "concepts": own_concepts(flags.pop("concepts"), resolved),
    }


def own_concepts(given: tuple[Path, ...], resolved: Resolved) -> tuple[Path, ...]:
    """The files of --concepts, else of the settings. Raises UsageError for one of these that cannot
    be read."""
    from ehrqa_cli.concepts.own import files_for

    found: tuple[Path, ...] = _or_set(
        given or None, resolved, "concepts", lambda paths: files_for(None, paths)
    )
    return found


def _or_set(given: Any, resolved: Resolved, name: str, check: Callable[[Any], object]) -> Any:
    """A flag, else the setting of its name; an error in that names the line it is on."""
    value = getattr(resolved.settings, name)
    if given is not None or value is None:
        return given
    try:
        check(value)
    except UsageError as error:
        raise resolved.blame(name, error) from None
    return value


def time_given(given: str | None) -> str | None:
    """The time of --as-of or of the settings, checked; None without one. Raises UsageError."""
    from ehrqa_cli import config
    from ehrqa_cli.engine.times import check_time

    time: str | None = _or_set(given, config.resolve(), "as_of", check_time)
    return None if time is None else check_time(time)
