"""Options that the commands of ``ehrqa build`` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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
