"""The worker over a real session: in order, ended within 0.3 s, with faults told."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message

from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.tui import messages as say
from ehrqa_cli.tui.work import Work

from .conftest import Options

ENDED = 0.3  # seconds within which a question has to end (issue: "A session")
SLOW = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000)"
    " SELECT count(*) FROM n"
)


class Ears:
    """What the worker posts, in order."""

    def __init__(self) -> None:
        self.heard: queue.Queue[Message] = queue.Queue()

    def until(self, kind: type[Message], seconds: float = 20) -> Any:
        """The next message of this kind."""
        deadline = time.monotonic() + seconds
        while True:
            message = self.heard.get(timeout=max(0.0, deadline - time.monotonic()))
            if isinstance(message, kind):
                return message


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def work(ehr: Path, ears: Ears) -> Iterator[Work]:
    made = Work(Options(ehr), ears.heard.put)  # type: ignore[arg-type]
    made.open()
    yield made
    made.close()
    assert not made.desk._thread.is_alive()


def test_a_question_sent_before_the_database_is_open_is_answered(work: Work, ears: Ears) -> None:
    work.ask(1, "how many patients are there?")
    assert ears.until(say.Opened).about.model == "rote"
    names = [ears.until(say.Happened).name for _ in range(3)]
    assert names[0] == "asked"
    answered = ears.until(say.Answered)
    assert answered.ticket == 1 and answered.turn.answer.status is Status.ANSWERED


@pytest.mark.parametrize("how", ["the model writes", "a query runs"])
def test_what_is_ended_has_ended_soon(work: Work, ears: Ears, how: str) -> None:
    ears.until(say.Opened)
    if how == "a query runs":
        work.run(1, SLOW)
        time.sleep(0.3)
    else:
        work.ask(1, "how many patients are there, slowly?")
        while ears.until(say.Happened).name != "token":
            pass
    begun = time.perf_counter()
    work.cancel(1)
    returned = time.perf_counter() - begun
    assert ears.until(say.Ended, 5).error is None
    took = time.perf_counter() - begun
    assert returned < 0.05 and took < ENDED * _patience()
    work.ask(2, "how many patients are there?")  # and the next one is not ended with it
    assert ears.until(say.Answered).turn.answer.rows == ((2,),)


def _patience() -> float:
    """A busy machine gets more time: the benchmark measures, this test sees that it ends."""
    return 10.0


def test_a_waiting_question_that_is_ended_is_never_asked(work: Work, ears: Ears) -> None:
    ears.until(say.Opened)
    work.ask(1, "how many patients are there, slowly?")
    work.ask(2, "how many patients are there?")
    work.cancel(2)
    work.cancel(1)
    assert [ears.until(say.Ended).ticket for _ in range(2)] == [1, 2]
    assert work._conversation is not None and work._conversation.turns == []


def test_a_refused_query_and_an_empty_question_are_told(work: Work, ears: Ears) -> None:
    work.run(1, "DELETE FROM patients")
    assert ears.until(say.Answered).turn.answer.status is Status.FAILED
    work.ask(2, "   ")
    ended = ears.until(say.Ended)
    assert ended.ticket == 2 and ended.error is not None and ended.error.hint


def test_a_database_that_is_gone_is_said_once(work: Work, ears: Ears, ehr: Path) -> None:
    ears.until(say.Opened)
    ehr.unlink()
    work.ask(1, "how many patients are there?")
    assert "is gone" in ears.until(say.Said).text
    ears.until(say.Answered)
    work.ask(2, "how many patients are there?")
    kinds = []
    while not kinds or kinds[-1] is not say.Answered:
        kinds.append(type(ears.heard.get(timeout=20)))
    assert say.Said not in kinds


def test_a_full_log_is_a_warning_and_not_the_end(
    work: Work, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ehrqa_cli.engine.chat import ChatHistory
    from ehrqa_cli.store import LogError

    def full(*_: object, **__: object) -> int:
        raise LogError("the history cannot be written: disk full", "free some space")

    monkeypatch.setattr(ChatHistory, "add", full)
    work.ask(1, "how many patients are there?")
    heard = []
    while not heard or not isinstance(heard[-1], say.Answered):
        heard.append(ears.heard.get(timeout=20))
    warnings = [m.what for m in heard if isinstance(m, say.Happened) and m.name == "warning"]
    assert any("disk full" in str(warning) for warning in warnings)


def test_the_patient_evidence_history_and_export(work: Work, ears: Ears, tmp_path: Path) -> None:
    work.set_patient(101)
    read = ears.until(say.PatientRead)
    assert read.summary.sex == "f" and read.summary.admissions[0].hadm_id == 1001
    work.set_patient(999)
    assert "999" in ears.until(say.PatientRead).problem
    work.ask(1, "how many patients are there?")
    turn = ears.until(say.Answered).turn
    work.read_evidence(turn)
    assert ears.until(say.EvidenceRead).turn is turn
    work.export(tmp_path / "out.md")
    assert "how many patients" in ears.until(say.Exported).path.read_text()
    work.export(tmp_path / "out.md")
    assert ears.until(say.Said).bad  # it is there already
    work.new()
    assert ears.until(say.Resumed).turns == ()
    work.search("patients")
    chat_id = ears.until(say.Listed).found[0].chat_id
    work.resume(chat_id)
    assert ears.until(say.Resumed).turns[0].typed == "how many patients are there?"
    work.forget(None)
    assert ears.until(say.Listed).found == ()


def test_leaving_does_not_wait_for_what_never_ends(ehr: Path, ears: Ears) -> None:
    made = Work(Options(ehr), ears.heard.put)  # type: ignore[arg-type]
    stuck = threading.Event()
    made.desk.put(lambda: stuck.wait(20) and None)
    begun = time.perf_counter()
    assert made.close(0.2) is False
    assert time.perf_counter() - begun < 2
    stuck.set()


def test_a_fault_of_ours_is_told_and_the_next_question_is_answered(
    work: Work, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ehrqa_cli.engine.chat import Conversation

    ears.until(say.Opened)
    ask, calls = Conversation.ask, []

    def once(self: Conversation, *args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise ValueError("oops")
        return ask(self, *args)

    monkeypatch.setattr(Conversation, "ask", once)
    work.ask(1, "how many patients are there?")
    assert "unexpected ValueError: oops" in ears.until(say.Ended).error.message
    work.ask(2, "how many patients are there?")
    assert ears.until(say.Answered).ticket == 2


class Slow:
    """The notes of one patient, with a reader that reads them until it is ended."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

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


def test_notes_are_read_ahead_until_there_is_something_to_do(work: Work, ears: Ears) -> None:
    ears.until(say.Opened)
    assert work._conversation is not None
    notes = work._conversation.session.notes = Slow()  # type: ignore[assignment]
    work.set_patient(101)
    assert notes.begun.wait(20)
    while "reading the notes of patient 101, 12%" not in ears.until(say.Opening).what:
        pass
    begun = time.perf_counter()
    work.search("")
    ears.until(say.Listed)
    assert notes.ended.is_set() and time.perf_counter() - begun < 5
