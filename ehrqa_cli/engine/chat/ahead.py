"""While nobody asks, a reader that reads whole records reads that of the patient talked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat.events import Event, Opening, Said

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.conversation import Conversation
    from ehrqa_cli.notes.desk import NoteDesk


class Ahead:
    """Reads one patient's notes ahead; what was read before it was ended is kept by the reader."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._done: int | None = None
        self._reading: NoteDesk | None = None

    def read(self, talk: Conversation, busy: Callable[[], bool]) -> None:
        """Read on until all is read, or ``busy`` says that there is something else to do."""
        patient = talk.patient_id
        if patient is None or patient == self._done:
            return
        told = False

        def on_read(read: int, of: int) -> None:
            nonlocal told
            told = True
            done = 100 * read // max(1, of)
            self._tell(Opening(f"reading the notes of patient {patient}, {done}%"))
            if busy():
                self.stop()

        try:
            self._reading = talk.session.notes
            if self._reading is not None:
                self._reading.read_ahead(patient, on_read)
            self._done = patient
        except Cancelled:
            pass  # it goes on when there is nothing else
        except Exception as fault:
            self._done = patient  # a question says it again; this need not
            self._tell(Said(str(known(fault)), bad=True))
        finally:
            self._reading = None
            if told:
                self._tell(Opening(""))

    def stop(self) -> None:
        """End it, from any thread."""
        reading = self._reading
        if reading is not None:
            reading.cancel()


def known(fault: BaseException) -> EhrqaError:
    """The fault; one of ours as one line, for it must not end the conversation."""
    if isinstance(fault, EhrqaError):
        return fault
    what = f"unexpected {type(fault).__name__}: {fault}"
    return EhrqaError(what, "this is a fault of ehrqa; the chat goes on")
