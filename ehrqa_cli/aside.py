"""A call on another thread, so that whoever waits for it can stop waiting.

One call of a function inside SQLite cannot be ended from outside: neither its progress handler nor
an interrupt is looked at before the call is over, and a statement may have thousands in a row.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

Made = TypeVar("Made")
Calls = SimpleQueue["Callable[[], None] | None"]
_LOOK = 0.05  # seconds between two looks at whether to go on waiting


_left: set[Future[Any]] = set()  # what is still running though nobody waits for it


class Left(Exception):
    """The call was left to itself; it may still be running."""


def settle(seconds: float) -> bool:
    """Wait until all calls that were left are over, ``seconds`` at most; were there any, and are
    they over? They share this process's memory."""
    left = set(_left)
    return bool(left) and not wait(left, max(seconds, 0.0)).not_done


def running() -> bool:
    """Is a call that was left still running?"""
    return bool(_left)


class Aside:
    """Runs calls one after the other on a thread of its own, which is made at the first."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._calls: Calls = SimpleQueue()

    def run(
        self, work: Callable[[], Made], leave: Callable[[], bool], late: Callable[[], None]
    ) -> Made:
        """What ``work`` gives, or its exception. Raises Left once ``leave`` says so, and whatever
        is raised in the thread that waits; ``late`` is then called when ``work`` is over."""
        future: Future[Made] = Future()

        def call() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        self._start()
        self._calls.put(call)
        try:
            while not wait((future,), _LOOK).done:
                if leave():
                    raise Left
        except BaseException:
            _left.add(future)
            future.add_done_callback(lambda _: late())
            future.add_done_callback(_left.discard)
            self.close()
            raise
        return future.result()

    def close(self) -> None:
        """Let the thread end when its call is over."""
        self._calls.put(None)
        self._thread = None

    def _start(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return  # a process that was forked has none
        self._calls = SimpleQueue()
        weakref.finalize(self, self._calls.put, None)
        # A daemon: the program may end while a call is still running.
        self._thread = threading.Thread(
            target=_loop, args=(self._calls,), name="database", daemon=True
        )
        self._thread.start()


def _loop(calls: Calls) -> None:
    while _next(calls):
        pass


def _next(calls: Calls) -> bool:
    """Run the next call; no name of it stays behind, which would keep its database open."""
    call = calls.get()
    if call is not None:
        call()
    return call is not None
