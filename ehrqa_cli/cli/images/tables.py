"""``ehrqa images tables``: scene graphs as tables of the EHR, so that questions are joins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ehrqa_cli.cli import diagnostics, interrupt, output
from ehrqa_cli.cli.image_options import (
    images_option,
    read_graphs,
    scene_graphs_option,
    vision_option,
)
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, open_database
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.contracts.plugins import Database
    from ehrqa_cli.vqa import Vqa
    from ehrqa_cli.vqa.tables.rows import Graphs

_LISTED = 20


@click.command(short_help="Write scene graphs as tables, so that questions about images are joins.")
@db_option
@scene_graphs_option
@images_option
@vision_option
@click.option(
    "--out",
    type=FILE,
    metavar="DIR",
    help="Write files into this folder [default: into the EHR itself, which must be SQLite].",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
    help="The kind of files in --out.",
)
@json_option
def tables(
    db: Path | None,
    scene_graphs: Path | None,
    images: Path | None,
    vision: str | None,
    out: Path | None,
    kind: str,
    as_json: bool,
) -> int:
    """Write what the images of the EHR show into its tables cxr_source, d_cxr_relations,
    cxr_studies and cxr_relations: from a folder of labels, else from what the vision model sees
    (images that `ehrqa images index` has read are not read again).

    A database with these tables answers questions about images by itself, on every backend. Files
    written with --out belong beside the files of the other tables. Writing again replaces all.

    \b
    Examples:
      ehrqa images tables --db ehr.sqlite
      ehrqa images tables --db ehr.sqlite --scene-graphs labels
      ehrqa images tables --db warehouse --scene-graphs labels --out warehouse

    \b
    Exit codes: 0 done, 1 an error, or no study has a scene graph, 2 usage.
    """
    path = database_path(db)
    _check(path, out)
    vqa = read_graphs(scene_graphs, db=path, images=images, vision=vision, tables=False)
    if vqa is None:
        raise UsageError(
            "there are no images to write tables of",
            "name their folder with --images DIR, or labels with --scene-graphs DIR",
        )
    database = open_database(path)
    try:
        studies = _studies(database)
    finally:
        database.close()
    started = time.monotonic()
    graphs, files = _write(vqa, studies, path, out, kind)
    _report(graphs, files, time.monotonic() - started, as_json)
    return 0 if graphs.written else 1


def _check(db: Path, out: Path | None) -> None:
    from ehrqa_cli.ehr.open import SQLITE, backend_of

    if out is None and backend_of(db)[0] != SQLITE:
        raise UsageError(
            f"{db} is no SQLite file, and others are only read",
            "name a folder for the tables' files with --out DIR",
        )


def _studies(database: Database) -> list[int]:
    from ehrqa_cli.vqa.model.studies import all_studies

    studies = all_studies(database)
    if not studies:
        raise UsageError(
            "the database has no chest X-rays (tb_cxr)",
            "register them with `ehrqa images add DIR --db`",
        )
    return studies


def _write(
    vqa: Vqa, studies: Sequence[int], db: Path, out: Path | None, kind: str
) -> tuple[Graphs, list[Path]]:
    from ehrqa_cli.vqa.tables.rows import Graphs
    from ehrqa_cli.vqa.tables.write import into_folder, into_sqlite

    with diagnostics.progress("rate") as advance:

        def progress(done: int, of: int) -> None:
            interrupt.check()
            advance(done, of, "studies")

        graphs = Graphs(vqa.source, vqa.thresholds, studies, progress)
        if out is not None:
            return graphs, into_folder(out, graphs, kind)
        into_sqlite(db, graphs)
        return graphs, [db]


def _report(graphs: Graphs, files: Sequence[Path], seconds: float, as_json: bool) -> None:
    if graphs.problems:
        diagnostics.warn(f"{graphs.problems:,} images say nothing: cannot be read, or not frontal")
    if graphs.missing:
        shown = ", ".join(map(str, graphs.missing[:_LISTED]))
        more = " ..." if len(graphs.missing) > _LISTED else ""
        diagnostics.warn(f"there is no image or label of these studies: {shown}{more}")
    diagnostics.note(f"took {seconds:.1f} s")
    if as_json:
        output.json_line(
            {
                "files": [str(file) for file in files],
                "studies": graphs.written,
                "relations": graphs.relations,
                "problems": graphs.problems,
                "missing": graphs.missing,
            }
        )
        return
    output.line(
        f"{files[0].parent if len(files) > 1 else files[0]}: {graphs.written:,} studies, "
        f"{graphs.relations:,} relations"
    )
