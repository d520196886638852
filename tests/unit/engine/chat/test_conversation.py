"""A conversation: whom it is about, what is asked, what is kept, what goes wrong."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, UsageError
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.engine.chat.conversation import Conversation
from ehrqa_cli.engine.chat.history import ChatHistory
from ehrqa_cli.engine.chat.people import wants_patient
from ehrqa_cli.store import LogError

from ..fakes import AS_OF, form, session
from ..test_notes import SAID, Desk
from .linked import HER, HIM, linker

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
ASKED = f"last creatinine value of patient {HER}?"


def talk(*queries: Any, **parts: Any) -> Conversation:
    own = {name: parts.pop(name) for name in ("patient_id", "history", "as_of") if name in parts}
    return Conversation(session(*(queries or (LAST,)), linker=linker(), **parts), **own)


def test_a_follow_up_is_asked_whole_and_shown_as_such():
    conversation = talk()
    events: list[tuple[str, Any]] = []
    first = conversation.ask(ASKED)
    second = conversation.ask("and potassium?", lambda name, what: events.append((name, what)))
    assert (first.changed, first.read_as) == (False, "")
    assert second.typed == "and potassium?"
    assert second.asked == second.read_as == ASKED.replace("creatinine", "potassium")
    assert second.answer.question.text == second.asked
    assert events[0][0] == "asked" and events[0][1].changed
    assert [turn.number for turn in conversation.turns] == [1, 2]


def test_the_patient_that_was_named_is_given_with_her_and_shown():
    conversation = talk()
    conversation.ask(ASKED)
    turn = conversation.ask("what is her last potassium value?")
    assert turn.answer.question.patient_id == HER
    assert turn.asked == turn.typed
    assert turn.read_as == f"what is her last potassium value? (patient {HER})"
    conversation.ask(f"last sodium value of patient {HIM}?")
    assert conversation.patient_id == HIM
    assert conversation.ask("what was his first glucose?").answer.question.patient_id == HIM


@pytest.mark.parametrize(
    ("text", "named", "pinned"),
    [
        ("what is her weight?", True, True),
        ("when was the patient last admitted?", True, True),
        ("last creatinine?", True, True),
        ("were there any procedures?", False, True),
        ("how many prescriptions of heparin in 2100?", False, True),
        ("how many patients had a last creatinine over 5?", False, False),
        ("what are the top five drugs?", False, False),
        ("what is the cost of heparin?", False, False),
        ("how many female patients had heparin last year?", False, False),
        ("count the patient records of the last year", False, False),
        ("did the patient who stayed longest get heparin last?", False, False),
    ],
)
def test_who_is_asked_about(text: str, named: bool, pinned: bool):
    assert wants_patient(linker().link(text), pinned=False) is named
    assert wants_patient(linker().link(text), pinned=True) is pinned


def test_a_follow_up_that_cannot_be_completed_says_so_and_is_not_built_upon():
    conversation = talk()
    conversation.ask(ASKED)
    turn = conversation.ask("what about foobarine?")
    assert turn.answer.status is Status.ABSTAINED
    assert turn.answer.reason_kind == "follow_up"
    assert "foobarine" in turn.answer.text and "whole question" in turn.answer.text
    assert conversation.ask("and sodium?").asked == ASKED.replace("creatinine", "sodium")


def test_nothing_is_a_follow_up_in_a_new_conversation():
    conversation = talk()
    conversation.ask(ASKED)
    conversation.new()
    assert conversation.turns == [] and conversation.patient_id == HER
    assert conversation.rewrite("and the time before that?").changed is False


@pytest.mark.parametrize("text", ["", "  \x00\x1b ", "x" * 2001, "x" * 1_000_000])
def test_what_is_no_question_is_refused_and_leaves_no_turn(text: str):
    conversation = talk()
    with pytest.raises(UsageError):
        conversation.ask(text)
    assert conversation.turns == []


def test_control_characters_do_not_reach_the_question():
    assert talk().ask("last \x1b[31mcreatinine\x00 value?").typed == "last [31mcreatinine value?"


def test_a_fault_of_the_database_is_an_answer_and_the_chat_goes_on():
    conversation = talk()
    database = conversation.session.database
    database.fail = LimitExceeded("too slow", "ask for less")  # type: ignore[attr-defined]
    turn = conversation.ask(ASKED)
    assert turn.answer.status is Status.FAILED
    assert turn.answer.error == {"message": "too slow", "hint": "ask for less"}
    database.fail = None  # type: ignore[attr-defined]
    assert conversation.ask("and sodium?").asked == ASKED.replace("creatinine", "sodium")


def test_a_database_that_cannot_be_opened_is_an_answer(tmp_path: Path):
    from ehrqa_cli.engine import Session

    conversation = Conversation(Session(tmp_path / "gone.sqlite"))
    turn = conversation.ask("how many?")
    assert turn.answer.status is Status.FAILED
    assert turn.answer.error and turn.answer.error["hint"]


def test_cancelled_before_it_ran_leaves_no_turn_and_the_next_one_is_answered():
    conversation = talk()
    conversation.cancel()
    with pytest.raises(Cancelled):
        conversation.ask(ASKED)
    assert conversation.turns == []
    assert conversation.ask(ASKED).number == 1


def test_cancel_ends_a_running_query_of_ones_own():
    conversation = talk()
    slow = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    database = conversation.session.database

    def interrupted(sql: str, limits: object = None) -> None:
        stopped.wait(5)
        raise Cancelled("the query was cancelled", "")

    stopped = threading.Event()
    database.execute = interrupted  # type: ignore[method-assign]
    database.cancel = stopped.set  # type: ignore[method-assign]
    timer = threading.Timer(0.05, conversation.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        conversation.run_neuralsql(slow)
    timer.join()
    assert stopped.is_set() and conversation.turns == []


def test_ones_own_query_is_guarded_and_is_no_question_to_follow():
    conversation = talk()
    conversation.ask(ASKED)
    good = conversation.run_neuralsql("SELECT count(*) FROM patients WHERE dob < current_time")
    assert good.kind == "neuralsql" and good.answer.rows == ((1,),)
    assert good.answer.provenance["as_of"] == AS_OF and good.answer.confidence is None
    bad = conversation.run_neuralsql("DROP TABLE patients")
    assert bad.answer.status is Status.FAILED and bad.answer.error
    assert conversation.ask("and sodium?").asked == ASKED.replace("creatinine", "sodium")


def test_now_is_what_the_conversation_says():
    conversation = talk(as_of="2099-05-01")
    assert conversation.ask(ASKED).answer.provenance["as_of"] == "2099-05-01 23:59:00"
    with pytest.raises(UsageError):
        conversation.as_of = "yesterday"
    conversation.as_of = None
    assert conversation.ask(ASKED).answer.provenance["as_of"] == AS_OF


def test_a_suggestion_is_taken_by_its_number():
    conversation = talk()
    with pytest.raises(UsageError, match="no suggestion 1"):
        conversation.suggestion(1)


def test_a_history_that_cannot_be_written_is_told_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    full = OSError(28, "No space left on device")

    def no_space(self: ChatHistory) -> None:
        raise full

    history = ChatHistory(tmp_path / "chats.db")
    conversation = talk(history=history)
    told: list[str] = []

    def hear(name: str, what: Any) -> None:
        if name == "warning":
            told.append(str(what))

    with monkeypatch.context() as broken:
        broken.setattr(ChatHistory, "make_private", no_space)
        conversation.ask(ASKED, hear)
        conversation.ask("and sodium?", hear)
    assert len(told) == 1 and "No space left" in told[0] and "--no-log" in told[0]
    assert len(conversation.turns) == 2
    conversation.ask("and glucose?", hear)
    assert [t.typed for t in history.turns(conversation.chat_id or 0)] == [
        ASKED,
        "and sodium?",
        "and glucose?",
    ]


def test_a_warning_of_the_engine_is_told_once():
    conversation, told = talk(), []
    for _ in range(3):
        conversation.session.warnings.append("the answer log is full")
        conversation.ask(ASKED, lambda name, what: told.append((name, what)))
    assert told.count(("warning", "the answer log is full")) == 1


def test_a_conversation_is_taken_up_where_it_was(tmp_path: Path):
    history = ChatHistory(tmp_path / "chats.db")
    conversation = talk(history=history, as_of="2100-06-01")
    conversation.ask(ASKED)
    later = talk(history=history)
    later.resume(conversation.chat_id or 0)
    assert later.patient_id == HER and later.as_of == "2100-06-01 23:59:00"
    turn = later.ask("and sodium?")
    assert turn.number == 2 and turn.asked == ASKED.replace("creatinine", "sodium")
    assert history.chats()[0].turns == 2
    with pytest.raises(LogError, match="no conversation 99"):
        later.resume(99)
    with pytest.raises(UsageError, match="no history"):
        talk().resume(1)


def test_a_conversation_about_another_database_is_not_taken_up(tmp_path: Path):
    history = ChatHistory(tmp_path / "chats.db")
    conversation = talk(history=history)
    conversation.ask(ASKED)
    other = talk(history=history)
    other.session.db = tmp_path / "other.sqlite"
    other.session.database.fingerprint = lambda: "memory:2"  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="another database"):
        other.resume(conversation.chat_id or 0)


def test_with_only_notes_a_conversation_about_tables_is_not_taken_up(tmp_path: Path):
    from ehrqa_cli.engine import Session

    history = ChatHistory(tmp_path / "chats.db")
    conversation = talk(history=history)
    conversation.ask(ASKED)
    notes = Conversation(Session(tmp_path / "none.sqlite", notes=Desk(SAID)), history=history)
    with pytest.raises(UsageError, match="another database"):
        notes.resume(conversation.chat_id or 0)


def test_where_there_are_only_notes_the_patient_carries_over(tmp_path: Path):
    from ehrqa_cli.engine import Session

    desk = Desk(SAID)
    conversation = Conversation(Session(tmp_path / "none.sqlite", notes=desk))
    conversation.ask("which dose of Colace did patient 12345 take?")
    assert conversation.patient_id == 12345
    conversation.ask("what did she take it for?")
    assert desk.asked[-1][:2] == ("what did she take it for?", 12345)
    conversation.ask("and the dose of aspirin?")  # no value to exchange, but words to look for
    assert desk.asked[-1][:2] == ("and the dose of aspirin?", 12345)


def test_a_linker_that_breaks_is_no_end(monkeypatch: pytest.MonkeyPatch):
    conversation = talk()
    conversation.ask(ASKED)

    def broken(*_: object, **__: object) -> None:
        raise DatabaseError("the file is damaged", "restore it")

    monkeypatch.setattr(conversation.session.linker, "link", broken)
    turn = conversation.ask("and sodium?")
    assert turn.answer.error == {"message": "the file is damaged", "hint": "restore it"}
