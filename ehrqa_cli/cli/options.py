"""Options that several commands share, and what they mean together with the settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ehrqa_cli.cli.profile import profile_option
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Scope

if TYPE_CHECKING:
    from ehrqa_cli.config import Resolved, Settings
    from ehrqa_cli.contracts.plugins import Database
    from ehrqa_cli.engine import Mode, Session
    from ehrqa_cli.vqa import Vqa
    from ehrqa_cli.vqa.model.choose import Wanted

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
TARGET = click.Path(path_type=str)  # as it is written: a Path would make one of two slashes


def as_path(
    context: click.Context | None, option: click.Parameter | None, value: str | Path | None
) -> Path | None:
    """A callback for what names a database: the file or folder by whose path all that belongs to
    it is kept, without the backend's name before it (``duckdb:FILE``), and for a server the file
    that stands for it. Raises DatabaseError, and UsageError for a password in an address."""
    del context, option
    from ehrqa_cli.ehr.open import path_of

    return None if value is None else path_of(str(value))


_db_option = click.option(
    "--db",
    type=TARGET,
    callback=as_path,
    metavar="TARGET",
    help="The EHR: a SQLite or DuckDB file, a folder of Parquet or CSV files, or the address of "
    "a server [default: EHRQA_DB, or db in the settings file].",
)


def db_option(command: Command) -> Command:
    """Add ``--db``, and ``--profile``, which may name the database instead."""
    return _db_option(profile_option(command))


as_of_option = click.option(
    "--as-of",
    metavar="TIME",
    help="What 'now' means: a time, a date (its 23:59:00), or now [default: the database's].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


scene_graphs_option = click.option(
    "--scene-graphs",
    type=FILE,
    metavar="DIR",
    help="Read images from this folder of labels (scene_graph.tsv.gz, studies.tsv).",
)


images_option = click.option(
    "--images",
    type=FILE,
    metavar="DIR",
    help="The folder of chest X-rays [default: EHRQA_IMAGES, or as registered in the database].",
)
vision_option = click.option(
    "--vision",
    metavar="NAME|CARD",
    help="The vision model, by name or by its card.json [default: EHRQA_VISION, or the shipped].",
)


def read_graphs(
    folder: Path | None,
    *,
    db: Path | None = None,
    images: Path | None = None,
    vision: str | None = None,
    tables: bool = True,
    films: bool = False,
) -> Vqa | None:
    """A reader of images, closed with the command: of a folder of labels, else of the images that
    --images, the settings or the database name. None without any, and (with ``tables``) where
    nobody named one and the database itself has scene graphs as tables. With ``films`` a vision
    model needs no folder: the questions name files. Raises UsageError."""
    if folder is not None:
        from ehrqa_cli.vqa import OracleGraphs, Vqa

        return Vqa(OracleGraphs.open(folder))
    folders = image_folders(db, images)
    if not folders:
        if vision is not None and not films:
            raise UsageError("--vision needs images to look at", "name their folder with --images")
        return None
    if tables and images is None and vision is None and _has_graphs(db):
        return None
    from ehrqa_cli.vqa.model import choose

    return _closed(choose.reader(wanted(vision, db=db, images=folders)))


def wanted(
    vision: str | None,
    *,
    db: Path | None = None,
    images: tuple[Path, ...] = (),
    workers: int | None = None,
    on_image: Callable[[int, int], None] | None = None,
) -> Wanted:
    """What a reader of images is to be made of, with the settings for what is not given."""
    from ehrqa_cli import config
    from ehrqa_cli.cli import diagnostics
    from ehrqa_cli.vqa.model.choose import Wanted

    settings = config.load()
    if on_image is None:
        reading = _Reading()
        on_image = reading.on_image
        if context := click.get_current_context(silent=True):
            context.call_on_close(reading.close)
    return Wanted(
        vision=vision or settings.vision,
        pulled=settings.models_dir(),
        images=images,
        db=db,
        database=lambda: open_database(db) if db else None,
        workers=workers,
        on_image=on_image,
        warn=diagnostics.warn,
    )


class _Reading:
    """A progress bar for images that a question has to wait for; none for a few."""

    few = 32

    def __init__(self) -> None:
        self._bar = ExitStack()
        self._advance: Callable[[int, int | None, str], None] | None = None

    def on_image(self, done: int, total: int) -> None:
        """``done`` of ``total`` images have been read."""
        from ehrqa_cli.cli import diagnostics

        if total <= self.few:
            return
        if self._advance is None:
            self._advance = self._bar.enter_context(diagnostics.progress("rate"))
        self._advance(done, total, "reading images")
        if done >= total:
            self.close()

    def close(self) -> None:
        """Take the bar away; it comes again when there is more to read."""
        self._bar.close()
        self._advance = None


def image_folders(db: Path | None, given: Path | None) -> tuple[Path, ...]:
    """The folder of --images, else those registered in the database, the last one first, and that
    of the settings. Raises UsageError when --images is none."""
    from ehrqa_cli import config

    if given is not None:
        if not given.is_dir():
            raise UsageError(f"there is no image folder {given}", "check --images")
        return (given.absolute(),)
    set_ = config.load().images
    found = [*_registered(db), *([set_] if set_ else [])]
    return tuple(dict.fromkeys(folder.absolute() for folder in found))


def _registered(db: Path | None) -> tuple[Path, ...]:
    """The folders that ``ehrqa images add`` wrote into the database."""
    if db is None or not db.exists():  # a database that is missing is the engine's to tell
        return ()
    from ehrqa_cli.vqa.register import image_roots

    return tuple(reversed(image_roots(db)))


def _has_graphs(db: Path | None) -> bool:
    """Has the EHR scene graphs as tables, where it also names folders of images? Only SQLite
    files do; and the settings, which win, name none."""
    from ehrqa_cli import config
    from ehrqa_cli.ehr.open import SQLITE, backend_of, open_database

    if db is None or not db.exists() or config.load().images or backend_of(db)[0] != SQLITE:
        return False
    opened = open_database(db)
    try:
        return tables_of(opened, None, None) is not None
    finally:
        opened.close()


def tables_of(database: Database, folder: Path | None, images: Path | None) -> Vqa | None:
    """A reader over the database's own tables of scene graphs, where nothing else is named."""
    from ehrqa_cli.ehr.schema import has_graphs

    if folder is not None or images is not None or not has_graphs(database.schema()):
        return None
    from ehrqa_cli.vqa.tables import reader_of

    return reader_of(database)


