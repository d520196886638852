"""What the commands of ``ehrqa eval`` share: options joined to groups, and reports on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ehrqa_cli.cli import output

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.abstention.tables import Table
    from ehrqa_cli.evaluate.image_report import ImageReport

Command = TypeVar("Command", bound=Callable[..., Any])


def together(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Several options as one decorator, listed by --help in this order."""

    def add(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return add


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


def print_table(table: Table) -> None:
    """One table with its heading and notes; every column but the first is numbers."""
    output.line()
    output.line(table.heading)
    output.table(table.columns, table.printed(), range(1, len(table.columns)))
    for note in table.notes:
        output.line(note)
