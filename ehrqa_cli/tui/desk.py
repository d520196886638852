"""One thread that does one thing after another, so that the screen never waits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from ehrqa_cli.contracts.errors import EhrqaError


class Desk:
    """Jobs in the order in which they came. A fault that is no job's own goes to ``on_fault``.

    The thread is a daemon and not one of Textual's: leaving the chat must not wait for a model
    that is still being read from the disk.
    """

    def __init__(self, on_fault: Callable[[EhrqaError], None]) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._on_fault = on_fault
        self._thread = threading.Thread(target=self._work, name="chat", daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        """Do ``job`` when those before it are done."""
        self._jobs.put(job)

    def close(self, seconds: float) -> None:
        """Take no more jobs; wait at most so long for the running one."""
        self._jobs.put(None)
        self._thread.join(seconds)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except EhrqaError as error:
                self._on_fault(error)
            except Exception as error:  # a fault of ours must not end the conversation
                self._on_fault(fault_of_ours(error))


def fault_of_ours(error: Exception) -> EhrqaError:
    """An unexpected exception as one line; the screen is no place for a traceback."""
    what = f"unexpected {type(error).__name__}: {error}"
    return EhrqaError(what, "this is a fault of ehrqa; the chat goes on")
