"""One thread that does a chat's work in turn, so that Ctrl-C is heard while it does.

Python hears a signal in the main thread only, and not while that waits in llama.cpp or SQLite.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")
_LOOK = 0.02  # seconds between two looks at a job


class Job(Generic[Made]):
    """Something to be done; ``result`` waits for it."""

    def __init__(self, work: Callable[[], Made]) -> None:
        self._work = work
        self._done = threading.Event()
        self._made: Made | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, and keep what comes of it."""
        try:
            self._made = self._work()
        except BaseException as error:
            self._error = error
        self._done.set()

    def wait(self, seconds: float | None = None, look: Callable[[], None] | None = None) -> bool:
        """Wait until it is done, or ``seconds``; ``look`` is called now and then meanwhile.

        Signals are handled while waiting. True when it is done.
        """
        left = seconds
        while not self._done.wait(_LOOK if left is None else min(_LOOK, max(left, 0.0))):
            if look is not None:
                look()
            if left is not None:
                left -= _LOOK
                if left <= 0:
                    return self._done.is_set()
        return True

    def result(self) -> Made:
        """What came of it, once it is done. Raises what it raised."""
        assert self._done.is_set()
        if self._error is not None:
            raise self._error
        return self._made  # type: ignore[return-value]


class Worker:
    """The thread. It is a daemon: what still runs when the program leaves is left."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job[object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="chat", daemon=True)
        self._thread.start()

    def put(self, work: Callable[[], Made]) -> Job[Made]:
        """Do ``work`` when all before it is done."""
        job = Job(work)
        self._jobs.put(job)  # type: ignore[arg-type]
        return job

    def close(self, seconds: float) -> bool:
        """End the thread when all is done; False when that took longer than ``seconds``."""
        self._jobs.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
