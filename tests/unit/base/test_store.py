from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.store import AnswerLog, LogError, answer_record

ANSWER = Answer(
    Question("how many?", id="1"),
    Status.ANSWERED,
    text="2",
    value=2,
    columns=("n",),
    rows=((2,),),
    timings={"total": 1.0},
    provenance={"database": "sqlite:0"},
)


def test_only_an_abstention_has_a_reason_and_nothing_has_timings():
    assert answer_record(ANSWER)["reason"] is None
    assert "timings" not in json.dumps(answer_record(ANSWER))
    declined = Answer(Question("?"), Status.ABSTAINED, reason_kind="unlinked", reason="No lab.")
    assert answer_record(declined)["reason"] == {"kind": "unlinked", "sentence": "No lab."}


def test_the_log_is_private_even_where_the_umask_is_not(tmp_path: Path):
    log = AnswerLog(tmp_path / "state" / "log.db")
    log.add(ANSWER)
    log.path.chmod(0o644)
    log.add(ANSWER)
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert log.path.parent.stat().st_mode & 0o077 == 0
    connection = sqlite3.connect(log.path)
    texts = [text for (text,) in connection.execute("SELECT answer FROM answers")]
    connection.close()
    assert len(texts) == 2
    assert json.loads(texts[0]) == json.loads(json.dumps(answer_record(ANSWER)))


def test_purge_leaves_no_file(tmp_path: Path):
    log = AnswerLog(tmp_path / "log.db")
    assert log.purge() is False
    log.add(ANSWER)
    (tmp_path / "log.db-wal").touch()
    assert log.purge() is True
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written_says_how_to_mend_it(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LogError, match="cannot write") as raised:
        AnswerLog(tmp_path / "file" / "log.db").add(ANSWER)
    assert "--no-log" in raised.value.hint
    (tmp_path / "log.db").write_text("this is not a database but some text of a few words")
    with pytest.raises(LogError):
        AnswerLog(tmp_path / "log.db").add(ANSWER)


def test_a_log_that_lacks_a_column_gets_it(tmp_path: Path):
    log = AnswerLog(tmp_path / "log.db")
    with sqlite3.connect(log.path) as connection:
        connection.execute("CREATE TABLE answers (asked_at, question, answer)")
        connection.execute("INSERT INTO answers VALUES ('2026-01-01', 'before', '{}')")
    connection.close()
    log.add(ANSWER)
    log.add(ANSWER)
    connection = sqlite3.connect(log.path)
    rows = connection.execute("SELECT question, status FROM answers").fetchall()
    connection.close()
    assert rows == [("before", None), ("how many?", "answered"), ("how many?", "answered")]
