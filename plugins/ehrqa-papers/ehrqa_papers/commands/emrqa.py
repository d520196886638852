"""``ehrqa eval emrqa``: emrQA's three tasks."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.added import ListedCommand
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    print_report,
    together,
    write_report_html,
)
from ehrqa_cli.cli.eval.systems import seed_option
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option
from ehrqa_cli.evaluate.catalogue import Benchmark
from ehrqa_cli.evaluate.systems import Chosen, choose
from ehrqa_papers import systems

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.note_desk import DeskSystem

FINDERS = ("bm25", "vectors", "reader")
TASKS = {
    "evidence": systems.EMR_EVIDENCE,
    "classes": systems.EMR_CLASSES,
    "forms": systems.EMR_FORMS,
}
COUNT = click.IntRange(min=1)
_LISTED = Benchmark(
    "emrqa",
    "Pampari et al. 2018: evidence lines, classes, question to logical form",
    "Pampari et al. 2018, arXiv:1809.00732",
    (
        ("--data", "emrQA's data.json, or i2b2's XML files for --task classes"),
        ("--db", "an EHR, for --task forms only"),
    ),
    (
        (
            "what makes data.json of the notes",
            "github.com/panushri25/emrQA",
            "see there",
        ),
        (
            "the i2b2 and n2c2 notes (once www.i2b2.org/NLP/DataSets)",
            "portal.dbmi.hms.harvard.edu",
            "n2c2's data use agreement",
        ),
    ),
)
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


@click.command(
    cls=ListedCommand,
    listed=_LISTED,
    short_help="Evidence, classes and logical forms from questions over notes.",
)
@click.option("--data", type=FILE, metavar="DIR", help="The folder of data.json, or of i2b2's XML.")
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    default="evidence",
    show_default=True,
    help="What is asked.",
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
    + "; ".join(f"{task}: {', '.join(known)}" for task, known in TASKS.items())
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
    from ehrqa_papers.emrqa import EmrRun, run_emrqa

    check_html(flags)
    forms = flags["task"] == "forms"
    chosen = _chosen(flags)
    names = ("data", "split", "task", "pairs", "out", "limit", "seed")
    with _system(flags, chosen.name == "reader") as system, diagnostics.progress() as advance:
        run = EmrRun(
            db=database_path(flags["db"]) if forms else None,
            system=system,
            finder=chosen.name,
            predictions=chosen.predictions,
            progress=lambda done, total: advance(done, total, "questions"),
            **{name: flags[name] for name in names},
        )
        report = run_emrqa(run)
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


def _chosen(flags: dict[str, Any]) -> Chosen:
    """What is measured of emrQA; without a name or a file all systems of classes and forms."""
    named, task = flags["system"] or flags["finder"], flags["task"]
    if named is None and task != "evidence":
        return Chosen(None, flags["predictions"])
    return choose(named, flags["predictions"], TASKS[task], "bm25")


def _system(flags: dict[str, Any], asks: bool) -> AbstractContextManager[DeskSystem | None]:
    if not asks:
        return nullcontext()
    from ehrqa_cli.evaluate.note_desk import DeskSystem

    return DeskSystem.open(flags["reader"])
