"""``ehrqa eval list``: the benchmarks, what each needs, and where its data are got."""

from __future__ import annotations

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.options import json_option


@click.command("list", short_help="The benchmarks, what each needs and where it is got.")
@json_option
def list_benchmarks(as_json: bool) -> int:
    """List the benchmarks: what each measures, which files it needs, where they are got and under
    which licence. None is fetched by this program.

    \b
    Examples:
      ehrqa eval list
      ehrqa eval list --json
    """
    from ehrqa_cli.cli.added import listed
    from ehrqa_cli.evaluate.catalogue import BENCHMARKS, plugged

    every = (*BENCHMARKS, *listed(), *plugged())
    if as_json:
        output.json_line([benchmark.as_dict() for benchmark in every])
        return 0
    for number, benchmark in enumerate(every):
        if number:
            output.line()
        output.line(f"{benchmark.name}  {benchmark.about}")
        if benchmark.paper:
            output.line(f"  paper    {benchmark.paper}")
        for option, what in benchmark.needs:
            output.line(f"  needs    {option}: {what}")
        for what, where, licence in benchmark.sources:
            output.line(f"  source   {what}: {where}; {licence}")
    return 0
