"""``ehrqa ask``: one question, one answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import AnswerOptions, answer_options, read_answer_options
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.cli.questions import check_text, read_choices
from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status

EXIT_CODES = {Status.ANSWERED: 0, Status.TENTATIVE: 0, Status.FAILED: 1, Status.ABSTAINED: 3}


@click.command(short_help="Answer one question about the EHR.")
@click.argument("question")
@answer_options
@json_option
@click.option("--explain", is_flag=True, help="Show the form, the SQL, the scores and timings.")
@click.option("--timings", type=FILE, metavar="FILE", help="Write the seconds of each step here.")
@click.option("--choices", type=FILE, metavar="FILE", help="JSON file of choices {A: text, ...}.")
def ask(question: str, **flags: Any) -> int:
    """Answer QUESTION (at most 2,000 characters) about the EHR.

    Shows the answer, how the question was read, the rows it rests on and the confidence. When
    ehrqa cannot be sure, it says "I don't know", why, how it read the question, and which near
    questions it could answer.

    \b
    Examples:
      ehrqa ask "last creatinine of patient 10018081?" --db ehr.sqlite
      ehrqa ask "how many patients had a heparin order this year?" --db ehr.sqlite \\
          --as-of 2100-12-31 --explain
      ehrqa ask "what is her gender?" --patient 10018081 --db ehr.sqlite --json
      ehrqa ask "median age of the admitted patients?" --db ehr.sqlite --careful
      ehrqa ask "which drugs most often in 2100?" --db ehr.sqlite --tentative

    \b
    Exit codes: 0 answered (or tentative), 1 failed, 2 usage or configuration, 3 abstained.
    """
    options = read_answer_options(flags)
    choices = read_choices(flags["choices"]) if flags["choices"] else ()
    asked = Question(text=check_text(question), patient_id=options.patient, choices=choices)
    answer = _answer(asked, options, flags["as_json"])
    if flags["as_json"]:
        from ehrqa_cli.store import answer_record

        output.json_line(answer_record(answer))
    elif answer.status is not Status.FAILED:
        from ehrqa_cli.cli.render import answer_lines

        for line in answer_lines(answer, explain=flags["explain"]):
            output.line(line)
    if flags["timings"]:
        write_timings(flags["timings"], output.to_json(answer.timings) + "\n")
    if answer.status is Status.FAILED:
        fault = answer.error or {}
        diagnostics.error(fault.get("message", "it failed"), fault.get("hint", ""))
    return EXIT_CODES[answer.status]


def _answer(question: Question, options: AnswerOptions, as_json: bool) -> Answer:
    """The engine's answer. With --json a fault is an answer too: a reader gets its object."""
    from ehrqa_cli.engine import ask as ask_engine

    try:
        with options.session() as session:
            answer = ask_engine(question, session, warnings)
        return replace(answer, question=question)  # as the user gave it
    except EhrqaError as error:
        if not as_json or error.exit_code != 1:
            raise
        fault = {"message": error.message, "hint": error.hint}
        return Answer(question=question, status=Status.FAILED, error=fault)


def warnings(event: str, what: Any) -> None:
    """Show the engine's warnings; its other events are for a screen."""
    if event == "warning":
        diagnostics.warn(str(what))


def write_timings(path: Path, text: str) -> None:
    """Write the timings file. Raises UsageError when it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "name another file with --timings"
        raise UsageError(f"cannot write {path}: {error.strerror}", hint) from error
