"""One thread that does one thing after another, so that the screen never waits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError


class Desk:
    """Jobs in the order in which they came. A fault that is no job's own goes to ``on_fault``.

    The thread is a daemon and not one of Textual's: leaving the chat must not wait for a model
    that is still being read from the disk.
    """

    def __init__(
        self,
        on_fault: Callable[[EhrqaError], None],
        idle: Callable[[], None] = lambda: None,
        hurry: Callable[[], None] = lambda: None,
    ) -> None:
        """``idle`` is called when there is nothing to do, ``hurry`` to end it when there is."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._on_fault, self._idle, self._hurry = on_fault, idle, hurry
        self._thread = threading.Thread(target=self._work, name="chat", daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        """Do ``job`` when those before it are done."""
        self._jobs.put(job)
        self._hurry()

    @property
    def busy(self) -> bool:
        """Whether something waits to be done."""
        return not self._jobs.empty()

    def close(self, seconds: float) -> bool:
        """Take no more jobs; wait at most so long for the running one. Whether it has ended."""
        self._jobs.put(None)
        self._hurry()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _next(self) -> Callable[[], None] | None:
        if not self.busy:
            try:
                self._idle()
            except Cancelled:
                pass  # there is something to do
            except EhrqaError as error:
                self._on_fault(error)
            except Exception as error:
                self._on_fault(fault_of_ours(error))
        return self._jobs.get()

    def _work(self) -> None:
        while (job := self._next()) is not None:
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
