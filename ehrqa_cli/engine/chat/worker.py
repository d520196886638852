"""The thread of a chat: it sees to wishes in turn, each under a ticket, and can end them.

Python hears a signal in the main thread only, and not while that waits in a model or a database.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat.events import Doing, Done, Event, Said
from ehrqa_cli.engine.session import Session

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.conversation import Conversation
    from ehrqa_cli.notes.desk import NoteDesk

Report = Callable[[int, Event], object]
_AGAIN = 0.25  # seconds until what has not ended is told again


class Worker:
    """``report`` gets events under the ticket of their wish, in the chat's thread.

    That is a daemon: leaving must not wait for a model that is still being loaded. While there is
    no wish and all is warm, it reads the notes of the patient ahead.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tickets = itertools.count(1)
        self._jobs: queue.SimpleQueue[tuple[int, Callable[[], None]] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # a signal may come while this thread holds it
        self._running = 0
        self._dropped: set[int] = set()
        self._closing = self._warm = False
        self._open_talk: Conversation | None = None
        self._reading: NoteDesk | None = None
        self._read: int | None = None  # the patient whose notes were read ahead
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
            if self._open_talk is not None:
                self._open_talk.cancel()
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

    def _post(self, job: Callable[[], None], ticket: int | None = None) -> int:
        """Do ``job`` when all before it is done; returns its ticket."""
        ticket = ticket or next(self._tickets)
        self._jobs.put((ticket, job))
        self._hurry()
        return ticket

    def _tell(self, event: Event) -> None:
        """Report under the ticket of what runs."""
        self._report(self._running, event)

    def _work(self) -> None:
        while True:
            if self._jobs.empty():
                self._read_ahead()
            wish = self._jobs.get()
            if wish is None:
                break
            self._see_to(*wish)
        if self._open_talk is not None:
            session = self._open_talk.session
            session.close()
            Session.graphs.close(session)

    def _see_to(self, ticket: int, job: Callable[[], None]) -> None:
        error: EhrqaError | None = None
        try:
            with self._lock:
                if self._closing or ticket in self._dropped:
                    raise Cancelled("cancelled", "")
                self._running = ticket
                if self._open_talk is not None:
                    # What was meant to end the one before may have come after its end.
                    self._open_talk.session.resume()
            job()
        except BaseException as fault:  # whatever it is: somebody waits for the end
            error = known(fault)
        with self._lock:
            self._running = 0
            self._dropped.discard(ticket)
        self._report(ticket, Done(error))

    def _read_ahead(self) -> None:
        """While nobody asks, let a reader that reads whole records read that of the patient; what
        was read before there is a wish is kept by the reader."""
        patient = self._open_talk.patient_id if self._open_talk and self._warm else None
        if self._open_talk is None or patient in (None, self._read):
            return

        def on_read(read: int, of: int) -> None:
            done = 100 * read // max(1, of)
            self._tell(Doing(f"reading the notes of patient {patient}, {done}%"))
            if not self._jobs.empty():
                self._hurry()

        try:
            self._reading = self._open_talk.session.notes
            if self._reading is not None:
                self._reading.read_ahead(patient, on_read)
            self._read = patient
        except Cancelled:
            pass  # it goes on when there is no wish
        except Exception as fault:
            self._read = patient  # a question says it again; this need not
            self._tell(Said(str(known(fault)), bad=True))
        self._reading = None
        self._tell(Doing(""))

    def _hurry(self) -> None:
        """End reading ahead, from any thread."""
        reading = self._reading
        if reading is not None:
            reading.cancel()


def known(fault: BaseException) -> EhrqaError:
    """The fault; one of ours as one line, for it must not end the conversation."""
    if isinstance(fault, EhrqaError):
        return fault
    what = f"unexpected {type(fault).__name__}: {fault}"
    return EhrqaError(what, "this is a fault of ehrqa; the chat goes on")
