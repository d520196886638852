"""The program in a pseudo terminal: stray bytes, a tiny window, a signal, and what it leaves."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.cli.commands import COMMANDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX")
LEAVES_THE_SCREEN = b"\x1b[?1049l"
SHOWS_THE_CURSOR = b"\x1b[?25h"


class Running:
    """`ehrqa chat` in a terminal of 80 x 24."""

    def __init__(self, db: Path) -> None:
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            # COLUMNS and LINES of before the terminal was made must not count.
            os.environ |= {"COLUMNS": "80", "LINES": "24"}
            os.environ.pop("NO_COLOR", None)
            os.environ |= {"TERM": "xterm-256color", "EHRQA_LOG": "off"}
            command = [sys.executable, "-m", "ehrqa_cli", "chat", "--db", str(db)]
            os.execv(command[0], command)
        self.resize(80, 24)
        self.before = termios.tcgetattr(self.terminal)

    def resize(self, width: int, height: int) -> None:
        """Make the window this large, and tell the program."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def until(self, wanted: bytes, seconds: float = 30) -> None:
        """Read what is drawn until this was."""
        deadline = time.monotonic() + seconds
        while wanted not in self.seen:
            assert time.monotonic() < deadline, (wanted, self.seen[-2000:])
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 65536)

    def send(self, keys: bytes) -> None:
        """Press these."""
        os.write(self.terminal, keys)

    def end(self) -> int:
        """Read to the end; the exit code."""
        try:
            while data := os.read(self.terminal, 65536):
                self.seen += data
        except OSError:
            pass  # the other side is closed
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def running(ehr: Path) -> Iterator[Running]:
    started = Running(ehr)
    yield started
    os.close(started.terminal)


def test_stray_bytes_and_a_tiny_window_do_not_end_it(running: Running) -> None:
    running.until(b"Ask about the EHR")
    running.send(b"\xff\xfe\x00\x80\xc3(" + bytes(range(128, 200)))
    running.send(b"\x1b[200~\x00\x01pasted\x1b[201~")
    running.until(b"control characters")
    running.resize(20, 5)
    running.until(b"too small")
    running.resize(80, 24)
    running.send(b"\x15")  # Ctrl-U
    running.send(b"zqxzqx")
    running.until(b"zqxzqx")
    running.send(b"\x11")  # Ctrl-Q
    assert running.end() == 0
    assert LEAVES_THE_SCREEN in running.seen and SHOWS_THE_CURSOR in running.seen
    assert b"Traceback" not in running.seen


def test_a_signal_leaves_the_terminal_sane(running: Running) -> None:
    running.until(b"Ask about the EHR")
    os.kill(running.pid, signal.SIGTERM)
    assert running.end() == 128 + signal.SIGTERM
    assert running.seen.rstrip().endswith(b"l") or LEAVES_THE_SCREEN in running.seen
    assert SHOWS_THE_CURSOR in running.seen


def test_a_wrong_database_or_theme_is_said_before_the_screen_is_taken(tmp_path: Path) -> None:
    missing = Running(tmp_path / "missing.sqlite")
    assert missing.end() == 1
    assert b"error: " in missing.seen and b"\x1b[?1049h" not in missing.seen
    os.close(missing.terminal)


def test_the_command_is_listed() -> None:
    assert COMMANDS["chat"][0] == "ehrqa_cli.tui.command"
