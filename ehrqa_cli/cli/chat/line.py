"""Reading a plain chat's lines: from a terminal with history and completion, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.contracts.errors import UsageError

PROMPT = "ask> "
MAX_LINE = 100_000  # characters; more is not a question, and is not kept in memory
Complete = Callable[[str], Iterable[str]]


class TooLong(UsageError):
    """A line that is longer than anything that can be asked."""


class Lines:
    """The user's lines. ``complete`` gives whole lines that a beginning may become."""

    def __init__(self, complete: Complete) -> None:
        self.typed = sys.stdin.isatty()
        self._readline: Any = None
        if self.typed and sys.stdout.isatty():
            self._readline = _readline(complete)
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")

    def remember(self, past: Iterable[str]) -> None:
        """Questions of before, for the up key."""
        if self._readline is not None:
            for line in past:
                self._readline.add_history(line)

    def read(self) -> str | None:
        """The next line without its end; None when there are no more.

        Raises TooLong, after all of that line was read, and KeyboardInterrupt.
        """
        if self._readline is not None:
            try:
                line = input(PROMPT)
            except EOFError:
                output.line()
                return None
            except ValueError:  # a NUL in it
                return ""
        else:
            if self.typed:
                diagnostics.write(PROMPT)
            found = self._next()
            if found is None:
                return None
            line = found
        if not self.typed and line.strip():
            output.line(f"{PROMPT}{line.strip()}")  # a transcript shows what was asked
        return line.strip()

    def _next(self) -> str | None:
        line = sys.stdin.readline(MAX_LINE)
        if not line:
            return None
        if len(line) == MAX_LINE and not line.endswith("\n"):
            size = len(line)
            while more := sys.stdin.readline(MAX_LINE):
                size += len(more)
                if more.endswith("\n"):
                    break
            raise TooLong(f"a line of {size:,} characters was left out", "ask in at most 2,000")
        return line.rstrip("\r\n")


def _readline(complete: Complete) -> Any:
    """Python's readline with completion of whole lines; None where there is none."""
    try:
        import readline
    except ImportError:
        return None
    found: list[str] = []

    def completer(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = list(complete(text))
        return found[state] if state < len(found) else None

    readline.clear_history()
    readline.set_auto_history(True)
    readline.set_completer_delims("")
    readline.set_completer(completer)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    return readline
