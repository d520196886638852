"""Ctrl-C, also where an exception cannot get through.

Python code that SQLite calls while a query runs cannot raise KeyboardInterrupt past SQLite: the
query ends with an error of its own. So the signal is also remembered.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_seen = threading.Event()


@contextmanager
def watch() -> Iterator[None]:
    """Remember SIGINT inside the block, and raise KeyboardInterrupt as ever."""
    _seen.clear()
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only it gets signals
        return
    before = signal.signal(signal.SIGINT, _on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_signal(number: int, frame: FrameType | None) -> None:
    _seen.set()
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if the user pressed Ctrl-C inside `watch`."""
    if _seen.is_set():
        raise KeyboardInterrupt
