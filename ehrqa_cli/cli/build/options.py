"""What the commands of ``ehrqa build`` share: options, and how a set that was made is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import FILE, Command

COUNT = click.IntRange(min=1)
out_option = click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="DIR",
    help="A new folder; a broken-off build goes on.",
)


def shown(
    names: str, default: object, text: str, type: click.ParamType[Any] | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option, by its ``names``, whose default the help shows behind the ``text``."""
    return click.option(
        *names.split(), default=default, show_default=True, help=text, type=type, **more
    )


seed_option = shown("--seed", 1, "The same seed: the same bytes.")


def tell_set(card: dict[str, Any], flags: dict[str, Any], lines: Iterable[str], fewer: str) -> int:
    """Print the card, or how many questions there are, ``lines``, and where; warn with ``fewer``
    where they are fewer than were asked for. Returns 0."""
    if flags["as_json"]:
        output.json_line(card)
        return 0
    counts = card["counts"]
    by_split = ", ".join(f"{n:,} {split}" for split, n in counts["by_split"].items())
    output.line(f"questions  {counts['questions']:,} ({by_split})")
    for line in lines:
        output.line(line)
    output.line(f"written  {flags['out']}")
    if counts["questions"] < flags["size"]:
        diagnostics.warn(f"{counts['questions']:,} of {flags['size']:,} questions: {fewer}")
    return 0
