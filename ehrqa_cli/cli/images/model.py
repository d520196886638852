"""``ehrqa images index`` and ``ehrqa images predict``: the vision model over many images."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from ehrqa_cli.cli import diagnostics, interrupt, output
from ehrqa_cli.cli.image_options import image_folders, images_option, vision_option, wanted
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, open_database
from ehrqa_cli.contracts.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ehrqa_cli.contracts.images import SceneGraph
    from ehrqa_cli.vqa.model.choose import Wanted
    from ehrqa_cli.vqa.model.source import ModelGraphs

_AT_ONCE = 2048  # studies whose kept graphs are looked up together
_LISTED = 20  # failures listed one by one

workers_option = click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Threads that decode images [default: the physical cores].",
)


@dataclass
class Summary:
    """How the studies ended: graphs read now, kept from before, failed (study: why), without an
    image."""

    read: int = 0
    cached: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)

    def add(self, studies: list[int], graphs: Mapping[int, SceneGraph]) -> None:
        """Count some studies."""
        for study in studies:
            graph = graphs.get(study)
            if graph is None:
                self.missing.append(study)
            elif graph.problem:
                self.failed[study] = graph.problem
            elif graph.cached:
                self.cached += 1
            else:
                self.read += 1


@click.command(short_help="Read the registered images once, and keep their scene graphs.")
@db_option
@images_option
@vision_option
@workers_option
@json_option
def index(
    db: Path | None, images: Path | None, vision: str | None, workers: int | None, as_json: bool
) -> int:
    """Compute the scene graph of every study in the database and keep it beside the database.

    Graphs are kept by image and model, so a second run reads only what is new, changed or could
    not be read before; an interrupted run is taken up where it stopped.

    \b
    Examples:
      ehrqa images index --db ehr.sqlite
      ehrqa images index --db ehr.sqlite --images mimic-cxr --workers 4

    \b
    Exit codes: 0 all studies have a graph, 1 some have none, 2 usage or configuration.
    """
    path = database_path(db)
    folders = _folders(path, images)
    started = time.monotonic()
    with diagnostics.progress("rate") as advance:
        bar = _Bar(advance)
        source = _source(
            wanted(vision, db=path, images=folders, workers=workers, on_image=bar.on_image)
        )
        try:
            summary = _indexed(source, path, bar)
        finally:
            source.close()
    _report(summary, time.monotonic() - started, as_json)
    return int(bool(summary.failed or summary.missing))


class _Bar:
    """Progress over studies, from that over the images of a part of them."""

    def __init__(self, advance: diagnostics.Advance) -> None:
        self._advance = advance
        self.total = 0
        self.done = 0

    def on_image(self, done: int, new: int) -> None:
        """``done`` of the ``new`` images of this part have been looked at."""
        interrupt.check()
        self._advance(min(self.done + done, self.total), self.total, "studies")

    def part(self, studies: int) -> None:
        """A part is finished."""
        self.done += studies
        self._advance(self.done, self.total, "studies")


def _indexed(source: ModelGraphs, db: Path, bar: _Bar) -> Summary:
    from ehrqa_cli.vqa.model.studies import all_studies

    database = open_database(db)
    try:
        studies = all_studies(database)
    finally:
        database.close()
    if not studies:
        raise UsageError(
            f"{db} has no chest X-rays (tb_cxr)", "register them with `ehrqa images add DIR --db`"
        )
    source.retry = True
    summary, bar.total = Summary(), len(studies)
    for start in range(0, len(studies), _AT_ONCE):
        part = studies[start : start + _AT_ONCE]
        summary.add(part, source.read(part))
        bar.part(len(part))
    return summary


def _report(summary: Summary, seconds: float, as_json: bool) -> None:
    rate = f" at {summary.read / seconds:.1f}/s" if summary.read and seconds > 0 else ""
    diagnostics.note(
        f"{summary.read:,} read{rate}, {summary.cached:,} kept from before, "
        f"{len(summary.failed):,} failed, {len(summary.missing):,} without an image"
    )
    for study, why in list(summary.failed.items())[:_LISTED]:
        diagnostics.warn(f"the image of study {study} {why}")
    if len(summary.failed) > _LISTED:
        diagnostics.warn(f"and {len(summary.failed) - _LISTED:,} more failed")
    if summary.missing:
        shown = ", ".join(map(str, summary.missing[:_LISTED]))
        more = " ..." if len(summary.missing) > _LISTED else ""
        diagnostics.warn(f"there is no image of these studies: {shown}{more}")
    if as_json:
        output.json_line(
            {
                "read": summary.read,
                "cached": summary.cached,
                "failed": {str(study): why for study, why in summary.failed.items()},
                "missing": summary.missing,
            }
        )


@click.command(short_help="Write what the vision model sees of each image of a folder.")
@click.argument("folder", type=FILE, metavar="DIR")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="The JSON Lines to write.")
@click.option("--masks", type=FILE, metavar="DIR", help="Write heart and lung masks below this.")
@vision_option
@workers_option
def predict(
    folder: Path, out: Path, masks: Path | None, vision: str | None, workers: int | None
) -> int:
    """Look at every image below the folder DIR and write one JSON object each, sorted by file.

    Fields: file, findings, view, sex, ctr (cardiothoracic ratio), mtr, relations and
    in_distribution; of a file that cannot be read, error. What is no image is skipped, and named on
    stderr. No database is needed. FILE appears when it is whole. Not for clinical use.

    \b
    Examples:
      ehrqa images predict films --out seen.jsonl
      ehrqa images predict films --out seen.jsonl --masks masks --vision my-model/card.json

    \b
    Exit codes: 0 all images read, 1 some could not be, 2 usage or configuration.
    """
    from ehrqa_cli.vqa.model import predict as predicting

    source = _source(wanted(vision))
    listed = predicting.images_in(folder)
    paths = listed.images
    _warn_skipped(listed.skipped)
    made = predicting.predictions(source.model, folder, paths, masks=masks, workers=workers)
    failed = 0
    started = time.monotonic()
    with _written(out) as file, diagnostics.progress("rate") as advance:
        for done, record in enumerate(made, start=1):
            interrupt.check()
            if "error" in record:
                failed += 1
                if failed <= _LISTED:
                    diagnostics.warn(str(record["error"]))
            file.write(output.to_json(record) + "\n")
            advance(done, len(paths), "images")
    rate = len(paths) / max(time.monotonic() - started, 1e-9)
    if failed > _LISTED:
        diagnostics.warn(f"and {failed - _LISTED:,} more could not be read")
    diagnostics.note(
        f"{out}: {len(paths) - failed:,} images at {rate:.1f}/s, {failed:,} failed, "
        f"{len(listed.skipped):,} skipped"
    )
    return int(failed > 0)


def _warn_skipped(skipped: Sequence[tuple[str, str]]) -> None:
    for name, why in skipped[:_LISTED]:
        diagnostics.warn(f"skipped {name}: {why}")
    if len(skipped) > _LISTED:
        counted = Counter(why for _, why in skipped).most_common()
        kinds = ", ".join(f"{count:,} ({why})" for why, count in counted)
        diagnostics.warn(f"and {len(skipped) - _LISTED:,} more were skipped: in all {kinds}")


@contextmanager
def _written(path: Path) -> Iterator[TextIO]:
    """A text file that takes its name when all is written, and is gone when that fails."""
    partial = path.with_name(path.name + ".part")
    try:
        file = partial.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "name another --out") from None
    try:
        with file:
            yield file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _folders(db: Path, images: Path | None) -> tuple[Path, ...]:
    found = image_folders(db, images)
    if not found:
        raise UsageError("no folder of images is known", "name it with --images DIR")
    if not any(folder.is_dir() for folder in found):
        raise UsageError(f"there is no image folder {found[0]}", "name another with --images DIR")
    return found


def _source(choice: Wanted) -> ModelGraphs:
    from ehrqa_cli.vqa.model import choose

    source = choose.model_graphs(choice)
    if source is None:
        raise ModelError(
            "there is no vision model here",
            "restore it with `git checkout models`, or name one with --vision CARD",
        )
    return source
