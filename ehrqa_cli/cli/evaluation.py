"""``ehrqa eval``: measure ehrqa on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, eval_images, eval_notes, output
from ehrqa_cli.cli.eval_abstention import abstention
from ehrqa_cli.cli.eval_compare import compare
from ehrqa_cli.cli.eval_list import list_benchmarks
from ehrqa_cli.cli.eval_plugged import Benchmarks
from ehrqa_cli.cli.eval_report import check_html, html_option, write_html
from ehrqa_cli.cli.eval_spider import spider
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option


@click.group(name="eval", cls=Benchmarks, short_help="Measure ehrqa on a benchmark.")
def evaluation() -> None:
    """Measure ehrqa on a benchmark's questions.

    \b
    Examples:
      ehrqa eval list
      ehrqa eval ehrsql --data ehrsql-2024 --split valid --db mimic_iv.sqlite
    """


@evaluation.command()
@click.option("--data", type=FILE, required=True, metavar="DIR", help="The benchmark's folder.")
@click.option("--split", default="valid", show_default=True, help="Its split.")
@db_option
@click.option("--out", type=FILE, metavar="DIR", help="Write answers and scores here; resumes.")
@click.option("--predictions", type=FILE, metavar="FILE", help="Score these instead of asking.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Take only about N questions, spread evenly."
)
@click.option("--model", metavar="NAME", help="The text-to-SQL model [default: local].")
@html_option
@json_option
def ehrsql(**flags: Any) -> int:
    """EHRSQL: answer every question, score them as the shared task did, print the table.

    \b
    Examples:
      ehrqa eval ehrsql --data ehrsql-2024 --split valid --db mimic_iv.sqlite --out run1
      ehrqa eval ehrsql --data ehrsql-2024 --predictions p.json --db mimic_iv.sqlite --json
    """
    from ehrqa_cli import config
    from ehrqa_cli.evaluate.ehrsql import run_ehrsql

    check_html(flags)
    settings = config.load()
    db: Path = database_path(flags["db"], settings)
    with diagnostics.progress() as advance:
        report = run_ehrsql(
            flags["data"],
            flags["split"],
            db,
            out=flags["out"],
            predictions=flags["predictions"],
            limit=flags["limit"],
            model=flags["model"] or settings.model,
            progress=lambda done, total: advance(done, total, "questions"),
        )
    if flags["as_json"]:
        output.json_line(report.as_dict())
    else:
        output.write(report.as_table().rstrip("\n") + "\n")
    if flags["out"]:
        _draw(flags["out"], report.header)
    write_html(flags, report.lines())
    return 0


def _draw(out: Path, header: dict[str, Any]) -> None:
    from ehrqa_cli.engine.parts import shipped_thresholds
    from ehrqa_cli.evaluate import plots
    from ehrqa_cli.evaluate.abstention import signals
    from ehrqa_cli.evaluate.ehrsql import RECORDS
    from ehrqa_cli.evaluate.records import read_records

    if not plots.available():
        diagnostics.note(f"no plots: {plots.HOW_TO_GET_IT}")
        return
    title = f"{header['dataset']} {header['version']} ({header['dataset_sha256'][:12]})"
    records = read_records(out / RECORDS)
    stored = shipped_thresholds()
    in_force = signals.in_force(stored, records) if stored else None
    for path in plots.draw_run(records, out, title, in_force):
        diagnostics.note(f"drawn: {path}")


for _command in (list_benchmarks, compare, abstention, spider):
    evaluation.add_command(_command)
for _command in (*eval_images.COMMANDS, *eval_notes.COMMANDS):
    evaluation.add_command(_command)
