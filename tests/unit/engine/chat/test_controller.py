"""The controller over a real session: in order, ended within 0.3 s, with faults told."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, UsageError
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.chat import events as said
from ehrqa_cli.engine.chat.controller import STEPS, Controller
from ehrqa_cli.notes.importing import import_notes

from .rote import rote_session

ENDED = 0.3  # seconds within which a question has to end (issue: "A session")
SLOW = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000)"
    " SELECT count(*) FROM n"
)
MANY = "how many patients are there?"


class Ears:
    """What the controller reports, in order, as (ticket, event)."""

    def __init__(self) -> None:
        self.heard: queue.Queue[tuple[int, said.Event]] = queue.Queue()

    def put(self, ticket: int, event: said.Event) -> None:
        self.heard.put((ticket, event))

    def until(self, kind: type[Any], seconds: float = 20) -> Any:
        """The next event of this kind."""
        deadline = time.monotonic() + seconds
        while True:
            _, event = self.heard.get(timeout=max(0.0, deadline - time.monotonic()))
            if isinstance(event, kind):
                return event

    def of(self, wished: int) -> list[said.Event]:
        """All events of a wish, to its end."""
        found: list[said.Event] = []
        while not found or not isinstance(found[-1], said.Done):
            ticket, event = self.heard.get(timeout=20)
            if ticket == wished:
                found.append(event)
        return found


def ended(heard: list[said.Event]) -> EhrqaError | None:
    """What a wish ended with."""
    done = heard[-1]
    assert isinstance(done, said.Done)
    return done.error


def written(path: Path, turns: Any, *, title: str) -> Path:
    """An export; a file that is there is kept."""
    if path.exists():
        raise UsageError("it is there already", "name another file")
    path.write_text(title)
    return path


def controller(session: Callable[[], Session], ears: Ears, **given: Any) -> Controller:
    return Controller(session, ears.put, export=written, **given)


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def chat(ehr: Path, ears: Ears) -> Iterator[Controller]:
    made = controller(partial(rote_session, ehr), ears)
    made.open()
    made.warm()
    yield made
    assert made.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "chat"]


def test_a_question_sent_before_the_database_is_open_is_answered(
    chat: Controller, ears: Ears
) -> None:
    ticket = chat.ask(MANY)
    heard = ears.of(ticket)
    assert [type(event) for event in heard[:2]] == [said.Sent, said.QuestionAsked]
    steps = [event.what for event in heard if isinstance(event, said.Doing)]
    assert len(steps) > 5 and set(steps) <= set(STEPS.values())  # each step has its words
    assert said.Wrote("count_patients ") in heard
    *_, answered, done = heard
    assert isinstance(answered, said.Answered) and done == said.Done()
    assert answered.turn.answer.status is Status.ANSWERED


@pytest.mark.parametrize("how", ["the model writes", "a query runs"])
def test_what_is_ended_has_ended_soon(chat: Controller, ears: Ears, how: str) -> None:
    assert ears.until(said.Opened).about.model == "rote"
    if how == "a query runs":
        ticket = chat.ask(SLOW, edited=True)
        time.sleep(0.3)
    else:
        ticket = chat.ask("how many patients are there, slowly?")
        ears.until(said.Wrote)
    begun = time.perf_counter()
    chat.cancel(ticket)
    returned = time.perf_counter() - begun
    assert isinstance(ended(ears.of(ticket)), Cancelled)
    took = time.perf_counter() - begun
    assert returned < 0.05 and took < ENDED * _patience()
    chat.ask(MANY)  # and the next one is not ended with it
    assert ears.until(said.Answered).turn.answer.rows == ((2,),)


def _patience() -> float:
    """A busy machine gets more time: the benchmark measures, this test sees that it ends."""
    return 10.0


def test_a_waiting_question_that_is_ended_is_never_asked(chat: Controller, ears: Ears) -> None:
    ears.until(said.Opened)
    tickets = chat.ask("how many patients are there, slowly?"), chat.ask(MANY)
    chat.cancel(*reversed(tickets))
    for ticket in tickets:
        assert isinstance(ended(ears.of(ticket)), Cancelled)
    chat.ask(MANY)
    assert ears.until(said.Answered).turn.number == 1


def test_an_end_that_was_not_heard_is_told_again(
    chat: Controller, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    ears.until(said.Opened)
    cancel, calls = Session.cancel, []

    def deaf(self: Session) -> None:
        calls.append(self)
        if len(calls) > 1:
            cancel(self)

    monkeypatch.setattr(Session, "cancel", deaf)
    ticket = chat.ask("how many patients are there, slowly?")
    ears.until(said.Wrote)
    chat.cancel(ticket)
    assert isinstance(ended(ears.of(ticket)), Cancelled) and len(calls) > 1


def test_a_refused_query_and_an_empty_question_are_told(chat: Controller, ears: Ears) -> None:
    chat.ask("DELETE FROM patients", edited=True)
    assert ears.until(said.Answered).turn.answer.status is Status.FAILED
    *_, done = ears.of(chat.ask("   "))
    assert isinstance(done, said.Done) and done.error is not None and done.error.hint


def test_a_database_that_is_gone_is_said_once(chat: Controller, ears: Ears, ehr: Path) -> None:
    ears.until(said.Opened)
    ehr.unlink()
    kinds = [[type(event) for event in ears.of(chat.ask(MANY))] for _ in range(2)]
    assert [heard.count(said.Said) for heard in kinds] == [1, 0]
    assert [heard.count(said.Answered) for heard in kinds] == [1, 1]


def test_a_full_log_is_a_warning_and_not_the_end(
    chat: Controller, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ehrqa_cli.engine.chat.history import ChatHistory
    from ehrqa_cli.store import LogError

    def full(*_: object, **__: object) -> int:
        raise LogError("the history cannot be written: disk full", "free some space")

    monkeypatch.setattr(ChatHistory, "add", full)
    heard = ears.of(chat.ask(MANY))
    assert any("disk full" in event.text for event in heard if isinstance(event, said.Said))
    assert any(isinstance(event, said.Answered) for event in heard)


def test_the_patient_and_the_time(chat: Controller, ears: Ears) -> None:
    chat.set_patient(101)
    read = ears.until(said.PatientRead)
    assert read.summary.sex == "f" and read.summary.admissions[0].hadm_id == 1001
    assert "999" in str(ended(ears.of(chat.set_patient(999))))
    chat.now("2099-06-01")
    assert ears.until(said.Now).as_of == "2099-06-01 23:59:00"
    chat.read_patient()  # still the one before
    read = ears.until(said.PatientRead)
    assert (read.patient_id, read.as_of) == (101, "2099-06-01 23:59:00")


def test_evidence_export_and_history(chat: Controller, ears: Ears, tmp_path: Path) -> None:
    chat.ask(MANY)
    turn = ears.until(said.Answered).turn
    chat.read_evidence(turn)
    assert ears.until(said.EvidenceRead).turn is turn
    chat.look("query", 1)
    assert ears.until(said.EvidenceRead).part == "query"
    assert said.Said(f"written to {tmp_path / 'out.md'}") in ears.of(
        chat.export(tmp_path / "out.md")
    )
    assert (tmp_path / "out.md").read_text() == MANY
    assert "there already" in str(ended(ears.of(chat.export(tmp_path / "out.md"))))
    chat.new()
    assert ears.until(said.Resumed).turns == ()
    chat.search("patients")
    chat_id = ears.until(said.Listed).found[0].chat_id
    chat.resume(chat_id)
    assert ears.until(said.Resumed).turns[0].typed == MANY
    heard = ears.of(chat.forget(chat_id))
    assert (
        said.Said(f"conversation {chat_id} is deleted") in heard and said.Resumed((), None) in heard
    )
    chat.search()
    assert ears.until(said.Listed).found == ()


def test_leaving_does_not_wait_for_what_never_ends(ehr: Path, ears: Ears) -> None:
    stuck, begun = threading.Event(), threading.Event()

    def never() -> Session:
        begun.set()
        stuck.wait(20)
        raise DatabaseError("it is not there", "look for it")

    made = controller(never, ears)
    made.open()
    assert begun.wait(20)
    started = time.perf_counter()
    assert made.close(0.2) is False
    assert time.perf_counter() - started < 2
    stuck.set()
    assert made.close(20)


def test_what_cannot_be_opened_ends_what_waits_with_an_error(ehr: Path, ears: Ears) -> None:
    made = controller(lambda: Session(ehr.with_name("gone.sqlite")), ears)
    opened, asked = made.open(), made.ask(MANY)
    assert isinstance(ended(ears.of(opened)), DatabaseError)
    assert "nothing is open" in str(ended(ears.of(asked)))
    assert made.close()


def test_a_fault_of_ours_is_told_and_the_next_question_is_answered(
    chat: Controller, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ehrqa_cli.engine.chat.conversation import Conversation

    ears.until(said.Opened)
    ask, calls = Conversation.ask, []

    def once(self: Conversation, *args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise ValueError("oops")
        return ask(self, *args)

    monkeypatch.setattr(Conversation, "ask", once)
    assert "unexpected ValueError: oops" in str(ended(ears.of(chat.ask(MANY))))
    assert any(isinstance(event, said.Answered) for event in ears.of(chat.ask(MANY)))


class Slow:
    """The notes of one patient, with a reader that reads them until it is ended."""

    def __init__(self) -> None:
        self.reader = SimpleNamespace(name="slow")
        self.begun, self.ended = threading.Event(), threading.Event()

    def has(self, patient_id: int) -> bool:
        return True

    def read_ahead(self, patient_id: int, on_read: Any) -> bool:
        on_read(128, 1024)
        self.begun.set()
        if not self.ended.wait(20):
            raise AssertionError("nobody ended it")
        raise Cancelled("cancelled", "")

    def cancel(self) -> None:
        self.ended.set()

    def close(self) -> None:
        pass


def test_notes_are_read_ahead_until_there_is_something_to_do(ehr: Path, ears: Ears) -> None:
    notes = Slow()
    chat = controller(partial(rote_session, ehr, notes=notes), ears, patient=101)
    chat.open()
    chat.warm()
    assert notes.begun.wait(20)
    while "reading the notes of patient 101, 12%" not in ears.until(said.Doing).what:
        pass
    begun = time.perf_counter()
    chat.search()
    ears.until(said.Listed)
    assert notes.ended.is_set() and time.perf_counter() - begun < 5
    assert chat.close()


@pytest.fixture
def only_notes(tmp_path: Path) -> Path:
    """An EHR of which there are only the notes of patient 12345."""
    notes, db = tmp_path / "notes.jsonl", tmp_path / "none.sqlite"
    told = {"note_id": "n1", "subject_id": 12345, "text": "Plan:\nColace 100 mg twice a day."}
    notes.write_text(json.dumps(told) + "\n", encoding="utf-8")
    import_notes(notes, db)
    return db


def test_with_only_notes_the_patient_is_known_and_everything_gets_ready(
    only_notes: Path, ears: Ears
) -> None:
    chat = controller(partial(Session, only_notes), ears, patient=12345)
    wished = chat.open(), chat.read_patient(), chat.warm()
    heard = [ears.of(ticket) for ticket in wished]
    assert [events[-1] for events in heard] == [said.Done()] * 3
    read, opened = heard[1][0], heard[2][-2]
    assert isinstance(read, said.PatientRead) and read.problem is None
    assert read.summary is not None and read.summary.only_notes
    assert isinstance(opened, said.Opened) and opened.about.reader == "embedded"
    assert "nobody here has the id 999" in str(ended(ears.of(chat.set_patient(999))))
    *events, answered, _ = ears.of(chat.ask("which dose of Colace does she take?"))
    assert not any(isinstance(event, said.Said) for event in events)  # no database is gone
    assert isinstance(answered, said.Answered)
    assert answered.turn.answer.evidence[0]["note_id"] == "n1"
    assert chat.close()