def _closed(vqa: Vqa | None) -> Vqa | None:
    """The same, closed when the running command ends."""
    context = click.get_current_context(silent=True)
    if vqa is not None and context is not None:
        context.call_on_close(vqa.close)
    return vqa


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
            click.option("--fast", is_flag=True, help="Ask no second opinion of the question."),
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
    fast, careful = flags.pop("fast"), flags.pop("careful")
    if fast and careful:
        raise UsageError("--fast and --careful exclude each other", "leave one of them out")
    images, vision = flags.pop("images"), flags.pop("vision")
    return {
        "as_of": _or_set(flags.pop("as_of"), resolved, "as_of", check_time),
        "patient": flags.pop("patient"),
        "scope": Scope(scope) if scope else None,
        "model": flags.pop("model") or settings.model,
        "log": settings.log and not flags.pop("no_log"),
        "mode": Mode.FAST if fast else Mode.CAREFUL if careful else Mode.NORMAL,
        "goal": _or_set(flags.pop("goal"), resolved, "goal", goal_key),
        "thresholds": _or_set(flags.pop("thresholds"), resolved, "thresholds", Thresholds.load),
        "scene_graphs": labels(flags.pop("scene_graphs"), images, vision),
        "images": images,
        "vision": vision,
        "reader": flags.pop("reader") or settings.reader,
    }


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


def labels(given: Path | None, images: Path | None, vision: str | None) -> Path | None:
    """The folder of --scene-graphs or of the settings; no settings where a flag names images."""
    from ehrqa_cli import config

    if given is not None or images is not None or vision is not None:
        return given
    return config.load().scene_graphs


def database_path(given: Path | None, settings: Settings | None = None) -> Path:
    """The database of --db or of the settings. Raises UsageError without one."""
    path = database_named(given, settings)
    if path is None:
        raise UsageError(
            "no database given",
            "add --db FILE, or build one with `ehrqa db demo --out demo.sqlite`",
        )
    return path


def database_named(given: Path | None, settings: Settings | None = None) -> Path | None:
    """The database of --db or of the settings; None without one. Raises UsageError for a wrong
    address."""
    from ehrqa_cli import config

    return given or as_path(None, None, (settings or config.load()).db)


def target_of(path: Path) -> str:
    """What the user calls the database at ``path``: a server's address, else the path."""
    from ehrqa_cli.ehr.open import address_of

    return str(address_of(path))


def open_database(path: Path) -> Database:
    """Open the EHR at ``path`` (or what else --db names) for reading. Raises DatabaseError, or
    PluginError for a backend that is not installed."""
    from ehrqa_cli.ehr import open as door

    return door.open_database(path)
