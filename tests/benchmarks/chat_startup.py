"""How soon `ehrqa chat` takes a question, against how soon harlequin opens the same database.

    python tests/benchmarks/chat_startup.py --db demo.sqlite --harlequin venv/bin/harlequin

Each is started in a pseudo terminal of 120 x 36, in turn, after one run of each that is not
counted. Two times are taken from the start of the process: until a marker is on the screen (the
question line; harlequin's catalog with the database in it), and until a key typed after that is.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from pathlib import Path

ESCAPES = re.compile(rb"\x1b(\[[0-9;:?<>=]*[ -/]*[@-~]|[\]P_][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
KEYS = b"zqx"
LONGEST = 30.0  # seconds for one start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--harlequin", type=Path, help="its program, in an environment of its own")
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    ehrqa = str(Path(sys.executable).with_name("ehrqa"))
    programs = {"ehrqa chat": ([ehrqa, "chat", "--db", str(args.db), "--no-log"], b"Ask about")}
    if args.harlequin:
        programs["harlequin"] = ([str(args.harlequin), "-a", "sqlite", str(args.db)], b"main db")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for run in range(args.runs + 1):
        for name, (command, marker) in programs.items():
            times = started(command, marker)
            if run:
                found[name].append(times)
    for name, times in found.items():
        for what, column in zip(("shown", "takes keys"), zip(*times, strict=True), strict=True):
            low, middle, high = min(column), statistics.median(column), max(column)
            print(f"{name:<12}{what:<12}median {middle:.2f} s, {low:.2f} to {high:.2f}")
    return 0


def started(command: list[str], marker: bytes) -> tuple[float, float]:
    """Seconds from the start until ``marker`` is on the screen, and until typed keys are."""
    begin = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    try:
        shown = _until(terminal, marker, begin)
        os.write(terminal, KEYS)
        return shown, _until(terminal, KEYS, begin)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _until(terminal: int, marker: bytes, begin: float) -> float:
    seen = b""
    while time.perf_counter() - begin < LONGEST:
        if select.select([terminal], [], [], 0.5)[0]:
            seen += os.read(terminal, 65536)
            if marker in ESCAPES.sub(b"", seen):
                return time.perf_counter() - begin
    raise SystemExit(f"{marker!r} did not appear within {LONGEST:.0f} s")


if __name__ == "__main__":
    raise SystemExit(main())
