"""Work that waits for a server, in a thread of its own, so that it can be ended at any moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar, cast

from ehrqa_cli.contracts.errors import Cancelled

T = TypeVar("T")
Tell = Callable[[str], None]
_PIECE, _DONE, _FAILED, _ENDED = range(4)


class Switch:
    """Ends whatever is watched, from any thread and from a signal handler."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may press it while its thread holds it
        self._pressed = False
        self._ends: list[Callable[[], None]] = []

    def press(self) -> None:
        """End what runs, else the next thing to run."""
        with self._lock:
            self._pressed = True
            for end in list(self._ends):
                end()

    def release(self) -> None:
        """Forget that it was pressed."""
        with self._lock:
            self._pressed = False

    @contextmanager
    def watched(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` when it is pressed, at once if it is already. ``end`` must not block."""
        with self._lock:
            self._ends.append(end)
            if self._pressed:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


def run(work: Callable[[Tell], Awaitable[T]], switch: Switch, on_piece: Tell | None = None) -> T:
    """What ``work`` returns; each text that it tells is handed to ``on_piece`` in this thread.

    Raises what ``work`` raises, and Cancelled as soon as ``switch`` is pressed. What is left of
    the work then ends by itself, its connections first: looking up a host's name, for one, cannot
    be ended.
    """
    said: SimpleQueue[tuple[int, object]] = SimpleQueue()
    own = Switch()

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end() -> None:
            loop.call_soon_threadsafe(task.cancel)

        # Told from in here: the loop itself may still have to wait for the look-up of a name.
        try:
            with own.watched(end):
                said.put((_DONE, await work(lambda piece: said.put((_PIECE, piece)))))
        except BaseException as error:
            said.put((_FAILED, error))

    def thread() -> None:
        asyncio.run(main())

    with switch.watched(lambda: said.put((_ENDED, None))):
        threading.Thread(target=thread, name="ehrqa-openai", daemon=True).start()
        try:
            return cast(T, _heard(said, on_piece or (lambda piece: None)))
        finally:
            own.press()  # however this ends, the work does too


def _heard(said: SimpleQueue[tuple[int, object]], on_piece: Tell) -> object:
    while True:
        kind, what = said.get()
        if kind == _PIECE:
            on_piece(str(what))
        elif kind == _DONE:
            return what
        elif kind == _ENDED or isinstance(what, asyncio.CancelledError):
            raise Cancelled("cancelled", "")
        else:
            assert isinstance(what, BaseException)
            raise what
