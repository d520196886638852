"""``ehrqa chat``: the command. The screen is imported only when there is one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli.answer_options import answer_options, read_answer_options
from ehrqa_cli.cli.options import open_database
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.cli.answer_options import AnswerOptions


@click.command(short_help="Talk with the EHR in the terminal.")
@answer_options
@click.option("--plain", is_flag=True, help="Line by line: for a screen reader, or in a pipe.")
@click.option("--theme", metavar="NAME", help="The colours [default: theme under [chat]].")
def chat(plain: bool, theme: str | None, **flags: Any) -> int:
    """Talk with the EHR: ask, follow up, and see the rows, notes and X-rays an answer rests on.

    The question line takes questions at once; Enter sends one, Esc ends it, F1 shows the keys,
    Ctrl-Q leaves. Conversations are kept for you alone, unless --no-log is given.

    \b
    Examples:
      ehrqa chat --db ehr.sqlite
      ehrqa chat --db ehr.sqlite --patient 10018081 --images xrays
      ehrqa chat --db ehr.sqlite --plain --no-log
    """
    options = read_answer_options(flags)
    if plain or not has_screen():
        from ehrqa_cli.cli.chat.plain import plain_chat

        return plain_chat(options)
    if not _only_notes(options.db):
        open_database(options.db).close()  # a wrong file is said before the screen is taken
    return run(options, theme)


def _only_notes(db: Path) -> bool:
    """There may be notes beside a database that is not there."""
    if db.exists():
        return False
    from ehrqa_cli.notes.store import notes_path

    return notes_path(db).exists()


def has_screen() -> bool:
    """Whether there is a terminal that can be drawn on."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    term = os.environ.get("TERM") or ("dumb" if os.name == "posix" else "")
    return all(stream.isatty() for stream in streams) and term != "dumb"


def run(options: AnswerOptions, theme: str | None) -> int:
    """Show the screen until the user leaves; the exit code. Raises what ended it before that."""
    from textual.theme import BUILTIN_THEMES

    from ehrqa_cli import config
    from ehrqa_cli.tui import graphics
    from ehrqa_cli.tui.app import ChatApp
    from ehrqa_cli.tui.driver import tolerate_bytes
    from ehrqa_cli.tui.keys import check_keys

    settings = config.load()
    theme = theme or settings.theme
    if theme is not None and theme not in BUILTIN_THEMES:
        hint = f"the themes are: {', '.join(sorted(BUILTIN_THEMES))}"
        raise UsageError(f"there is no theme {theme!r}", hint)
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)  # they would win over the real size, and not change with it
    tolerate_bytes()
    graphics.look()
    app = ChatApp(options, theme=theme, keys=check_keys(settings.keys))
    ended = False
    try:
        code = app.run() or 0
    finally:
        ended = app.controller.close()
    if app.error is not None:
        raise app.error
    if not ended:
        # A model is still being loaded: Python's own end would wait for its threads, for ever.
        os._exit(code)
    return code
