"""``ehrqa eval ehrsql``: EHRSQL of 2022 and of the 2024 shared task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.eval.report import check_html, html_option, write_html
from ehrqa_cli.cli.eval.systems import (
    data_option,
    fewshot_options,
    open_writer,
    run_options,
    seed_option,
    split_option,
    system_option,
    variant_of,
    workers_option,
)
from ehrqa_cli.cli.options import as_of_option, database_path, db_option, json_option
from ehrqa_cli.evaluate import systems


@click.command(short_help="Questions over tables, some without an answer.")
@data_option()
@split_option
@db_option
@as_of_option
@system_option(systems.EHRSQL)
@run_options
@click.option(
    "--model",
    metavar="NAME|FILE",
    help="The text-to-SQL model [default: local]; the GGUF file of a few-shot system.",
)
@fewshot_options
@seed_option
@workers_option
@html_option
@json_option
def ehrsql(**flags: Any) -> int:
    """EHRSQL: answer every question, score them as the shared task did, print the table. Reads the
    layout of 2024 (SPLIT/data.json, label.json) and that of 2022 (SPLIT.json).

    \b
    Examples:
      ehrqa eval ehrsql --data ehrsql-2024 --split valid --db mimic_iv.sqlite --out run1
      ehrqa eval ehrsql --data ehrsql-2024 --system p.json --db mimic_iv.sqlite --json
      ehrqa eval ehrsql --data EHRSQL/mimic_iii --db mimic_iii.sqlite --system gold
      ehrqa eval ehrsql --data ehrsql-2024 --db mimic_iv.sqlite --system fewshot-bm25 \\
          --model qwen2.5-coder-1.5b.gguf --shots 10 --limit 100
    """
    from ehrqa_cli import config
    from ehrqa_cli.evaluate.ehrsql import run_ehrsql
    from ehrqa_cli.evaluate.examples import sql_examples_for
    from ehrqa_cli.evaluate.fewshot import SQL

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.EHRSQL)
    settings = config.load()
    db: Path = database_path(flags["db"], settings)
    mode, thresholds = variant_of(chosen.name)
    writer = open_writer(
        flags,
        chosen,
        lambda: sql_examples_for(flags["data"], flags["split"], flags["examples"]),
        SQL,
    )
    with diagnostics.progress() as advance:
        report = run_ehrsql(
            flags["data"],
            flags["split"],
            db,
            chosen,
            writer=writer,
            model=settings.model if writer else flags["model"] or settings.model,
            mode=mode,
            thresholds=thresholds,
            progress=lambda done, total: advance(done, total, "questions"),
            **{name: flags[name] for name in ("out", "limit", "as_of", "seed", "workers")},
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
    from ehrqa_cli.evaluate.journal import RECORDS
    from ehrqa_cli.evaluate.records import read_records

    if not plots.available():
        diagnostics.note(f"no plots: {plots.HOW_TO_GET_IT}")
        return
    title = f"{header['dataset']} {header['version']} ({header['dataset_sha256'][:12]})"
    records = read_records(out / RECORDS)
    for path in plots.draw_run(records, out, title, shipped_thresholds()):
        diagnostics.note(f"drawn: {path}")
