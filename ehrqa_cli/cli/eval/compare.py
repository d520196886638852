"""``ehrqa eval compare``: two runs of one benchmark, question by question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.options import FILE, json_option

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.compare import Comparison


@click.command(short_help="Two runs of one benchmark: the difference, and what changed.")
@click.argument("a", type=FILE, metavar="A")
@click.argument("b", type=FILE, metavar="B")
@click.option("--seed", default=0, show_default=True, help="Of the bootstrap.")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="List at most N questions of each kind of change.",
)
@json_option
def compare(a: Path, b: Path, seed: int, show: int, as_json: bool) -> int:
    """Compare the runs that two folders of --out hold: each measure with the difference B - A, its
    95% interval and p (paired bootstrap), and the questions that became right or wrong. Runs over
    different data are refused.

    \b
    Examples:
      ehrqa eval compare runs/before runs/after
      ehrqa eval compare runs/before runs/after --json
    """
    from ehrqa_cli.evaluate.compare import compare as compare_runs

    found = compare_runs(a, b, seed)
    if as_json:
        output.json_line(found.as_dict())
        return 0
    output.line(f"{found.name}, {found.questions} questions in both")
    for folder, count in ((a, found.only_a), (b, found.only_b)):
        if count:
            output.line(f"{count} questions are only in {folder} and were left out")
    output.line(f"A  {a}")
    output.line(f"B  {b}")
    output.line()
    rows = [
        (
            *(d.measure, f"{d.a:.2f}", f"{d.b:.2f}", f"{d.difference:+.2f}"),
            *(f"{d.low:+.2f} to {d.high:+.2f}", _p(d.p)),
        )
        for d in found.differences
    ]
    output.table(("per cent", "A", "B", "B - A", "95%", "p"), rows, range(1, 6))
    _print_changes(found, show)
    return 0


def _print_changes(found: Comparison, show: int) -> None:
    output.line()
    if not found.changes:
        output.line("no question changed")
        return
    if found.sign_p is not None:
        output.line(
            f"sign test of the questions that became right or ceased to be: p {_p(found.sign_p)}"
        )
    for before, after, count in found.counts():
        output.line()
        output.line(f"{before} in A, {after} in B: {count}")
        kind = [c for c in found.changes if (c.before, c.after) == (before, after)]
        for change in kind[:show]:
            system = f" ({change.system})" if change.system else ""
            output.line(f"  {change.id}{system}  {' '.join(change.question.split())[:120]}")
        if len(kind) > show:
            output.line(f"  and {len(kind) - show} more (--show {len(kind)}, or --json)")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
