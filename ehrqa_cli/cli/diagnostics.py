"""The only writer to stderr: errors, hints, notes and progress. stderr is narration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ehrqa_cli.cli.output import safe

# Called with (units done, units in all or None, what is being done).
Advance: TypeAlias = Callable[[int, int | None, str], None]


def write(text: str) -> None:
    """Write ``text`` as it is; a closed stderr is no reason to fail."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (BrokenPipeError, ValueError):
        pass


def _one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def error(message: str, hint: str = "") -> None:
    """What is wrong on one line, the next step on another."""
    write(f"error: {_one_line(message)}\n" + (f"hint: {_one_line(hint)}\n" if hint else ""))


def warn(message: str) -> None:
    """Something the user should know though the work goes on."""
    write(f"warning: {_one_line(message)}\n")


def note(message: str) -> None:
    """Narration."""
    write(f"{_one_line(message)}\n")


@contextmanager
def progress(unit: str = "count") -> Iterator[Advance]:
    """A progress bar on a terminal; elsewhere nothing. ``unit`` is count, rate (a count with its
    speed), bytes or share."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(MofNCompleteColumn):
        """7/10 3.2/s."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return super().render(task).append(f" {speed:.1f}/s" if speed else "")

    columns: dict[str, type[ProgressColumn]] = {
        "count": MofNCompleteColumn,
        "rate": Rate,
        "bytes": DownloadColumn,
        "share": TaskProgressColumn,
    }
    amount = columns[unit]()
    label = TextColumn("{task.description}", markup=False)
    bar = Progress(
        label,
        BarColumn(),
        amount,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        tasks: dict[str, object] = {}

        def advance(done: int, total: int | None, what: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(safe(what), total=total)
            bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        yield advance
