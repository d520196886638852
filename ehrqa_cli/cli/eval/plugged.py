"""``ehrqa eval NAME`` for a benchmark without a command of its own: ``own``, and other plugins'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import click

from ehrqa_cli.cli.added import OpenGroup
from ehrqa_cli.cli.answer_options import answer_options, read_answer_options
from ehrqa_cli.cli.eval.report import Command, check_html, html_option, measure, together
from ehrqa_cli.cli.eval.systems import (
    data_option,
    judge_option,
    run_options,
    seed_option,
    split_option,
    system_option,
    workers_option,
)
from ehrqa_cli.cli.options import json_option
from ehrqa_cli.contracts.benchmarks import Benchmark
from ehrqa_cli.contracts.errors import PluginError
from ehrqa_cli.evaluate import systems


def _options(benchmark: type[Benchmark] | None) -> Callable[[Command], Command]:
    """The options of a benchmark's command, or of a broken one's; those of its judge and seed
    where it has any use of them."""
    judge = [judge_option] if benchmark and benchmark.judged else []
    seed = [seed_option] if benchmark and "seed" in benchmark.header else []
    return together(
        [
            data_option("PATH", "The benchmark's files."),
            split_option,
            answer_options,
            system_option(_systems(benchmark)),
            run_options,
            *judge,
            *seed,
            workers_option,
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
    """The command of one benchmark; its plugin is loaded when the command or its help is asked.
    That of a broken one says so."""
    plugin: type[Benchmark] | None = None
    try:
        plugin = _load(name)
        about = plugin.about or f"the benchmark {name}"
    except PluginError as error:
        about = f"broken: {error.message}"

    @click.command(name, short_help=about)
    @_options(plugin)
    def command(**flags: Any) -> int:
        return _run(_load(name)(), flags)

    command.help = f"""{about}.

\b
Examples:
  ehrqa eval {name} --data PATH --split valid --db ehr.sqlite --out run1 --html

With --out, records go to records.jsonl and the report to report.json and report.md."""
    return command


def _load(name: str) -> type[Benchmark]:
    from ehrqa_cli import registry

    return registry.load(registry.BENCHMARK, name, Benchmark)  # type: ignore[type-abstract]


def _run(benchmark: Benchmark, flags: dict[str, Any]) -> int:
    from dataclasses import replace

    from ehrqa_cli.evaluate.answering import asked, executor, session_facts
    from ehrqa_cli.evaluate.judge import open_judge

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], _systems(type(benchmark)))
    if flags.get("judge"):
        benchmark.judge = open_judge(flags["judge"])
    options = replace(read_answer_options(flags), log=False)
    patient, workers = options.patient, flags["workers"]
    with options.session() as session:
        return measure(
            flags,
            benchmark,
            chosen,
            asked=(lambda: asked(session, workers, patient)) if chosen.asks else None,
            facts={**session_facts(session), "patient": patient},
            execute=executor(session),
        )


def _systems(benchmark: type[Benchmark] | None) -> Mapping[str, str]:
    return {**systems.OWN, **(benchmark.systems if benchmark else {})}
