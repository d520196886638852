"""Options that name X-rays, or labels in place of them, and the reader that they make."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ehrqa_cli.cli.options import FILE, open_database
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.contracts.plugins import Database
    from ehrqa_cli.vqa import Vqa
    from ehrqa_cli.vqa.model.choose import Wanted

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


def labels(given: Path | None, images: Path | None, vision: str | None) -> Path | None:
    """The folder of --scene-graphs or of the settings; no settings where a flag names images."""
    from ehrqa_cli import config

    if given is not None or images is not None or vision is not None:
        return given
    return config.load().scene_graphs
