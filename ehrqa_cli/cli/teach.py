"""``ehrqa teach``: wordings that are withheld here, and what is meant by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import answer_options, read_answer_options
from ehrqa_cli.cli.questions import check_text
from ehrqa_cli.contracts.types import Question, Status

if TYPE_CHECKING:
    from ehrqa_cli.contracts.types import Answer
    from ehrqa_cli.engine.taught import Entry


@click.group(short_help="Keep what you meant by a question that was withheld.")
def teach() -> None:
    """Keep what you meant by a question whose answer was withheld.

    The wording is kept with placeholders in place of its names and numbers, and how it is to be
    read. From then on the same wording is answered so, with other names and numbers too. No value
    and no patient of a database is kept, in a file that only you can read. EHRQA_TAUGHT=off, or
    taught = false in the settings file, answers without it.

    \b
    Examples:
      ehrqa teach add "which drugs most often in 2100?" --db ehr.sqlite
      ehrqa teach list
      ehrqa teach remove 1
    """


@teach.command(short_help="Run the reading of a withheld question, and keep it.")
@click.argument("question")
@answer_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def add(question: str, yes: bool, **flags: Any) -> int:
    """Run the reading of QUESTION unchecked, show it, and keep it if it is what you meant.

    \b
    Examples:
      ehrqa teach add "which drugs most often in 2100?" --db ehr.sqlite
      ehrqa teach add "last creatinine pls" --db ehr.sqlite --patient 10018081 --yes

    \b
    Exit codes: 0 kept or answered already, 1 failed, 2 usage or configuration, 3 nothing was kept.
    """
    from ehrqa_cli.cli.ask import EXIT_CODES, warnings
    from ehrqa_cli.cli.render import answer_lines

    flags["tentative"] = True
    options = read_answer_options(flags)
    with options.session() as session:
        asked = Question(check_text(question), patient_id=options.patient)
        answer = session.ask(asked, on_event=warnings)
        if answer.status is Status.FAILED:
            fault = answer.error or {}
            diagnostics.error(fault.get("message", "it failed"), fault.get("hint", ""))
            return EXIT_CODES[answer.status]
        for line in answer_lines(answer):
            output.line(line)
        if answer.status is not Status.TENTATIVE:
            diagnostics.note(_nothing(answer))
            return EXIT_CODES[answer.status]
        if not (yes or click.confirm("Is this meant, whenever it is so worded?", err=True)):
            diagnostics.note("nothing was kept")
            return EXIT_CODES[Status.ABSTAINED]
        diagnostics.note(f"kept: {session.teach(answer).wording.question}")
    return 0


def _nothing(answer: Answer) -> str:
    if answer.status is Status.ABSTAINED:
        return "there is no reading of it that could be kept"
    return "it is answered already: there is nothing to teach"


@teach.command("list", short_help="List what was taught.")
def list_() -> int:
    """List the wordings that were taught, with their numbers, and how each is read.

    \b
    Examples:
      ehrqa teach list
    """
    from ehrqa_cli.contracts.errors import FormError
    from ehrqa_cli.logical_form import parse

    entries = _entries()
    for number, entry in enumerate(entries, 1):
        output.line(f"{number}  {entry.wording.question}")
        try:
            parse(entry.form)
            output.line(f"   {entry.form}, taught {entry.when}")
        except FormError:
            output.line(f"   {entry.form}: cannot be read any more and is not used; teach it again")
    if not entries:
        diagnostics.note("nothing was taught yet; `ehrqa teach add` keeps a reading")
    return 0


@teach.command(short_help="Forget one wording.")
@click.argument("number", type=click.IntRange(min=1), metavar="N")
def remove(number: int) -> int:
    """Forget wording N of `ehrqa teach list`.

    \b
    Examples:
      ehrqa teach remove 1
    """
    from ehrqa_cli import config
    from ehrqa_cli.engine import taught

    gone = taught.remove(taught.taught_path(config.load()), number)
    diagnostics.note(f"forgotten: {gone.wording.question}")
    return 0


@teach.command(short_help="Print what was taught as JSON Lines.")
def export() -> int:
    """Print all wordings as JSON Lines: question, links, restricts, visits, form, when.

    \b
    Examples:
      ehrqa teach export > taught.jsonl
    """
    for entry in _entries():
        output.json_line(entry.as_json())
    return 0


def _entries() -> tuple[Entry, ...]:
    from ehrqa_cli import config
    from ehrqa_cli.engine import taught

    return taught.load(taught.taught_path(config.load()))
