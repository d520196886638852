"""``--profile``: which profile of the settings file a command uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

VARIABLE = "EHRQA_PROFILE"
HELP = "Use this profile of the settings file [default: EHRQA_PROFILE, or profile in the file]."
_CHOSEN = "ehrqa.profile"


def profile_option(command: Command) -> Command:
    """Add ``--profile``; the command itself is not told of it."""
    return click.option(
        "--profile",
        metavar="NAME",
        help=HELP,
        expose_value=False,
        is_eager=True,
        callback=_given,
    )(command)


def _given(context: click.Context, _option: click.Parameter, name: str | None) -> None:
    if name is not None and not context.resilient_parsing:
        choose(context, name)
        if "config" not in context.command_path.split():  # which tells what is wrong by itself
            check(name)


def choose(context: click.Context, name: str) -> None:
    """Use the profile until the program ends.

    As a variable, because threads and processes of workers read the settings too.
    """
    root = context.find_root()
    root.call_on_close(_putter_back(os.environ.get(VARIABLE)))
    root.meta[_CHOSEN] = name
    os.environ[VARIABLE] = name


def chosen() -> str | None:
    """The name given with --profile, if it was."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_CHOSEN) if context else None


def check(name: str) -> None:
    """Say where a variable wins over the profile, which may not be what --profile was given for.

    Raises UsageError where there is no such profile or the settings are wrong.
    """
    from ehrqa_cli import config
    from ehrqa_cli.cli import diagnostics

    resolved = config.resolve(flags={"profile": name})
    for key, found in resolved.written.tables[name].items():
        given = resolved.found[key]
        if given.layer == "variable":
            diagnostics.warn(
                f"{given.where} is set and wins over {key} of profile '{name}' ({found.where})"
            )


def _putter_back(before: str | None) -> Callable[[], None]:
    def put_back() -> None:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before

    return put_back
