"""Ctrl-C, also where an exception cannot get through.

Python code that SQLite calls while a query runs cannot raise KeyboardInterrupt past SQLite: the
query ends with an error of its own. So the signal is also remembered.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_seen = threading.Event()


def install() -> None:
    """Remember SIGINT from now on, and raise KeyboardInterrupt as before."""
    _seen.clear()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _on_signal)


def _on_signal(number: int, frame: FrameType | None) -> None:
    _seen.set()
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if the user pressed Ctrl-C since `install`."""
    if _seen.is_set():
        raise KeyboardInterrupt
