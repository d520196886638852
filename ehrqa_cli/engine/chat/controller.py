"""A chat: it takes wishes from any thread, sees to them one after another in a thread of its own,
and reports what comes of them. It knows nothing of screens and streams: those show its events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, UsageError
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.engine.chat import events
from ehrqa_cli.engine.chat.about import about
from ehrqa_cli.engine.chat.complete import Completer
from ehrqa_cli.engine.chat.history import ChatHistory, history_of
from ehrqa_cli.engine.chat.patient import patient_summary
from ehrqa_cli.engine.chat.values import QUESTION, Turn
from ehrqa_cli.engine.chat.views import Evidence, evidence_of, image_view
from ehrqa_cli.engine.chat.worker import Report, Worker
from ehrqa_cli.engine.session import Session

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.conversation import Conversation

P = ParamSpec("P")

# What each step of a question does, in words.
STEPS = {
    "link": "finding names and values",
    "write": "writing the logical form",
    "understand": "reading the form back",
    "recall": "finding names and values",
    "contradiction": "comparing it with the record",
    "route": "choosing tables, images or notes",
    "compile_form": "compiling the form",
    "judge": "choosing among the readings",
    "rival": "comparing with other readings",
    "compare": "comparing it with the question",
    "weigh": "weighing how sure this is",
    "execute": "running the query",
    "compare_answers": "asking a larger model",
    "decide": "weighing how sure this is",
    "ground": "finding the evidence",
    "tell": "wording the answer",
    "console": "looking for what could be asked instead",
    "choose": "choosing tables, images or notes",
    "check": "looking for others of the same name",
    "take": "reading the question",
    "empty": "weighing how sure this is",
    "look": "looking at the image",
    "compare_sources": "comparing the notes with the tables",
    "add_notes": "reading the notes",
    "find_notes": "finding lines in the notes",
    "read_notes": "reading the notes",
    "tell_note": "wording the answer",
}
_PAST_CHATS = 5  # conversations whose questions can be had again
_PARTS = {"rows": ("rows", "notes"), "query": (), "note": ("notes",), "image": ("images",)}


def _wish(
    job: Callable[Concatenate[Controller, P], None],
) -> Callable[Concatenate[Controller, P], int]:
    """Let a method return a ticket at once, and do its work in the chat's thread in its turn."""

    @wraps(job)
    def post(self: Controller, /, *args: P.args, **kwargs: P.kwargs) -> int:
        return self._post(lambda: job(self, *args, **kwargs))

    return post


