"""``ehrqa eval ehrnoteqa``, ``emrqa`` and ``rankings``: questions over clinical notes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    print_report,
    together,
    write_report_html,
)
from ehrqa_cli.cli.eval.systems import seed_option, system_option, workers_option
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.evaluate import systems

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.note_desk import DeskSystem

FORMATS = ("multi-choice", "free-text")
LEVELS = ("1", "2", "beyond")
TASKS = ("evidence", "classes", "forms")
FINDERS = ("bm25", "vectors", "reader")
_OF_TASK = {
    "evidence": systems.EMR_EVIDENCE,
    "classes": systems.EMR_CLASSES,
    "forms": systems.EMR_FORMS,
}
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


@click.command(short_help="Evidence, classes and logical forms from questions over notes.")
@click.option("--data", type=FILE, metavar="DIR", help="The folder of data.json, or of i2b2's XML.")
@click.option(
    "--task", type=click.Choice(TASKS), default=TASKS[0], show_default=True, help="What is asked."
)
@click.option(
    "--finder",
    type=click.Choice(FINDERS),
    help="The same as --system, for evidence.",
)
@click.option(
    "--system",
    metavar="NAME|FILE",
    help="What is measured. "
    + "; ".join(f"{task}: {', '.join(known)}" for task, known in _OF_TASK.items())
    + "; or a file of predictions [default: bm25; for classes and forms all].",
)
@click.option(
    "--split", metavar="NAME", help="Read NAME.json [default: data.json, or what is there]."
)
@click.option("--pairs", type=COUNT, default=5000, show_default=True, help="Made for the forms.")
@db_option
@_shared
def emrqa(**flags: Any) -> int:
    """emrQA: find evidence lines (exact match and F1 over the top ten), predict a class from the
    whole note (against its baseline of TF-IDF and logistic regression), or turn questions into
    logical forms: this project's own, over the values of --db, with HM-1, HM-2 and a small
    sequence model, the paraphrases apart and mixed.

    \b
    Examples:
      ehrqa eval emrqa --data emrqa --finder vectors --out run1
      ehrqa eval emrqa --data i2b2 --task classes
      ehrqa eval emrqa --task forms --db ehr.sqlite --out run2
    """
    from ehrqa_cli.evaluate.emrqa import EmrRun

    check_html(flags)
    forms = flags["task"] == "forms"
    if flags["data"] is None and not forms:
        raise UsageError(f"{flags['task']} needs the benchmark's folder", "give it with --data DIR")
    chosen = _chosen(flags)
    names = ("data", "split", "task", "pairs", "out", "limit", "seed")
    with _system(flags, chosen.name == "reader") as system, diagnostics.progress() as advance:
        report = EmrRun(
            db=database_path(flags["db"]) if forms else None,
            system=system,
            finder=chosen.name,
            predictions=chosen.predictions,
            progress=lambda done, total: advance(done, total, "questions"),
            **{name: flags[name] for name in names},
        ).run()
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


@click.command(short_help="Do two rankings of systems agree?")
@click.argument("file", type=FILE)
@json_option
def rankings(file: Any, as_json: bool) -> int:
    """Spearman's and Kendall's correlation of a benchmark's scores of several systems with those
    that clinicians gave them. FILE is a table: a header, then a row for each system with its name,
    the benchmark's score, and a score from each clinician.

    \b
    Examples:
      ehrqa eval rankings systems.csv
    """
    from ehrqa_cli.evaluate.rankings import agreement, read_systems

    systems = read_systems(file)
    found = {name: agreement(systems.scores, scores) for name, scores in systems.others}
    if as_json:
        output.json_line(
            {name: {"spearman": a.spearman, "kendall": a.kendall} for name, a in found.items()}
        )
        return 0
    rows = [(name, _places(a.spearman), _places(a.kendall), a.systems) for name, a in found.items()]
    output.line(f"{systems.benchmark}, against")
    output.table(("", "Spearman", "Kendall", "systems"), rows, (1, 2, 3))
    return 0


def _chosen(flags: dict[str, Any]) -> systems.Chosen:
    """What is measured of emrQA; without a name or a file all systems of classes and forms."""
    named, task = flags["system"] or flags["finder"], flags["task"]
    if named is None and task != TASKS[0]:
        return systems.Chosen(None, flags["predictions"])
    return systems.choose(named, flags["predictions"], _OF_TASK[task], "bm25")


COMMANDS = (ehrnoteqa, emrqa, rankings)


def _system(flags: dict[str, Any], asks: bool) -> AbstractContextManager[DeskSystem | None]:
    if not asks:
        return nullcontext()
    from ehrqa_cli.evaluate.note_desk import DeskSystem

    return DeskSystem.open(flags["reader"])


def _places(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
