"""What the commands of ``ehrqa eval`` share: options joined to groups, and reports on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.image_report import ImageReport
    from ehrqa_cli.evaluate.tables import StudyTable

Command = TypeVar("Command", bound=Callable[..., Any])


def together(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Several options as one decorator, listed by --help in this order."""

    def add(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return add


html_option = click.option(
    "--html", is_flag=True, help="With --out: also write report.html, one page with plots."
)


def check_html(flags: Mapping[str, Any]) -> None:
    """Raises UsageError where --html has no folder to write to; before a long run, not after."""
    if flags["html"] and flags["out"] is None:
        raise UsageError("--html needs a folder to write to", "give it with --out DIR")


def write_html(
    flags: Mapping[str, Any],
    lines: Iterable[tuple[str, str]],
    tables: Sequence[StudyTable] = (),
    notes: Sequence[str] = (),
) -> None:
    """The page, where --html asks for it, and a word on where it is."""
    if flags["html"]:
        from ehrqa_cli.evaluate.html import write_page

        diagnostics.note(f"written: {write_page(flags['out'], lines, tables, notes)}")


def write_report_html(flags: Mapping[str, Any], report: ImageReport) -> None:
    """The page of a report."""
    write_html(flags, report.lines(), (*report.tables, *report.more), report.notes)


def print_report(report: ImageReport, as_json: bool) -> int:
    """The whole report; returns the exit code."""
    if as_json:
        output.json_line(report.as_dict())
        return 0
    for name, value in report.lines():
        output.line(f"{name}  {value}")
    for table in report.tables:
        print_table(table)
    for note in report.notes:
        output.line()
        output.line(note)
    return 0


def print_table(table: StudyTable) -> None:
    """One table with its heading and notes; every column but the first is numbers."""
    output.line()
    output.line(table.heading)
    output.table(table.columns, table.printed(), range(1, len(table.columns)))
    for note in table.notes:
        output.line(note)
