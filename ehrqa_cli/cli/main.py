"""The root command and the one error boundary: every exit code is decided here.

0 answered, 1 failed, 2 usage or configuration, 3 abstained, 130 interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from ehrqa_cli import __version__
from ehrqa_cli.cli import diagnostics, interrupt, output
from ehrqa_cli.cli.commands import COMMANDS, root_help
from ehrqa_cli.contracts.errors import EhrqaError

INTERRUPTED = 130
# What click raises for a group without a command; before 8.2 it showed the help and raised nothing.
_NO_COMMAND: tuple[type[Exception], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


class LazyGroup(click.Group):
    """Imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called ``cmd_name``, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        # A whole name is of a module above this room, which may be loaded but not imported.
        path = module if module.startswith("ehrqa_cli.") else f"ehrqa_cli.cli.{module}"
        command = getattr(import_module(path), attribute)
        assert isinstance(command, click.Command)
        return command

    def get_help(self, ctx: click.Context) -> str:
        """The same page as the quick path of ``ehrqa --help``."""
        return root_help().rstrip("\n")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; suggest a near one when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            _unknown(args[0])
        return super().resolve_command(ctx, args)


def _unknown(name: str) -> NoReturn:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    message = f"no command '{output.safe(name)}'" + (f"; did you mean '{near[0]}'?" if near else "")
    raise click.UsageError(message)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ehrqa", message="%(prog)s %(version)s")
@click.option("--profile", metavar="NAME", help="Use this profile of the settings file.")
@click.pass_context
def root(context: click.Context, profile: str | None) -> None:
    """Answer questions about a local copy of an EHR, on this machine, and show why."""
    if profile is not None:
        from ehrqa_cli.cli import profile as profiles

        profiles.choose(context, profile)
        if context.invoked_subcommand != "config":  # which tells what is wrong by itself
            profiles.check(profile)


def run(argv: Sequence[str]) -> int:
    """Run the command line ``argv`` and return the exit code; no exception leaves it."""
    output.prepare()
    try:
        with interrupt.watch():
            return _run(list(argv))
    except EhrqaError as error:
        diagnostics.error(error.message, error.hint)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _click_error(error)
    except (KeyboardInterrupt, click.Abort):
        diagnostics.note("interrupted")
        return INTERRUPTED
    except output.ReaderGone:
        return 0  # the reader of our pipe has seen enough: no error of ours
    except Exception as error:
        return _unexpected(error)


def _run(argv: list[str]) -> int:
    try:
        code = root.main(argv, prog_name="ehrqa", standalone_mode=False)
    except EhrqaError:
        interrupt.check()  # the error may only be how a query tells of Ctrl-C
        raise
    interrupt.check()
    return code if isinstance(code, int) else 0


def _click_error(error: click.ClickException) -> int:
    hint = "see `ehrqa --help`"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"see `{error.ctx.command_path} --help`"
        if isinstance(error, _NO_COMMAND):  # whose message is the whole help
            diagnostics.error(f"which command of `{error.ctx.command_path}`?", hint)
            return 2
    diagnostics.error(" ".join(error.format_message().split()).rstrip("."), hint)
    return 2


def _unexpected(error: Exception) -> int:
    if os.environ.get("EHRQA_DEBUG", "") not in ("", "0"):
        import traceback

        diagnostics.write(traceback.format_exc())
        return 1
    if isinstance(error, OSError) and error.filename:
        diagnostics.error(
            f"cannot use {error.filename}: {error.strerror}",
            "check the path, its permissions and the room on the disk",
        )
        return 1
    kind = type(error).__name__
    first = (str(error).strip().splitlines() or [""])[0]
    diagnostics.error(
        f"unexpected {kind}: {first}" if first else f"unexpected {kind}",
        "this is a fault of ehrqa; run the same command with EHRQA_DEBUG=1 for the traceback",
    )
    return 1
