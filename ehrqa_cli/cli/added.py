"""Commands that other packages add to a group: the entry points ``ehrqa.command``, each named as it
is called ("eval spider") and loading a click command.

They are looked for only when such a group is listed, or asked for a name that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ehrqa_cli import registry
from ehrqa_cli.cli import output
from ehrqa_cli.contracts.errors import PluginError, UsageError

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.catalogue import Benchmark

# Commands of our own that are packages beside this one.
PACKAGES = dict.fromkeys(
    ("eval abstention", "eval emrqa", "eval rankings", "eval spider", "build emrqa"),
    "ehrqa-papers",
)


class OpenGroup(click.Group):
    """A group with commands of its own and those that packages add."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted({*super().list_commands(ctx), *self._added()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of its own, else the added one of this name."""
        found = super().get_command(ctx, cmd_name)
        return found or (load(str(self.name), cmd_name) if cmd_name in self._added() else None)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; of one that is not there say what to install, or which is near."""
        if not ctx.resilient_parsing and args[0][:1] != "-" and not self.get_command(ctx, args[0]):
            self._lacks(ctx, args[0])
        return super().resolve_command(ctx, args)

    def _lacks(self, ctx: click.Context, name: str) -> NoReturn:
        from difflib import get_close_matches

        if package := PACKAGES.get(f"{self.name} {name}"):
            raise UsageError(
                f"`ehrqa {self.name} {name}` is in the package {package}, which is not installed",
                f"`pip install {package}`, or `make setup` in a checkout",
            )
        near = get_close_matches(name, self.list_commands(ctx), n=1)
        told = f"; did you mean '{near[0]}'?" if near else ""
        raise click.UsageError(f"no command '{output.safe(name)}'{told}", ctx)

    def _added(self) -> list[str]:
        return names(str(self.name))


class ListedCommand(click.Command):
    """A command of ``ehrqa eval`` with what ``ehrqa eval list`` says of its benchmark."""

    def __init__(self, *args: Any, listed: Benchmark, **more: Any) -> None:
        super().__init__(*args, **more)
        self.listed = listed


def names(group: str) -> list[str]:
    """The names of the commands that packages add to ``group``, sorted; nothing is imported."""
    start = f"{group} "
    found = registry.names(registry.COMMAND)
    return [name.removeprefix(start) for name in found if name.startswith(start)]


def listed() -> Iterator[Benchmark]:
    """The benchmarks of the commands that packages add to ``ehrqa eval``."""
    for name in names("eval"):
        if isinstance(command := load("eval", name), ListedCommand):
            yield command.listed


def load(group: str, name: str) -> click.Command:
    """The command, or of a broken one a command that says so: the group can still be listed."""
    try:
        return registry.load_object(registry.COMMAND, f"{group} {name}", click.Command)
    except PluginError as error:
        broken = error

    def tell() -> NoReturn:
        raise broken

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(
        name, anything, tell, short_help=f"broken: {broken.message}", add_help_option=False
    )
