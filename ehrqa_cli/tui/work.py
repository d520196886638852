"""Everything that takes time, done at the desk; what comes of it is posted to the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.message import Message

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, UsageError
from ehrqa_cli.tui import messages as say
from ehrqa_cli.tui.about import about
from ehrqa_cli.tui.ahead import Ahead
from ehrqa_cli.tui.desk import Desk
from ehrqa_cli.tui.desk import fault_of_ours as _ours

if TYPE_CHECKING:
    from ehrqa_cli.cli.options import AnswerOptions
    from ehrqa_cli.engine.chat import ChatHistory, Conversation, Turn

_PAST_CHATS = 5  # conversations whose questions the up key reaches
_NOT_OPEN = UsageError("nothing is open yet", "see what was said above")


class Work:
    """The conversation, behind a queue. ``post`` may be called from the desk's thread."""

    def __init__(self, options: AnswerOptions, post: Callable[[Message], Any]) -> None:
        self.options = options
        self._post = post
        self._conversation: Conversation | None = None
        self._history: ChatHistory | None = None
        self._running: int | None = None
        self._dropped: set[int] = set()
        self._lock = threading.Lock()
        self._gone = False
        self._warm = False
        self._ahead = Ahead(post, lambda: self.desk.busy)
        self.desk = Desk(
            lambda error: post(say.Said(_told(error), bad=True)),
            idle=lambda: self._ahead.read(self._conversation if self._warm else None),
            hurry=self._ahead.stop,
        )

    def open(self) -> None:
        """Open the database, then the models."""
        self.desk.put(self._open)

    def ask(self, ticket: int, text: str) -> None:
        """Ask ``text``, when those before it are answered."""
        self.desk.put(lambda: self._ask(ticket, text, edited=False))

    def run(self, ticket: int, neuralsql: str) -> None:
        """Run an edited query."""
        self.desk.put(lambda: self._ask(ticket, neuralsql, edited=True))

    def cancel(self, ticket: int) -> None:
        """End a question, also one that has not begun; returns at once."""
        with self._lock:
            self._dropped.add(ticket)
            if self._running == ticket and self._conversation is not None:
                self._conversation.cancel()

    def read_evidence(self, turn: Turn) -> None:
        """Open what an answer rests on."""
        self.desk.put(lambda: self._post(say.EvidenceRead(turn, self._evidence(turn))))

    def read_patient(self) -> None:
        """Summarise the conversation's patient."""
        self.desk.put(self._patient)

    def set_patient(self, patient_id: int | None) -> None:
        """Talk about this patient from now on."""

        def job() -> None:
            self._talk().patient_id = patient_id
            self._patient()

        self.desk.put(job)

    def new(self) -> None:
        """Begin a new conversation."""

        def job() -> None:
            talk = self._talk()
            talk.new()
            self._post(say.Resumed((), talk.patient_id))

        self.desk.put(job)

    def search(self, words: str) -> None:
        """List the conversations kept, or the turns with these words."""

        def job() -> None:
            if self._history is None:
                raise _off()
            found = self._history.search(words) if words.strip() else self._history.chats()
            self._post(say.Listed(words, tuple(found)))

        self.desk.put(job)

    def resume(self, chat_id: int) -> None:
        """Go on with a conversation that was kept."""

        def job() -> None:
            talk = self._talk()
            talk.resume(chat_id)
            self._post(say.Resumed(tuple(talk.turns), talk.patient_id))

        self.desk.put(job)

    def forget(self, chat_id: int | None) -> None:
        """Delete a conversation that was kept; None: all of them."""

        def job() -> None:
            if self._history is None:
                raise _off()
            if chat_id is None:
                self._history.purge()
            else:
                self._history.forget(chat_id)
            self._post(say.Listed("", tuple(self._history.chats()) if chat_id is not None else ()))

        self.desk.put(job)

    def export(self, path: Path, force: bool = False) -> None:
        """Write the conversation to a file, in the format of its name's ending."""

        def job() -> None:
            from ehrqa_cli.cli.chat.export import export_chat

            talk = self._talk()
            self._post(say.Exported(export_chat(path, talk.turns, title=talk.title, force=force)))

        self.desk.put(job)

    def close(self, seconds: float = 2.0) -> bool:
        """End what is running and close the session, if that can be had in time."""
        with self._lock:
            if self._running is not None and self._conversation is not None:
                self._conversation.cancel()
        self.desk.put(self._close)
        return self.desk.close(seconds)

    def _talk(self) -> Conversation:
        if self._conversation is None:
            raise _NOT_OPEN
        return self._conversation

    def _open(self) -> None:
        fatal = True
        try:
            self._post(say.Opening("opening the database"))
            from ehrqa_cli.engine.chat import Completer, Conversation, history_of

            session = self.options.session()
            if not session.only_notes:
                _ = session.database.fingerprint(), session.as_of
            self._history = history_of(self.options.log)
            self._conversation = Conversation(
                session, patient_id=self.options.patient, history=self._history
            )
            fatal = False
            if self.options.patient is not None:
                self._patient()
            self._post(say.Opening("reading the names in the database"))
            complete = Completer.of(session).complete
            self._post(say.Opening("loading the models"))
            session.warm()
            self._warm = True
            self._post(say.Opened(about(session), complete, self._past()))
        except EhrqaError as error:
            self._post(say.NotOpened(error, fatal))
        except Exception as error:
            self._post(say.NotOpened(_ours(error), fatal))

    def _past(self) -> tuple[str, ...]:
        if self._history is None:
            return ()
        try:
            chats = self._history.chats(_PAST_CHATS)
            kept = [self._history.turns(chat.chat_id) for chat in reversed(chats)]
        except EhrqaError as error:
            self._post(say.Said(_told(error), bad=True))
            return ()
        return tuple(turn.typed for turns in kept for turn in turns if turn.kind == "question")

    def _ask(self, ticket: int, text: str, *, edited: bool) -> None:
        with self._lock:
            if ticket in self._dropped:
                self._post(say.Ended(ticket))
                return
            self._running = ticket
            if self._conversation is not None:
                self._conversation.session.resume()
        try:
            talk = self._talk()
            self._look_for_database()
            put = talk.run_neuralsql if edited else talk.ask
            if edited:  # which tells nothing itself
                self._post(say.Happened(ticket, "execute", None))
            turn = put(text, lambda name, what: self._post(say.Happened(ticket, name, what)))
            self._post(say.Answered(ticket, turn))
        except Cancelled:
            self._post(say.Ended(ticket))
        except EhrqaError as error:
            self._post(say.Ended(ticket, error))
        except Exception as error:
            self._post(say.Ended(ticket, _ours(error)))
        finally:
            with self._lock:
                self._running = None

    def _look_for_database(self) -> None:
        """An open file can be read after it was deleted or moved: then say so, once."""
        gone = not self.options.db.exists()
        if gone and not self._gone:
            what = f"{self.options.db} is gone: answers come from the file as it was opened"
            self._post(say.Said(what, bad=True))
        self._gone = gone

    def _evidence(self, turn: Turn) -> say.Evidence:
        from ehrqa_cli.engine.chat import evidence_rows, image_studies, image_view, note_views
        from ehrqa_cli.tui.picture import Grey, load

        session, problems = self._talk().session, []

        def had(get: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
            try:
                return get()
            except EhrqaError as error:
                problems.append(_told(error))
                return ()

        def image(study: int) -> tuple[Any, Grey | None]:
            view = image_view(session, study)
            path = view.path
            loaded = had(lambda: (load(path),)) if path is not None else ()
            return view, loaded[0] if loaded else None

        return say.Evidence(
            rows=had(lambda: evidence_rows(session, turn.answer)),
            notes=had(lambda: note_views(self.options.db, turn.answer)),
            images=had(lambda: tuple(image(study) for study in image_studies(turn.answer))),
            problems=tuple(problems),
        )

    def _patient(self) -> None:
        from ehrqa_cli.engine.chat import patient_summary

        talk = self._talk()
        number = talk.patient_id
        if number is None:
            self._post(say.PatientRead(None))
            return
        as_of, found, problem = talk.as_of or talk.session.as_of, None, ""
        try:
            found = patient_summary(talk.session.database, number, as_of, self.options.db)
        except EhrqaError as error:
            problem = _told(error)
        if found is None:
            problem = problem or f"Nobody here has the id {number}."
        self._post(say.PatientRead(number, found, as_of, problem))

    def _close(self) -> None:
        if self._conversation is not None:
            session = self._conversation.session
            session.close()
            close = getattr(session.graphs, "close", None)
            if close is not None:
                close()


def _told(error: EhrqaError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _off() -> UsageError:
    return UsageError("no history is kept", "start the chat without --no-log, with log = true")
