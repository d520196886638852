"""A conversation with one EHR: its patient, its time, its turns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Question, Scope, Status
from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.chat import follow_up, people
from ehrqa_cli.engine.chat.edited import run_neuralsql
from ehrqa_cli.engine.chat.history import ChatHistory
from ehrqa_cli.engine.chat.notes_linker import linker_of
from ehrqa_cli.engine.chat.values import NEURALSQL, QUESTION, TITLE, Rewrite, Turn
from ehrqa_cli.engine.faults import fault
from ehrqa_cli.engine.question_run import OnEvent
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.text import clean_question
from ehrqa_cli.engine.times import check_time

FOLLOW_UP = "follow_up"  # Answer.reason_kind where the whole question is needed


class Conversation:
    """The turns of one conversation. ``ask`` and ``run_neuralsql`` add one each; only one of them
    runs at a time, and ``cancel`` ends it from another thread.

    ``patient_id`` is whom it is about: as given, or the last that a question named.
    """

    def __init__(
        self,
        session: Session,
        *,
        patient_id: int | None = None,
        as_of: str | None = None,
        history: ChatHistory | None = None,
    ) -> None:
        self.session = session
        self.history = history
        self.turns: list[Turn] = []
        self.chat_id: int | None = None
        self._unkept: list[Turn] = []
        self._said: set[str] = set()
        self._patient_id = patient_id
        self._pinned = patient_id is not None
        self._as_of: str | None = None
        self.as_of = as_of

    @property
    def patient_id(self) -> int | None:
        """Whom the conversation is about; setting it makes questions without a name theirs."""
        return self._patient_id

    @patient_id.setter
    def patient_id(self, patient_id: int | None) -> None:
        self._patient_id, self._pinned = patient_id, patient_id is not None

    @property
    def as_of(self) -> str | None:
        """What "now" is taken to be, None for the session's. Setting it raises UsageError."""
        return self._as_of

    @as_of.setter
    def as_of(self, as_of: str | None) -> None:
        self._as_of = None if as_of is None else check_time(as_of)

    @property
    def title(self) -> str:
        """The first question, cut short; "" before it."""
        return self.turns[0].typed[:TITLE] if self.turns else ""

    def rewrite(self, text: str) -> Rewrite:
        """What ``ask`` would ask. Raises UsageError for an empty or over-long text, and what
        opening the database raises."""
        typed = clean_question(text)
        linker = linker_of(self.session)
        before, follows = self._before(), False
        if before is not None:
            try:
                whole = follow_up.complete(
                    typed, before, linker, patient_id=self._patient_id, as_of=self._now
                )
            except follow_up.NeedsWhole as why:
                if not before.of_notes:
                    return Rewrite(typed, None, message=f"I cannot complete this: {why}.")
                # The reader of notes looks for what is named, in any words.
                whole, follows = None, True
            if whole is not None:
                return _told(typed, whole.text, whole.patient_id)
        named = linker.link(typed)
        if _names_patient(named):
            return Rewrite(typed, typed)
        wanted = follows or people.wants_patient(named, self._pinned)
        return _told(typed, typed, self._patient_id if wanted else None)

    def ask(self, text: str, on_event: OnEvent | None = None) -> Turn:
        """Ask ``text``, made whole from what came before. ``on_event`` gets ("asked", Rewrite),
        then what the engine tells.

        Raises UsageError for an empty or over-long text, Cancelled; a fault is a failed answer.
        """
        tell = self._once(on_event)
        try:
            rewrite, answer = self._answer(clean_question(text), tell)
        finally:
            self.session.resume()
        return self._add(rewrite.typed, rewrite, answer, tell)

    def run_neuralsql(self, text: str, on_event: OnEvent | None = None) -> Turn:
        """Run an edited query, guarded as the model's are. Raises UsageError and Cancelled."""
        tell = self._once(on_event)
        answer = run_neuralsql(self.session, text, as_of=self._as_of)
        return self._add(text, Rewrite(text, text), answer, tell, NEURALSQL)

    def last(self, status: Status) -> Turn:
        """The last turn whose answer ended so. Raises UsageError without one."""
        for turn in reversed(self.turns):
            if turn.answer.status is status:
                return turn
        what = "unverified" if status is Status.TENTATIVE else "withheld"
        hint = "ask a question; where its answer is withheld, /run runs its reading"
        raise UsageError(f"there is no {what} answer in this conversation", hint)

    def run_reading(self, held: Turn, on_event: OnEvent | None = None) -> Turn:
        """Run the reading of a withheld answer, unchecked, as a turn of its own. Raises UsageError
        where it has none that may be run, Cancelled, and EhrqaError for a fault."""
        tell = self._once(on_event)
        answer = self.session.run_reading(held.answer, tell)
        whom = held.answer.question.patient_id
        rewrite = Rewrite(held.typed, held.asked, held.carried, patient_id=whom)
        return self._add(held.typed, rewrite, answer, tell)

    def cancel(self) -> None:
        """End what is running, from any thread; it raises Cancelled there.

        One that comes when nothing runs any more ends the next question, unless
        ``session.resume()`` is called first.
        """
        self.session.cancel()

    def suggestion(self, number: int) -> str:
        """The ``number``-th question, from 1, that the last turn offers. Raises UsageError."""
        offered = self.turns[-1].answer.suggestions if self.turns else ()
        if not 1 <= number <= len(offered):
            hint = f"choose 1 to {len(offered)}" if offered else "ask a question of your own"
            raise UsageError(f"there is no suggestion {number}", hint)
        return offered[number - 1]

    def new(self) -> None:
        """Begin a new conversation; the patient and the time stay."""
        self.turns, self.chat_id, self._unkept = [], None, []

    def resume(self, chat_id: int) -> None:
        """Go on with a conversation of the history, with its turns, patient and time.

        Raises UsageError without a history and for a conversation about another database, whose
        rows are not those here, and LogError when there is no such conversation.
        """
        if self.history is None:
            raise UsageError("there is no history", "it is off: start without --no-log")
        info, turns = self.history.info(chat_id), self.history.turns(chat_id)
        if info.database != self._database() and not self._same_database(turns):
            hint = f"open it with --db {info.database}"
            raise UsageError(f"conversation {chat_id} is about another database", hint)
        self.turns, self.chat_id, self._unkept = turns, chat_id, []
        self._patient_id, self._pinned = info.patient_id, False
        self.as_of = info.as_of

    def _once(self, on_event: OnEvent | None) -> OnEvent:
        """``on_event`` with each warning told once in a conversation: a full disk stays full."""

        def tell(name: str, what: Any) -> None:
            if name == "warning":
                if what in self._said:
                    return
                self._said.add(what)
            if on_event is not None:
                on_event(name, what)

        return tell

    def _answer(self, typed: str, tell: OnEvent) -> tuple[Rewrite, Answer]:
        try:
            rewrite = self.rewrite(typed)
        except EhrqaError as error:
            # The database is gone or cannot be read: that is an answer too.
            return Rewrite(typed, typed), fault(Question(typed), error)
        tell("asked", rewrite)
        if rewrite.asked is None:
            return rewrite, _needs_whole(rewrite)
        question = Question(rewrite.asked, patient_id=rewrite.patient_id, as_of=self._as_of)
        return rewrite, ask(question, self.session, tell)

    def _database(self) -> str:
        return str(self.session.db.absolute()) if self.session.db else ""

    def _same_database(self, turns: list[Turn]) -> bool:
        """Is it the same file in another place?"""
        if self.session.only_notes:
            return False
        told = [turn.answer.provenance.get("database") for turn in turns]
        known = [fingerprint for fingerprint in told if fingerprint]
        return bool(known) and known[-1] == self.session.database.fingerprint()

    def _now(self) -> str:
        return self._as_of or self.session.as_of

    def _before(self) -> follow_up.Before | None:
        """The last question that was asked and understood as one."""
        for turn in reversed(self.turns):
            answer = turn.answer
            if turn.kind != QUESTION or answer.reason_kind == FOLLOW_UP:
                continue
            read = answer.logical_form or answer.neuralsql or answer.scope is Scope.NOTE
            if read or "#" in str(answer.provenance.get("linked") or ""):
                of_notes = answer.scope is Scope.NOTE
                return follow_up.Before(turn.asked, answer.question.patient_id, of_notes)
        return None

    def _add(
        self, typed: str, rewrite: Rewrite, answer: Answer, tell: OnEvent, kind: str = QUESTION
    ) -> Turn:
        if kind == QUESTION:
            self._note_patient(answer)
        turn = Turn(
            number=len(self.turns) + 1,
            typed=typed,
            asked=rewrite.asked or typed,
            answer=answer,
            patient_id=self._patient_id,
            carried=rewrite.carried,
            kind=kind,
            at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        )
        self.turns.append(turn)
        self._keep(turn, tell)
        return turn

    def _note_patient(self, answer: Answer) -> None:
        """The conversation is about the one patient that a question named."""
        if answer.reason_kind == FOLLOW_UP:
            return
        question = answer.question
        try:
            linked = linker_of(self.session).link(question.text)
            named = {int(str(link.value)) for link in linked.links if "pat" in link.types}
            for kind, text in linked.unknown:
                if kind == "pat" and text.isdecimal() and self._in_notes(int(text)):
                    named.add(int(text))
        except EhrqaError:
            return
        if len(named) == 1:
            self._patient_id = named.pop()
        elif not named and question.patient_id is not None:
            self._patient_id = question.patient_id

    def _in_notes(self, patient_id: int) -> bool:
        desk = self.session.notes
        return desk is not None and desk.has(patient_id)

    def _keep(self, turn: Turn, tell: OnEvent) -> None:
        """Write the turn to the history. What cannot be written is tried again with the next."""
        if self.history is None:
            return
        self._unkept.append(turn)
        database = self._database()
        try:
            while self._unkept:
                turn = self._unkept[0]
                kept = self.history.add(self.chat_id, turn, database=database, as_of=self._as_of)
                self.chat_id = kept
                del self._unkept[0]
        except EhrqaError as error:
            tell("warning", f"{error}; the conversation goes on and is not kept meanwhile")


def _names_patient(linked: LinkedQuestion) -> bool:
    return any("pat" in link.types for link in linked.links) or any(
        kind == "pat" for kind, _ in linked.unknown
    )


def _told(typed: str, asked: str, patient_id: int | None) -> Rewrite:
    carried = () if patient_id is None else (f"patient {patient_id}",)
    return Rewrite(typed, asked, carried, patient_id=patient_id)


def _needs_whole(rewrite: Rewrite) -> Answer:
    sentence = f"{rewrite.message} Please ask the whole question."
    return Answer(
        Question(rewrite.typed),
        Status.ABSTAINED,
        text=sentence,
        reason_kind=FOLLOW_UP,
        reason=sentence,
        reason_public=FOLLOW_UP,
    )
