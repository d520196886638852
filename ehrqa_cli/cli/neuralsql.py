"""``ehrqa neuralsql``: a NeuralSQL query of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.image_options import (
    images_option,
    labels,
    read_graphs,
    scene_graphs_option,
    tables_of,
    vision_option,
)
from ehrqa_cli.cli.options import database_path
from ehrqa_cli.cli.sql import query_options, run_query
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result

if TYPE_CHECKING:
    from ehrqa_cli.neuralsql import Execution


@click.command(short_help="Run a NeuralSQL query of your own.")
@click.argument("query", metavar="QUERY")
@query_options
@scene_graphs_option
@images_option
@vision_option
@click.option("--explain", is_flag=True, help="Say which images were read, and the SQL that ran.")
def neuralsql(
    query: str,
    scene_graphs: Path | None,
    images: Path | None,
    vision: str | None,
    explain: bool,
    **flags: Any,
) -> int:
    """Run a NeuralSQL QUERY ("-" reads it from standard input) on the EHR.

    NeuralSQL is SQL as the models write it: current_time means --as-of, the bounds of vital
    signs stand as names such as heart_rate_upper, and FUNC_VQA('question', study_id) asks about
    the chest X-ray of a study: 1 or 0, or one row for each finding or place.

    \b
    Examples:
      ehrqa neuralsql "SELECT count(*) FROM admissions
          WHERE admittime < datetime(current_time, '-1 year')" --db ehr.sqlite
      ehrqa neuralsql "SELECT count(DISTINCT subject_id) FROM tb_cxr
          WHERE FUNC_VQA('is there pneumonia?', study_id) = 1" --db ehr.sqlite \\
          --scene-graphs labels --explain

    \b
    Exit codes: 0 with rows, 1 refused, wrong, or ended by a limit, 2 usage.
    """
    from ehrqa_cli.neuralsql import execute

    db = database_path(flags["db"])
    folder = labels(scene_graphs, images, vision)
    named = read_graphs(folder, db=db, images=images, vision=vision)

    def run(text: str, database: Database, as_of: str, limits: Limits) -> Result:
        graphs = named or tables_of(database, folder, images)
        done = execute(text, database, as_of=as_of, limits=limits, graphs=graphs)
        if done.missing:
            shown = ", ".join(map(str, done.missing[:10]))
            diagnostics.warn(f"{len(done.missing)} studies have no image: {shown}")
            for study in done.missing[:10]:
                if graphs is not None and (why := graphs.problem(study)):
                    diagnostics.warn(f"the image of study {study} {why}")
        if explain:
            _explain(done)
        return done.result

    return run_query(query, flags, run)


def _explain(done: Execution) -> None:
    for number, step in enumerate(done.explain()["steps"], 1):
        diagnostics.note(
            f"{number}. {step['question']} [{step['program']}]: {step['studies']} studies, "
            f"{step['images_read']} images read in {step['batches']} batches, "
            f"{step['cache_hits']} from the cache"
        )
        if step["found_sql"]:
            diagnostics.note(f"   joined with: {step['found_sql']}")
        if step["studies_sql"]:
            diagnostics.note(f"   studies: {step['studies_sql']}")
    for name, seconds in done.seconds.items():
        diagnostics.note(f"{name}: {seconds:.3f} s")
    diagnostics.note(f"executed: {done.sql}")
