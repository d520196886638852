"""``ehrqa completion``: the shell's completion script, made by click."""

from __future__ import annotations

import click

from ehrqa_cli.cli import output


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of SHELL.

    \b
    Examples:
      ehrqa completion bash > ~/.local/share/bash-completion/completions/ehrqa
      ehrqa completion zsh > ~/.zfunc/_ehrqa
      ehrqa completion fish > ~/.config/fish/completions/ehrqa.fish
    """
    from click.shell_completion import get_completion_class

    from ehrqa_cli.cli.main import root

    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    # Not kind.source(): that asks which version of bash this is, by starting one.
    script = kind(root, {}, "ehrqa", "_EHRQA_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
    return 0
