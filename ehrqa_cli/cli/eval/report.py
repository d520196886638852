"""What the commands of ``ehrqa eval`` share: options joined to groups, and reports on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.contracts.benchmarks import Benchmark, FigureTable
    from ehrqa_cli.evaluate.reports import RunReport
    from ehrqa_cli.evaluate.systems import Chosen

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


def measure(flags: Mapping[str, Any], benchmark: Benchmark, chosen: Chosen, **more: Any) -> int:
    """Run a benchmark and print its report; ``more`` are further fields of BenchmarkRun. Returns
    the exit code. Raises what the run does."""
    from ehrqa_cli.evaluate.runner import BenchmarkRun

    with diagnostics.progress() as advance:
        report = BenchmarkRun(
            benchmark,
            flags["data"],
            flags.get("split", ""),
            chosen,
            out=flags["out"],
            limit=flags["limit"],
            seed=flags.get("seed", 0),
            progress=lambda done, total: advance(done, total, "questions"),
            **more,
        ).run()
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


def write_html(
    flags: Mapping[str, Any],
    lines: Iterable[tuple[str, str]],
    tables: Sequence[FigureTable] = (),
    notes: Sequence[str] = (),
) -> None:
    """The page, where --html asks for it, and a word on where it is."""
    if flags["html"]:
        from ehrqa_cli.evaluate.html import write_page

        diagnostics.note(f"written: {write_page(flags['out'], lines, tables, notes)}")


def write_report_html(flags: Mapping[str, Any], report: RunReport) -> None:
    """The page of a report."""
    write_html(flags, report.lines(), (*report.tables, *report.more), report.notes)


def print_report(report: RunReport, as_json: bool) -> int:
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


def print_table(table: FigureTable) -> None:
    """One table with its heading and notes."""
    output.line()
    output.line(table.heading)
    numbers = range(1, len(table.columns)) if table.numbers else ()
    output.table(table.columns, table.printed(), numbers)
    for note in table.notes:
        output.line(note)
