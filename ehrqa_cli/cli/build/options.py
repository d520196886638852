"""Options that the commands of ``ehrqa build`` share."""

from __future__ import annotations

import click

from ehrqa_cli.cli.options import FILE

COUNT = click.IntRange(min=1)
out_option = click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="DIR",
    help="A new folder; a broken-off build goes on.",
)
seed_option = click.option(
    "--seed", default=1, show_default=True, help="The same seed: the same bytes."
)
