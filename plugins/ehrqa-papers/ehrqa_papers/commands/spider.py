"""``ehrqa eval spider``: the four measures of Spider for any SQL predictions."""

from __future__ import annotations

from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.added import ListedCommand
from ehrqa_cli.cli.eval.report import check_html, html_option, write_report_html
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.evaluate.catalogue import Benchmark
from ehrqa_cli.evaluate.systems import choose
from ehrqa_papers.systems import SPIDER

_LISTED = Benchmark(
    "spider",
    "Yu et al. 2018: any SQL predictions; hardness, partial and exact matching, execution",
    "Yu et al. 2018, arXiv:1809.08887",
    (
        ("--gold", "a line `SQL<tab>db_id` for each question"),
        ("--predictions", "one SQL a line, in that order"),
        ("--tables", "tables.json"),
        ("--databases", "optional: DB/DB.sqlite, to measure execution"),
    ),
    (
        ("Spider", "yale-lily.github.io/spider", "CC BY-SA 4.0"),
        (
            "the evaluation's example",
            "github.com/taoyds/spider, evaluation_examples",
            "Apache 2.0",
        ),
    ),
)


@click.command(
    cls=ListedCommand, listed=_LISTED, short_help="Any SQL predictions, by Spider's four measures."
)
@click.option(
    "--gold", type=FILE, required=True, metavar="FILE", help="A line `SQL<tab>db_id` a question."
)
@click.option("--predictions", type=FILE, metavar="FILE", help="One SQL a line, in that order.")
@click.option(
    "--system",
    metavar="NAME|FILE",
    help="In place of --predictions: gold, abstain, or a file.",
)
@click.option(
    "--tables", type=FILE, required=True, metavar="FILE", help="Spider's tables.json of the data."
)
@click.option(
    "--databases",
    type=FILE,
    metavar="DIR",
    help="SQLite files (DB/DB.sqlite), to measure execution.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="Take only about N questions, spread evenly."
)
@click.option("--out", type=FILE, metavar="DIR", help="Write records and report here; resumes.")
@html_option
@json_option
def spider(**flags: Any) -> int:
    """Spider: exact and partial matching without values by hardness, and with --databases execution
    accuracy; the table is the official one. Interactions (SParC, CoSQL) are a blank line apart.

    \b
    Examples:
      ehrqa eval spider --gold gold.txt --predictions pred.txt --tables tables.json
      ehrqa eval spider --gold dev_gold.sql --predictions pred.sql --tables tables.json \\
          --databases database --out runs/spider
    """
    from ehrqa_papers.spider import SpiderRun

    check_html(flags)
    if flags["predictions"] is None and flags["system"] is None:
        raise UsageError("there is nothing to measure", "give --predictions FILE, one SQL a line")
    chosen = choose(flags["system"], flags["predictions"], SPIDER)
    names = ("gold", "tables", "databases", "out", "limit")
    with diagnostics.progress() as advance:
        found = SpiderRun(
            **{name: flags[name] for name in names},
            predictions=chosen.predictions,
            system=chosen.name,
            progress=lambda done, total: advance(done, total, "questions"),
        ).run()
    write_report_html(flags, found.report)
    if flags["as_json"]:
        output.json_line(found.report.as_dict())
        return 0
    output.write(found.table)
    for note in found.report.notes:
        diagnostics.note(note)
    return 0
