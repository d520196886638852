"""``ehrqa eval rankings``: do clinicians rank systems as a benchmark does?"""

from __future__ import annotations

from typing import Any

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.added import ListedCommand
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.evaluate.catalogue import Benchmark

_LISTED = Benchmark(
    "rankings",
    "Kweon et al. 2024, section 4.3: do clinicians rank systems as a benchmark does?",
    "Kweon et al. 2024, arXiv:2402.16040",
    (("FILE", "your own table of systems: the benchmark's score, and each clinician's"),),
    (),
)


@click.command(cls=ListedCommand, listed=_LISTED, short_help="Do two rankings of systems agree?")
@click.argument("file", type=FILE)
@json_option
def rankings(file: Any, as_json: bool) -> int:
    """Spearman's and Kendall's correlation of a benchmark's scores of several systems with those
    that clinicians gave them. FILE is a table: a header, then a row for each system with its name,
    the benchmark's score, and a score from each clinician.

    \b
    Examples:
      ehrqa eval rankings systems.csv
    """
    from ehrqa_papers.rankings import agreement, read_systems

    systems = read_systems(file)
    found = {name: agreement(systems.scores, scores) for name, scores in systems.others}
    if as_json:
        output.json_line(
            {name: {"spearman": a.spearman, "kendall": a.kendall} for name, a in found.items()}
        )
        return 0
    rows = [(name, _places(a.spearman), _places(a.kendall), a.systems) for name, a in found.items()]
    output.line(f"{systems.benchmark}, against")
    output.table(("", "Spearman", "Kendall", "systems"), rows, (1, 2, 3))
    return 0


def _places(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