class Controller(Worker):
    """One chat. Each wish returns its ticket; its events come under it, `events.Done` last."""

    def __init__(
        self,
        session: Callable[[], Session],
        report: Report,
        *,
        export: Callable[..., Path],
        patient: int | None = None,
        log: bool = True,
    ) -> None:
        """``session`` opens what is asked and ``report`` gets the events, both in the chat's
        thread (an event that needs no work in that of the wish). ``export(path, turns, title=...)``
        writes a conversation; ``log``: keep it."""
        self._session, self._export = session, export
        self._first_patient, self._log = patient, log
        self._history: ChatHistory | None = None
        self._gone = self._writing = False
        super().__init__(report)

    # What can be wished for

    @_wish
    def open(self) -> None:
        """Open the database, or the notes where there is none. It ends with an error if nothing
        can be asked."""
        from ehrqa_cli.engine.chat.conversation import Conversation  # after the first frame

        self._tell(events.Doing("opening the database"))
        session = self._session()
        if not session.only_notes:
            _ = session.database
        self._history = history_of(self._log)
        self._open_talk = Conversation(
            session, patient_id=self._first_patient, history=self._history
        )
        self._tell(events.Past(self._past()))

    @_wish
    def warm(self) -> None:
        """Get ready what a question needs, before there is one."""
        session = self._talk.session
        self._tell(events.Doing("reading the names in the database"))
        complete = Completer.of(session).complete
        self._tell(events.Doing("loading the models"))
        session.warm()
        self._warm = True
        self._tell(events.Opened(about(session), complete))

    def ask(self, text: str, *, edited: bool = False) -> int:
        """Ask ``text``; ``edited``: run it, a query of the user's own."""
        ticket = next(self._tickets)
        self._report(ticket, events.Sent(text, edited))
        return self._post(lambda: self._answer(text, edited=edited), ticket)

    @_wish
    def suggest(self, number: int) -> None:
        """Ask the ``number``-th question, from 1, that the last answer offers."""
        text = self._talk.suggestion(number)
        self._tell(events.Sent(text))
        self._answer(text, edited=False)

    @_wish
    def run_reading(self) -> None:
        """Run the reading of the last withheld answer, unchecked."""
        held = self._talk.last(Status.ABSTAINED)
        self._tell(events.Sent(held.typed))
        self._tell(events.Answered(self._talk.run_reading(held, self._hear)))

    @_wish
    def teach(self) -> None:
        """Keep the reading of the last tentative answer for its wording."""
        entry = self._talk.session.teach(self._talk.last(Status.TENTATIVE).answer)
        self._tell(events.Said(f"kept: “{entry.wording.question}” is answered so from now on"))

    @_wish
    def read_evidence(self, turn: Turn) -> None:
        """Open all that an answer rests on."""
        self._tell(events.EvidenceRead(turn, evidence_of(self._talk.session, turn.answer)))

    @_wish
    def look(self, part: str, number: int | None = None) -> None:
        """Look at the rows, query, note or image of question ``number``, or of the last."""
        talk, turn = self._talk, self._turn(number)
        found = evidence_of(talk.session, turn.answer, _PARTS[part])
        self._tell(events.EvidenceRead(turn, found, part))

    @_wish
    def look_at_study(self, study_id: int) -> None:
        """Look at the image of a study."""
        images = (image_view(self._talk.session, study_id),)
        self._tell(events.EvidenceRead(None, Evidence(images=images), "image"))

    @_wish
    def read_patient(self) -> None:
        """Summarise whom the conversation is about."""
        number = self._talk.patient_id
        try:
            self._tell(self._patient(number))
        except Cancelled:
            raise
        except EhrqaError as error:
            self._tell(events.PatientRead(number, problem=error))

    @_wish
    def set_patient(self, patient_id: int | None) -> None:
        """Talk about this patient from now on; refused where nobody has that id."""
        read = self._patient(patient_id, chosen=True)
        self._talk.patient_id = patient_id
        self._tell(read)

    @_wish
    def now(self, as_of: str = "") -> None:
        """Say what now is taken to be, after taking it to be ``as_of``; "none": as the session."""
        talk = self._talk
        if as_of:
            talk.as_of = None if as_of.lower() == "none" else as_of
        self._tell(events.Now(talk.as_of or talk.session.as_of))

    @_wish
    def new(self) -> None:
        """Begin a new conversation; the one so far is in the history."""
        self._talk.new()
        self._resumed()

    @_wish
    def resume(self, chat_id: int) -> None:
        """Go on with a conversation that was kept."""
        self._talk.resume(chat_id)
        self._resumed()

    @_wish
    def search(self, words: str = "") -> None:
        """List the turns with these words; without words the conversations that were kept."""
        history = self._kept()
        found = history.search(words) if words.strip() else history.chats()
        self._tell(events.Listed(words, tuple(found)))

    @_wish
    def forget(self, chat_id: int | None) -> None:
        """Delete a conversation that was kept; None: all of them."""
        history, talk = self._kept(), self._talk
        if chat_id is None:
            history.purge()
        else:
            history.forget(chat_id)
        which = "all conversations are" if chat_id is None else f"conversation {chat_id} is"
        self._tell(events.Said(f"{which} deleted"))
        if talk.chat_id is not None and chat_id in (None, talk.chat_id):
            talk.new()
            self._resumed()

    @_wish
    def export(self, path: Path) -> None:
        """Write the conversation to a file, in the format of its name's ending."""
        talk = self._talk
        path = self._export(path, talk.turns, title=talk.title)
        self._tell(events.Said(f"written to {path}"))

    # Parts of the wishes

    @property
    def _talk(self) -> Conversation:
        if self._open_talk is None:
            raise UsageError("nothing is open", "see what was said above")
        return self._open_talk

    def _answer(self, text: str, *, edited: bool) -> None:
        talk = self._talk
        self._look_for_database(talk.session)
        if edited:  # which tells nothing itself
            self._hear("execute", None)
        put = talk.run_neuralsql if edited else talk.ask
        self._tell(events.Answered(put(text, self._hear)))

    def _hear(self, name: str, what: Any) -> None:
        """What the engine tells of a question, as events."""
        if name == "warning":
            self._tell(events.Said(str(what), bad=True))
        elif name == "asked":
            self._tell(events.QuestionAsked(what))
        elif name == "token":
            self._tell(events.Wrote(f"{what} " if self._writing else str(what)))
        elif not name.endswith(".done"):
            self._writing = name == "write"  # a form's lexemes come without the blanks between
            self._tell(events.Doing(STEPS.get(name, name.replace("_", " "))))

    def _look_for_database(self, session: Session) -> None:
        """A file that was deleted or moved can be read where it is open: then say so, once."""
        gone = session.db is not None and not session.only_notes and not session.db.exists()
        if gone and not self._gone:
            what = f"{session.db} is gone: answers come from the file as it was opened"
            self._tell(events.Said(what, bad=True))
        self._gone = gone

    def _past(self) -> tuple[str, ...]:
        if self._history is None:
            return ()
        try:
            chats = self._history.chats(_PAST_CHATS)
            kept = [self._history.turns(chat.chat_id) for chat in reversed(chats)]
        except EhrqaError:
            return ()  # said when the first turn is to be kept
        return tuple(turn.typed for turns in kept for turn in turns if turn.kind == QUESTION)

    def _turn(self, number: int | None) -> Turn:
        turns = self._talk.turns
        if not turns:
            raise UsageError("nothing was asked yet", "ask a question")
        found = [turn for turn in turns if number in (None, turn.number)]
        if not found:
            raise UsageError(f"there is no question {number}", f"choose 1 to {turns[-1].number}")
        return found[-1]

    def _patient(self, number: int | None, chosen: bool = False) -> events.PatientRead:
        if number is None:
            return events.PatientRead(None, chosen=chosen)
        talk, session = self._talk, self._talk.session
        database = None if session.only_notes else session.database
        now = "" if database is None else talk.as_of or session.as_of
        found = patient_summary(database, number, now, session.db)
        if found is None:
            raise UsageError(f"nobody here has the id {number}", "check it, or /patient none")
        return events.PatientRead(number, found, now, chosen=chosen)

    def _resumed(self) -> None:
        self._tell(events.Resumed(tuple(self._talk.turns), self._talk.patient_id))

    def _kept(self) -> ChatHistory:
        if self._history is None:
            raise UsageError(
                "conversations are not kept", "start without --no-log, with log = true"
            )
        return self._history
