"""``ehrqa batch``: a file of questions, a file of answers; a failure is a row, never the end."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ehrqa_cli.cli import diagnostics, interrupt, output, questions
from ehrqa_cli.cli.ask import warnings
from ehrqa_cli.cli.options import FILE, answer_options, read_answer_options
from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status

if TYPE_CHECKING:
    from ehrqa_cli.engine import Session

STREAM = Path("-")


@click.command(short_help="Answer a file of questions (JSON Lines).")
@click.argument("source", type=FILE, metavar="IN.jsonl")
@click.argument("target", type=FILE, metavar="[OUT.jsonl]", default=STREAM)
@answer_options
@click.option("--resume", is_flag=True, help="Keep the rows OUT.jsonl has, answer only the rest.")
@click.option("--timings", type=FILE, metavar="FILE", help="Write each row's seconds here.")
def batch(source: Path, target: Path, **flags: Any) -> int:
    """Answer the questions of IN.jsonl, one object a line, into OUT.jsonl, in the same order.

    Each line has "question" and may have "id", "patient_id", "study_id", "image", "choices" and
    "as_of"; other fields are ignored. "-" is standard input, and standard output when OUT.jsonl
    is left out. A question that fails, or a line that is not JSON, becomes a row of status
    failed. Each row is written as soon as it is known, so an interrupted run can --resume.

    \b
    Examples:
      ehrqa batch questions.jsonl answers.jsonl --db ehr.sqlite
      ehrqa batch questions.jsonl answers.jsonl --db ehr.sqlite --resume
      echo '{"question": "how many patients?"}' | ehrqa batch - --db ehr.sqlite

    \b
    Exit codes: 0 all rows written and none failed, 1 a row failed, 2 usage or configuration.
    """
    options = read_answer_options(flags)
    _check_files(source, target, flags["resume"])
    lines = _read_lines(source)
    done = _written(target, lines) if flags["resume"] else 0
    tally = Tally()
    with ExitStack() as stack:
        session = stack.enter_context(options.session())
        session.warm()  # what no row can do without fails once, not in every row
        rows = stack.enter_context(_open_target(target, append=done > 0))
        times = stack.enter_context(_open_target(flags["timings"])) if flags["timings"] else None
        advance = stack.enter_context(diagnostics.progress())
        for index, (number, line) in enumerate(lines[done:], start=done + 1):
            answer = answer_line(number, line, session, options.patient)
            interrupt.check()
            _write_row(answer, line, rows, times)
            tally.add(answer)
            advance(index, len(lines), "questions")
    diagnostics.note(tally.summary(kept=done))
    return 1 if tally.counts[Status.FAILED] else 0


@dataclass
class Tally:
    """How the rows of this run ended."""

    counts: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))

    def add(self, answer: Answer) -> None:
        """Count one row."""
        self.counts[answer.status] += 1

    def summary(self, kept: int) -> str:
        """One line for stderr."""
        parts = [f"{count:,} {status.value}" for status, count in self.counts.items()]
        before = f" ({kept:,} kept from before)" if kept else ""
        return f"{sum(self.counts.values()):,} rows{before}: {', '.join(parts)}"


def answer_line(number: int, line: str, session: Session, patient: int | None = None) -> Answer:
    """Answer one line; whatever goes wrong becomes an Answer of status failed."""
    from ehrqa_cli.engine import ask

    question = Question(text=questions.given(line)[1])
    try:
        question = questions.from_json(line, patient)
        return ask(question, session, warnings)
    except UsageError as error:
        return _failed(question, f"line {number}: {error.message}", error.hint)
    except EhrqaError as error:
        return _failed(question, error.message, error.hint)
    except Exception as error:  # one row's fault must not end the run
        return _failed(
            question,
            f"unexpected {type(error).__name__}: {error}",
            "ask this question with `ehrqa ask` and EHRQA_DEBUG=1 for the traceback",
        )


def _failed(question: Question, message: str, hint: str) -> Answer:
    fault = {"message": message, "hint": hint}
    return Answer(question=question, status=Status.FAILED, error=fault)


def _check_files(source: Path, target: Path, resume: bool) -> None:
    if source != STREAM and target != STREAM and source.resolve() == target.resolve():
        raise UsageError("IN.jsonl and OUT.jsonl are the same file", "name another OUT.jsonl")
    if resume and target == STREAM:
        raise UsageError("--resume needs a file OUT.jsonl", "name one after IN.jsonl")


def _read_lines(source: Path) -> list[tuple[int, str]]:
    """(line number, line) of the lines that are not blank. Raises UsageError."""
    try:
        raw = sys.stdin.buffer.read() if source == STREAM else source.read_bytes()
    except OSError as error:
        hint = "check the path of IN.jsonl"
        raise UsageError(f"cannot read {source}: {error.strerror}", hint) from error
    # Split at newlines only: other line separators may stand inside a JSON text.
    text = raw.decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    numbered = enumerate(text.split("\n"), start=1)
    return [(number, line) for number, line in numbered if line.strip()]


def _written(target: Path, lines: list[tuple[int, str]]) -> int:
    """How many rows ``target`` already has; a row cut short by an interruption is removed.

    Raises UsageError when its rows are not the answers to ``lines``.
    """
    if not target.is_file():
        return 0
    try:
        raw = target.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if whole != raw:
            with target.open("r+b") as file:
                file.truncate(len(whole))
    except OSError as error:
        hint = "name another OUT.jsonl"
        raise UsageError(f"cannot resume {target}: {error.strerror}", hint) from error
    rows = whole.decode("utf-8", "replace").split("\n")[:-1]
    for (number, line), row in zip(lines, rows, strict=False):
        if _asked(row) != questions.given(line)[0]:
            raise UsageError(
                f"{target} is no answer to this file: row and line {number} have other ids",
                "leave --resume out, or name another OUT.jsonl",
            )
    if len(rows) > len(lines):
        hint = "leave --resume out, or name another OUT.jsonl"
        raise UsageError(f"{target} has more rows than there are questions", hint)
    return len(rows)


def _asked(row: str) -> Any:
    try:
        return json.loads(row).get("id")
    except (ValueError, AttributeError):
        return object()  # equal to no id


def _open_target(target: Path, append: bool = False) -> Any:
    from contextlib import nullcontext

    if target == STREAM:
        return nullcontext(None)
    try:
        return target.open("a" if append else "w", encoding="utf-8")
    except OSError as error:
        hint = "name another file"
        raise UsageError(f"cannot write {target}: {error.strerror}", hint) from error


def _write_row(answer: Answer, line: str, rows: TextIO | None, times: TextIO | None) -> None:
    from ehrqa_cli.store import answer_record

    given_id, given_text = questions.given(line)
    record = {**answer_record(answer), "id": given_id, "question": given_text}
    text = output.to_json(record) + "\n"
    if rows is None:
        output.write(text)
    else:
        rows.write(text)
        rows.flush()
    if times is not None:
        times.write(output.to_json({"id": given_id, **answer.timings}) + "\n")
        times.flush()
