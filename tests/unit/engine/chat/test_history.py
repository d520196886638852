"""The history of conversations: private, whole, searchable, gone when it shall be."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from ehrqa_cli.contracts.types import Answer, PatientScope, Question, Scope, Status
from ehrqa_cli.engine.chat.history import ChatHistory, history_of
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.store import LogError

ANSWER = Answer(
    Question("last <b>sodium</b>?", patient_id=7, choices=(("A", "high"),), as_of="2100-01-01"),
    Status.ABSTAINED,
    scope=Scope.NOTE,
    patient_scope=PatientScope.SINGLE,
    text="I don't know. Œdème | of patient 7",
    value=[1, None, "x"],
    columns=("a", "b"),
    rows=((1, None), (2.5, "x")),
    reason_kind="low_confidence",
    reason="It is not sure.",
    reason_public="not_sure",
    suggestions=("How many?",),
    logical_form="value last lab",
    evidence=({"kind": "note", "note_id": "7-DS-1", "start": 1, "end": 4, "excerpt": "abc"},),
    provenance={"linked": "last <lab>#1", "database": "sqlite:1"},
)
TURN = Turn(1, "last sodium?", "last <b>sodium</b>?", ANSWER, 7, ("patient 7",), at="2026-01-01")


@pytest.fixture
def history(tmp_path: Path) -> ChatHistory:
    return ChatHistory(tmp_path / "state" / "chats.db")


def test_chats_that_begin_at_once_lose_no_turn(tmp_path: Path) -> None:
    chats, turns = 6, 4
    for trial in range(5):
        path = tmp_path / f"chats{trial}.db"
        together = Barrier(chats)

        def talk(path: Path = path, together: Barrier = together) -> int | None:
            chat_id = None
            together.wait()
            for number in range(1, turns + 1):
                chat_id = ChatHistory(path).add(chat_id, replace(TURN, number=number))
            return chat_id

        with ThreadPoolExecutor(chats) as pool:
            ids = [f.result() for f in [pool.submit(talk) for _ in range(chats)]]
        assert len(set(ids)) == chats
        for chat_id in ids:
            assert [t.number for t in ChatHistory(path).turns(chat_id or 0)] == [1, 2, 3, 4]


def test_a_turn_comes_back_as_it_was(history: ChatHistory):
    failed = Answer(Question("x"), Status.FAILED, error={"message": "m", "hint": "h"})
    second = Turn(2, "x", "x", failed, None, kind="neuralsql", at="2026-01-02")
    chat = history.add(None, TURN, database="/ehr", as_of="2100-01-01 00:00:00")
    assert history.add(chat, second, database="/ehr") == chat
    assert history.turns(chat) == [TURN, second]
    info = history.info(chat)
    assert (info.title, info.turns, info.database) == ("last sodium?", 2, "/ehr")
    assert info.patient_id is None and info.as_of is None  # as of the last turn


def test_only_the_owner_can_read_it(history: ChatHistory):
    history.add(None, TURN)
    history.path.chmod(0o644)
    history.add(None, TURN)
    assert history.path.stat().st_mode & 0o777 == 0o600
    assert history.path.parent.stat().st_mode & 0o077 == 0


def test_the_conversation_spoken_in_last_is_first(history: ChatHistory):
    first, second = history.add(None, TURN), history.add(None, TURN)
    history.add(first, TURN)
    assert [chat.chat_id for chat in history.chats()] == [first, second]
    assert [chat.chat_id for chat in history.chats(limit=1)] == [first]


@pytest.mark.parametrize(
    "words",
    ["sodium", "SOD", "patient œdème", "last 7", '"sodium', "sodium*", "last -- ; drop"[:4]],
)
def test_search_finds_words_and_their_beginnings(history: ChatHistory, words: str):
    chat = history.add(None, TURN)
    found = history.search(words)
    assert [(one.chat_id, one.number, one.question) for one in found] == [(chat, 1, "last sodium?")]


@pytest.mark.parametrize(
    "words",
    ["", "   ", "potassium", "NEAR(", "typed:x", "(", "'", '"', "a AND", "\x00", "é" * 5000],
)
def test_search_takes_any_text(history: ChatHistory, words: str):
    history.add(None, TURN)
    assert history.search(words) == []


def test_nothing_is_there_before_the_first_turn(history: ChatHistory):
    assert history.chats() == [] and history.search("x") == []
    with pytest.raises(LogError, match="no conversation 1"):
        history.turns(1)
    history.forget(1)
    assert history.purge() is False
    assert not history.path.parent.exists()


def test_a_forgotten_conversation_leaves_nothing_in_the_file(history: ChatHistory):
    odd = replace(TURN, typed="zyxwvut", asked="zyxwvut")
    chat, other = history.add(None, odd), history.add(None, TURN)
    history.forget(chat)
    assert history.search("zyxwvut") == []
    assert [info.chat_id for info in history.chats()] == [other]
    assert b"zyxwvut" not in history.path.read_bytes()


def test_a_conversation_purged_meanwhile_begins_anew(history: ChatHistory):
    chat = history.add(None, TURN)
    assert history.purge() is True
    assert list(history.path.parent.iterdir()) == []
    again = history.add(chat, replace(TURN, number=2))
    assert [turn.number for turn in history.turns(again)] == [2]


def test_half_characters_can_be_kept(history: ChatHistory):
    chat = history.add(None, replace(TURN, typed="a\ud800b", answer=replace(ANSWER, text="\udfff")))
    assert history.turns(chat)[0].answer.text == "\udfff"


@pytest.mark.parametrize(
    "content", [b"not a database, but some text of a few words", b"\x00" * 5000]
)
def test_a_file_that_is_something_else_is_an_error_with_a_hint(
    history: ChatHistory, content: bytes
):
    history.path.parent.mkdir()
    history.path.write_bytes(content)
    for work in (lambda: history.add(None, TURN), history.chats, lambda: history.search("x")):
        with pytest.raises(LogError) as raised:
            work()
        assert raised.value.hint


def test_another_version_is_left_alone(history: ChatHistory):
    history.add(None, TURN)
    with sqlite3.connect(history.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LogError, match="of this version"):
        history.chats()


# As ehrqa 0.1 made them: the words of a turn stood in a table of their own.
FIRST_VERSION = """
DROP TRIGGER turn_ai; DROP TRIGGER turn_ad; DROP TRIGGER turn_au; DROP TABLE turn_fts;
CREATE VIRTUAL TABLE words USING fts5 (typed, asked, text, tokenize = 'unicode61');
INSERT INTO words (rowid, typed, asked, text) SELECT id, typed, asked, text FROM turn;
PRAGMA user_version = 1;
"""


def test_a_file_of_the_first_version_is_brought_up_to_date(history: ChatHistory):
    chat = history.add(None, replace(TURN, typed="zyxwvut"))
    with sqlite3.connect(history.path) as connection:
        connection.executescript(FIRST_VERSION)
    connection.close()
    assert [found.question for found in history.search("zyxwvut")] == ["zyxwvut"]
    assert history.add(chat, replace(TURN, number=2, typed="abcdefg")) == chat
    assert [turn.number for turn in history.turns(chat)] == [1, 2]
    assert [found.number for found in history.search("abcdefg")] == [2]
    history.forget(chat)
    assert history.chats() == [] and b"zyxwvut" not in history.path.read_bytes()


def test_a_record_that_was_changed_is_an_error(history: ChatHistory):
    chat = history.add(None, TURN)
    with sqlite3.connect(history.path) as connection:
        connection.execute("UPDATE turn SET record = '{}'")
    connection.close()
    with pytest.raises(LogError, match="cannot read"):
        history.turns(chat)


def test_it_is_off_with_the_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert history_of(log=False) is None
    found = history_of()
    assert found is not None and found.path.name == "chats.db"
    monkeypatch.setenv("EHRQA_LOG_FILE", str(tmp_path / "mine.db"))
    assert history_of() == ChatHistory(tmp_path / "chats.db")
    monkeypatch.setenv("EHRQA_LOG", "off")
    assert history_of() is None
