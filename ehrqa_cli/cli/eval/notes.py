"""``ehrqa eval ehrnoteqa``: questions over clinical notes."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

import click

from ehrqa_cli.cli.eval.report import check_html, html_option, measure
from ehrqa_cli.cli.eval.systems import (
    data_option,
    judge_option,
    run_options,
    seed_option,
    system_option,
    workers_option,
)
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.evaluate import systems

FORMATS = ("multi-choice", "free-text")
LEVELS = ("1", "2", "beyond")


@click.command(short_help="Questions over discharge summaries.")
@data_option()
@click.option(
    "--notes", type=FILE, metavar="FILE", help="MIMIC-IV-Note's discharge.csv(.gz), or JSON Lines."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="With the options, or without.",
)
@click.option("--level", type=click.Choice(LEVELS), help="Only notes of this length.")
@judge_option
@system_option(systems.EHRNOTEQA)
@workers_option
@click.option(
    "--reader", metavar="NAME", help="The note reader that is measured [default: embedded]."
)
@run_options
@seed_option
@html_option
@json_option
def ehrnoteqa(**flags: Any) -> int:
    """EHRNoteQA: answer every question from the patient's notes; accuracy (or exact match and F1)
    by level, length, number of notes and category, what was declined, and whether a gold line is
    among the cited ones. Reads PhysioNet's EHRNoteQA.jsonl with MIMIC-IV-Note's discharge.csv, or
    the open questions.jsonl and notes.jsonl.

    \b
    Examples:
      ehrqa eval ehrnoteqa --data noteqa --out run1
      ehrqa eval ehrnoteqa --data ehrnoteqa --notes discharge.csv.gz --level 1 \\
          --format free-text --judge f1 --predictions p.jsonl
    """
    from ehrqa_cli.evaluate.ehrnoteqa import EhrNoteQa
    from ehrqa_cli.evaluate.judge import open_judge
    from ehrqa_cli.evaluate.note_desk import DeskSystem

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.EHRNOTEQA)
    benchmark = EhrNoteQa(flags["notes"], flags["form"], flags["level"])
    benchmark.judge = open_judge(flags["judge"]) if flags["judge"] else None
    with DeskSystem.open(flags["reader"]) if chosen.asks else nullcontext() as system:
        asked = partial(benchmark.asked, system, flags["workers"]) if system else None
        return measure(flags, benchmark, chosen, asked=asked)


COMMANDS = (ehrnoteqa,)
