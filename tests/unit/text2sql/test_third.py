"""The third opinion over a writer that is told what to say."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, ModelError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Link, LinkedQuestion, Result
from ehrqa_cli.llama import Frame
from ehrqa_cli.text2sql import third
from ehrqa_cli.text2sql.known import Near, with_values
from ehrqa_cli.text2sql.third import ThirdOpinion, prompt, read_sql

AS_OF = "2100-12-31 23:59:00"
QUESTION = "last sodium of 7?"
LINKED = LinkedQuestion(
    QUESTION,
    "last <lab>#1 of <pat>#2?",
    (Link(5, 11, ("lab",), "sodium"), Link(15, 16, ("pat",), 7, "id")),
)


NEAR = (
    Near("what was the final <lab>#1 in <pat>#2", "value last lab #1 patient #2", 1.0, 0),
    Near("when first <lab>#1 in <pat>#2", "time first lab #1 patient #2", 1.0, 0),
    Near("a form that is none", "value last (", 1.0, 0),
)


class Says:
    """A writer of one token a character; it says ``text``, then ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.held: list[int] = []
        self.read: list[int] = []
        self.said = 0

    def frame(self) -> Frame:
        return Frame((0,), (1, 0), (1, 0))

    def is_end(self, token: int) -> bool:
        return token == 1

    def tokenize(self, text: str) -> list[int]:
        return [ord(c) % 900 + 2 for c in text]

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]
        self.said = 0

    def text_of(self, ids: Sequence[int]) -> str:
        return self.text[: len(ids)]

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        assert len(entries) <= 512
        out = []
        for token, position, sequence, wanted in entries:
            assert position == len(self.held) and sequence == 0
            self.held.append(token)
            self.read.append(token)
            if wanted:
                logits = np.zeros(1000, np.float32)
                logits[1 if self.said >= len(self.text) else 5] = 1.0
                self.said += 1
                out.append(logits)
        return out

    def close(self) -> None:
        self.held = []


class Numbers(Database):
    dialect: ClassVar[str] = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE TABLE patients (row_id, subject_id)")
        self.connection.execute("INSERT INTO patients VALUES (1, 7)")

    @classmethod
    def open(cls, target: str) -> Numbers:
        return cls()

    def schema(self) -> Mapping[str, Sequence[str]]:
        return {"patients": ("row_id", "subject_id"), "sqlite_stat1": ("tbl",)}

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        try:
            cursor = self.connection.execute(sql)
        except sqlite3.Error as error:
            raise DatabaseError(str(error), "") from None
        return Result(("x",), tuple(cursor.fetchall()))

    def cancel(self) -> None: ...

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        self.connection.close()


@pytest.mark.parametrize(
    ("said", "sql", "rows"),
    [
        ("SELECT subject_id FROM patients;", "SELECT subject_id FROM patients", ((7,),)),
        ("ABSTAIN", None, None),
        ("SELECT phone FROM patients", "SELECT phone FROM patients", None),
        ("DELETE FROM patients", None, None),
        ("SELECT 1; DROP TABLE patients", "SELECT 1", ((1,),)),
    ],
)
def test_its_answer(said: str, sql: str | None, rows: object) -> None:
    database = Numbers()
    found = ThirdOpinion(Says(said), {}).answer(LINKED, NEAR, database, as_of=AS_OF)
    assert (found.sql, found.rows) == (sql, rows)
    assert database.execute("SELECT count(*) FROM patients").rows == ((1,),)
    database.close()


def test_what_two_prompts_share_is_read_once() -> None:
    writer = Says("ABSTAIN")
    opinion = ThirdOpinion(writer, {})
    opinion.write(("the same long beginning " * 60, "one question"))
    first = len(writer.read)
    assert first > 512, "more than one batch"
    said = opinion.write(("the same long beginning " * 60, "another question"))
    assert said == "ABSTAIN" and len(writer.read) - first < 60
    fresh = Says("ABSTAIN")
    ThirdOpinion(fresh, {}).write(("the same long beginning " * 60, "another question"))
    assert writer.held == fresh.held


def test_the_prompt_has_schema_examples_nearest_last_and_the_question() -> None:
    system, user = prompt(LINKED, NEAR, {"patients": ("row_id", "subject_id"), "sqlite_x": ("a",)})
    assert "patients(subject_id)" in system and "sqlite_x" not in system
    assert "ABSTAIN" in system
    first, last = user.index("when first sodium in 7"), user.index("what was the final sodium in 7")
    assert first < last < user.index(f"Q: {QUESTION}")
    assert "labevents" in user[last:] and "a form that is none" not in user
    assert user.rstrip().endswith("A:")


def test_own_words_in_place_of_anothers_values() -> None:
    assert with_values("is <drug><lab>#2 <lab>#1 high?", LINKED) is None, "there is one lab"
    assert with_values("<pat>#2: <lab>#1", LINKED) == "7: sodium"
    option = LinkedQuestion("sodium", "", (Link(6, 6, ("pat",), 7, "option"),))
    assert with_values("weight of <pat>#1", option) == "weight of 7"


@pytest.mark.parametrize(
    ("said", "sql"),
    [
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("A: select 1\nQ: next", "select 1"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
        ("abstain.", None),
        ("I do not know", None),
        ("", None),
    ],
)
def test_reading_what_it_said(said: str, sql: str | None) -> None:
    assert read_sql(said) == sql


def test_cancelling() -> None:
    opinion = ThirdOpinion(Says("x"), {})
    opinion.cancel()
    with pytest.raises(Cancelled):
        opinion.write(("a", "b"))


def test_a_missing_model_says_how_to_pull_it() -> None:
    with pytest.raises(ModelError) as caught:
        ThirdOpinion.pulled()
    assert f"ehrqa models pull {third.MODEL}" in caught.value.hint
