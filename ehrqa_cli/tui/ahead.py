"""While nobody asks, a reader that reads whole records reads that of the patient talked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.message import Message

from ehrqa_cli.tui.messages import Opening

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat import Conversation
    from ehrqa_cli.notes.desk import NoteDesk


class Ahead:
    """Reads one patient's notes ahead; what was read before it was ended is kept by the reader."""

    def __init__(self, post: Callable[[Message], Any], busy: Callable[[], bool]) -> None:
        self._post, self._busy = post, busy
        self._done: int | None = None
        self._reading: NoteDesk | None = None

    def read(self, talk: Conversation | None) -> None:
        """Read on until done. Raises Cancelled when there is something else to do."""
        patient = talk.patient_id if talk is not None else None
        notes = talk.session.notes if talk is not None and patient is not None else None
        if talk is None or notes is None or patient is None or patient == self._done:
            return
        self._reading = notes
        told = False

        def on_read(read: int, of: int) -> None:
            nonlocal told
            told = True
            what = f"reading the notes of patient {patient}, {100 * read // max(1, of)}%"
            self._post(Opening(what))
            if self._busy():
                notes.cancel()

        try:
            notes.read_ahead(patient, on_read)
            self._done = patient
        finally:
            self._reading = None
            if told:
                self._post(Opening(""))

    def stop(self) -> None:
        """End it, from any thread."""
        reading = self._reading
        if reading is not None:
            reading.cancel()
