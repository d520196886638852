"""``ehrqa eval NAME`` for the benchmark of a plugin, ``own`` among them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.added import OpenGroup
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    print_report,
    together,
    write_report_html,
)
from ehrqa_cli.cli.options import FILE, answer_options, json_option, read_answer_options
from ehrqa_cli.contracts.errors import PluginError

_options = together(
    [
        click.option(
            "--data", type=FILE, required=True, metavar="PATH", help="The benchmark's files."
        ),
        click.option("--split", default="valid", show_default=True, help="Its split."),
        answer_options,
        click.option("--out", type=FILE, metavar="DIR", help="Write records here; resumes."),
        click.option(
            "--predictions", type=FILE, metavar="FILE", help="Score these instead of asking."
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            help="Take only about N questions, spread evenly.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes that answer [default: one a core where it is worth it].",
        ),
        html_option,
        json_option,
    ]
)


class Benchmarks(OpenGroup):
    """The commands of ``ehrqa eval``: our own, and one for each benchmark that is a plugin."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own in their order, then the plugins' by name."""
        return [*(ours := super().list_commands(ctx)), *(n for n in _names() if n not in ours)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of our own, else the benchmark of this name, not loaded yet."""
        found = super().get_command(ctx, cmd_name)
        return found or (_command(cmd_name) if cmd_name in _names() else None)


def _names() -> list[str]:
    from ehrqa_cli import registry

    return registry.names(registry.BENCHMARK)


@cache
def _command(name: str) -> click.Command:
    """The command of one benchmark; its plugin is loaded when the command or its help is asked."""

    @click.command(name, short_help=_about(name))
    @_options
    def measure(**flags: Any) -> int:
        return _run(name, flags)

    measure.help = f"""{_about(name)}.

\b
Examples:
  ehrqa eval {name} --data PATH --split valid --db ehr.sqlite --out run1 --html

With --out, records go to records.jsonl and the report to report.json and report.md."""
    return measure


def _about(name: str) -> str:
    try:
        return _load(name).about or f"the benchmark {name}"
    except PluginError as error:
        return f"broken: {error.message}"


def _load(name: str) -> Any:
    from ehrqa_cli import registry
    from ehrqa_cli.contracts.benchmarks import Benchmark

    return registry.load(registry.BENCHMARK, name, Benchmark)


def _run(name: str, flags: dict[str, Any]) -> int:
    from dataclasses import replace

    from ehrqa_cli.evaluate.plugged import PluggedRun

    check_html(flags)
    options = replace(read_answer_options(flags), log=False)
    out: Path | None = flags["out"]
    with options.session() as session, diagnostics.progress() as advance:
        report = PluggedRun(
            _load(name)(),
            flags["data"],
            flags["split"],
            session,
            patient=options.patient,
            predictions=flags["predictions"],
            out=out,
            limit=flags["limit"],
            workers=flags["workers"],
            progress=lambda done, total: advance(done, total, "questions"),
        ).run()
    code = print_report(report, flags["as_json"])
    write_report_html(flags, report)
    return code
