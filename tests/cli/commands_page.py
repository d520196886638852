"""docs/commands.md, made from the commands themselves: `python tests/cli/commands_page.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ehrqa_cli.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
_HEAD = """\
# Every command

Made by `python tests/cli/commands_page.py`; a test fails where a command is missing. `ehrqa COMMAND
--help` has examples.
"""


def all_commands() -> list[tuple[str, click.Command]]:
    """(as it is called, the command) of each command and group, those of plugins too."""
    found: list[tuple[str, click.Command]] = []
    context = click.Context(main.root)

    def walk(prefix: str, group: click.Group) -> None:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found.append((f"{prefix} {name}", command))
            if isinstance(command, click.Group):
                walk(f"{prefix} {name}", command)

    walk("ehrqa", main.root)
    return found


def page() -> str:
    """The page: a section a group, its commands with their options."""
    parts = [_HEAD]
    for name, command in all_commands():
        level = "##" if name.count(" ") == 1 else "###"
        parts.append(f"{level} {name}\n\n{command.get_short_help_str(limit=200)}\n")
        rows = list(_options(command))
        if rows:
            parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command)
    for option in command.params:
        told = option.get_help_record(context) if isinstance(option, click.Option) else None
        if told is not None:
            name, text = (" ".join(part.split()).replace("|", "\\|") for part in told)
            yield f"| `{name}` | {text} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
