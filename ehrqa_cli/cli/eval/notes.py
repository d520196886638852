"""``ehrqa eval ehrnoteqa``: questions over clinical notes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    print_report,
    together,
    write_report_html,
)
from ehrqa_cli.cli.eval.systems import seed_option, system_option, workers_option
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.evaluate import systems

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.note_desk import DeskSystem

FORMATS = ("multi-choice", "free-text")
LEVELS = ("1", "2", "beyond")
COUNT = click.IntRange(min=1)


_shared = together(
    [
        click.option("--predictions", type=FILE, metavar="FILE", help="The same as --system FILE."),
        click.option(
            "--reader", metavar="NAME", help="The note reader that is measured [default: embedded]."
        ),
        click.option(
            "--out", type=FILE, metavar="DIR", help="Write records and report here; resumes."
        ),
        click.option("--limit", type=COUNT, help="Take only about N questions, spread evenly."),
        seed_option,
        html_option,
        json_option,
    ]
)


@click.command(short_help="Questions over discharge summaries.")
@click.option("--data", type=FILE, required=True, metavar="DIR", help="The benchmark's folder.")
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
@click.option("--judge", metavar="NAME", help="Asked five times: exact, f1, local[:MODEL], plugin.")
@system_option(systems.EHRNOTEQA)
@workers_option
@_shared
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
    from ehrqa_cli.evaluate.ehrnoteqa import NoteRun
    from ehrqa_cli.evaluate.judge import open_judge

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.EHRNOTEQA)
    judge = open_judge(flags["judge"]) if flags["judge"] else None
    names = ("data", "notes", "form", "level", "out", "limit", "seed", "workers")
    with _system(flags, chosen.asks) as system, diagnostics.progress() as advance:
        report = NoteRun(
            system=system,
            baseline=None if chosen.asks else chosen.name,
            predictions=chosen.predictions,
            judge=judge,
            progress=lambda done, total: advance(done, total, "questions"),
            **{name: flags[name] for name in names},
        ).run()
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


COMMANDS = (ehrnoteqa,)


def _system(flags: dict[str, Any], asks: bool) -> AbstractContextManager[DeskSystem | None]:
    if not asks:
        return nullcontext()
    from ehrqa_cli.evaluate.note_desk import DeskSystem

    return DeskSystem.open(flags["reader"])
