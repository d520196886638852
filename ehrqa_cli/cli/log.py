"""``ehrqa log``: where the answer log is, and its end."""

from __future__ import annotations

import click

from ehrqa_cli.cli import diagnostics, output


@click.group(short_help="Find or purge the answer log.")
def log() -> None:
    """The answer log: questions and answers, in a file that only you can read.

    Switch it off with --no-log, EHRQA_LOG=off, or log = false in the settings file.

    \b
    Examples:
      ehrqa log path
      ehrqa log purge
    """


@log.command()
def path() -> int:
    """Print the log's path, whether it exists or not.

    \b
    Examples:
      sqlite3 "$(ehrqa log path)" "SELECT asked_at, question, text FROM answers"
    """
    from ehrqa_cli import config

    output.write(f"{config.load().log_path()}\n")
    return 0


@log.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(yes: bool) -> int:
    """Delete the log, the conversations kept beside it, and what a larger reader kept of notes.

    \b
    Examples:
      ehrqa log purge
      ehrqa log purge --yes
    """
    from ehrqa_cli import config
    from ehrqa_cli.engine.chat.history import ChatHistory, chats_path
    from ehrqa_cli.notes.read.instruct.states import States
    from ehrqa_cli.store import AnswerLog, PrivateFile

    settings = config.load()
    kept: list[PrivateFile] = [AnswerLog(settings.log_path()), ChatHistory(chats_path(settings))]
    found = [file for file in kept if file.path.exists()]
    states = States()
    read = states.count()
    if not found and not read:
        diagnostics.note(f"there is no answer log at {kept[0].path}")
        return 0
    if not yes:
        told = [f"the {file.what} {file.path}" for file in found]
        told += [f"{read} notes as read in {states.folder}"] if read else []
        click.confirm(f"Delete {' and '.join(told)}?", abort=True, err=True)
    for file in found:
        file.purge()
        diagnostics.note(f"deleted {file.path}")
    if read:
        diagnostics.note(f"deleted {states.purge()} notes as read in {states.folder}")
    return 0
