"""One thread that sees to wishes in turn, each under a ticket, and can end them.

Python hears a signal in the main thread only, and not while that waits in a model or a database.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat.events import Done, Event

Report = Callable[[int, Event], object]
_AGAIN = 0.25  # seconds until what has not ended is told again


class Worker:
    """The thread, a daemon: leaving must not wait for a model that is still being loaded.

    ``report`` gets events under the ticket of their wish, in this thread.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tickets = itertools.count(1)
        self._jobs: queue.SimpleQueue[tuple[int, Callable[[], None]] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # a signal may come while this thread holds it
        self._running = 0
        self._dropped: set[int] = set()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="chat", daemon=True)
        self._thread.start()

    def say(self, event: Event) -> int:
        """Report what needs no work, whatever is running; returns its ticket."""
        ticket = next(self._tickets)
        self._report(ticket, event)
        self._report(ticket, Done())
        return ticket

    def cancel(self, *tickets: int) -> None:
        """End these wishes, also those not begun; returns at once.

        What is between two steps may not hear of it, so it is told again until it has ended.
        """
        with self._lock:
            self._dropped.update(tickets)
            if self._running not in self._dropped:
                return
            self._interrupt()
        again = threading.Timer(_AGAIN, self.cancel)
        again.daemon = True
        again.start()

    def close(self, seconds: float = 2.0) -> bool:
        """End what runs, see to nothing that waits, and close what is open; has all that ended
        within ``seconds``?"""
        self._closing = True
        self.cancel(self._running)
        self._jobs.put(None)
        self._hurry()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # What a chat has to add; `_interrupt` and `_hurry` are called from any thread

    def _ready(self) -> None:
        """Forget what was meant to end the wish before: it may have come after its end."""

    def _interrupt(self) -> None:
        """End the wish that runs."""

    def _idle(self) -> None:
        """Do something while there is no wish. May raise Cancelled after `_hurry`."""

    def _hurry(self) -> None:
        """End what `_idle` does: there is something else."""

    def _shut(self) -> None:
        """Close what is open."""

    # For its wishes

    def _post(self, job: Callable[[], None], ticket: int | None = None) -> int:
        """Do ``job`` when all before it is done; returns its ticket."""
        ticket = ticket or next(self._tickets)
        self._jobs.put((ticket, job))
        self._hurry()
        return ticket

    def _tell(self, event: Event) -> None:
        """Report under the ticket of what runs."""
        self._report(self._running, event)

    @property
    def _busy(self) -> bool:
        return not self._jobs.empty()

    def _work(self) -> None:
        while True:
            if not self._busy:
                self._idle()
            wish = self._jobs.get()
            if wish is None:
                return self._shut()
            self._see_to(*wish)

    def _see_to(self, ticket: int, job: Callable[[], None]) -> None:
        error: EhrqaError | None = None
        try:
            with self._lock:
                if self._closing or ticket in self._dropped:
                    raise Cancelled("cancelled", "")
                self._running = ticket
                self._ready()
            job()
        except BaseException as fault:  # whatever it is: somebody waits for the end
            error = known(fault)
        with self._lock:
            self._running = 0
            self._dropped.discard(ticket)
        self._report(ticket, Done(error))


def known(fault: BaseException) -> EhrqaError:
    """The fault; one of ours as one line, for it must not end the conversation."""
    if isinstance(fault, EhrqaError):
        return fault
    what = f"unexpected {type(fault).__name__}: {fault}"
    return EhrqaError(what, "this is a fault of ehrqa; the chat goes on")
