"""A small EHR as a fake database, a fake linker, and a model that says what it is told."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.plugins import Database, Text2Sql
from ehrqa_cli.contracts.types import Limits, Link, LinkedQuestion, Query, Result
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.text2sql.known import KnownQuestions
from ehrqa_cli.text2sql.linking.namesakes import Namesakes
from ehrqa_cli.text2sql.third import Opinion as Said

AS_OF = "2100-12-31 23:59:00"

TABLES = """
CREATE TABLE patients (row_id, subject_id, gender, dob, dod);
CREATE TABLE admissions (row_id, subject_id, hadm_id, admittime, dischtime, age);
CREATE TABLE d_labitems (row_id, itemid, label);
CREATE TABLE labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum, valueuom);
CREATE TABLE prescriptions (row_id, subject_id, hadm_id, starttime, stoptime, drug, route);
INSERT INTO patients VALUES (1, 7, 'f', '2050-01-01 00:00:00', NULL);
INSERT INTO admissions VALUES (1, 7, 70, '2100-01-01 00:00:00', '2100-01-05 00:00:00', 50);
INSERT INTO d_labitems VALUES (1, 500, 'sodium');
INSERT INTO labevents VALUES (11, 7, 70, 500, '2100-01-02 00:00:00', 140.0, 'meq/l');
INSERT INTO labevents VALUES (12, 7, 70, 500, '2100-01-03 00:00:00', 141.5, 'meq/l');
"""


class MemoryDatabase(Database):
    """SQLite in memory; records what it is asked."""

    dialect: ClassVar[str] = "sqlite"
    counts_steps: ClassVar[bool] = True  # nothing here is to depend on how busy the machine is

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.executescript(TABLES)
        self.asked: list[str] = []
        self.fail: Exception | None = None

    @classmethod
    def open(cls, target: str) -> MemoryDatabase:
        return cls()

    def schema(self) -> Mapping[str, Sequence[str]]:
        return {}

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        limits = limits or Limits()
        self.asked.append(sql)
        if self.fail:
            raise self.fail
        try:
            cursor = self.connection.execute(sql)
        except sqlite3.Error as error:
            raise DatabaseError(str(error), "mend it") from None
        rows = cursor.fetchmany(limits.rows + 1)
        columns = tuple(d[0] for d in cursor.description)
        return Result(columns, tuple(rows[: limits.rows]), len(rows) > limits.rows)

    def cancel(self) -> None:
        self.connection.interrupt()

    def fingerprint(self) -> str:
        return "memory:1"

    def default_as_of(self) -> str:
        return AS_OF

    def close(self) -> None:
        self.connection.close()


class WordLinker:
    """Links ``sodium`` and the patients 7 (known) and others (unknown); years and numbers."""

    def link(
        self, question: str, *, patient_id: int | None = None, study_id: int | None = None
    ) -> LinkedQuestion:
        links: list[Link] = []
        unknown: list[tuple[str, str]] = []
        for found in re.finditer(r"sodium|unobtainium|\b\d+\b", question):
            text = found.group()
            if text == "sodium":
                links.append(Link(*found.span(), ("lab",), "sodium"))
            elif text == "unobtainium":
                unknown.append(("drug", text))
            elif len(text) == 4:
                links.append(Link(*found.span(), ("year",), text))
            elif text == "7":
                links.append(Link(*found.span(), ("pat",), 7))
            else:
                unknown.append(("pat", text))
        if patient_id is not None:
            links.append(Link(len(question), len(question), ("pat",), patient_id))
        return LinkedQuestion(question, question, tuple(links), tuple(unknown))

    def namesakes(self, mention: str, kind: str, value: str) -> Namesakes:
        return Namesakes()

    def shared(self, kind: str, value: str) -> int:
        return 1


class Scripted(Text2Sql):
    """Answers every question with the same queries."""

    name: ClassVar[str] = "scripted"

    def __init__(self, *queries: Query) -> None:
        self.queries = list(queries)
        self.asked: list[LinkedQuestion] = []
        self.fail: Exception | None = None

    def insist(self, question: LinkedQuestion) -> Query | None:
        return Query(None, "value last lab #1 patient #2")

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        self.asked.append(question)
        if self.fail:
            raise self.fail
        for query in self.queries[:1]:
            for token in query.tokens:
                if on_token:
                    on_token(token)
        return self.queries

    def provenance(self) -> Mapping[str, str]:
        return {"model": "scripted", "sha256": "0" * 64}


def form(text: str, **scores: float) -> Query:
    return Query(None, text, tuple(text.split()), scores)


def sql(text: str, **scores: float) -> Query:
    return Query(text, None, tuple(text.split()), scores)


def session(*queries: Query, **parts: Any) -> Session:
    given: dict[str, Any] = {
        "database": MemoryDatabase(),
        "linker": WordLinker(),
        "model": Scripted(*queries),
        "thresholds": Thresholds(),
        "judge": None,
        "known": KnownQuestions([]),
    }
    return Session(**{**given, **parts})


class Judging:
    """A judge that finds every reading as faithful as ``odds`` says, or as the first of ``by_word``
    that it has, and of every question the kind of the first of ``kinds`` whose word it has, for
    certain. The words ``missed`` are left out of every reading."""

    def __init__(
        self,
        odds: float = 5.0,
        by_word: Mapping[str, float] | None = None,
        missed: tuple[str, ...] = (),
        **kinds: str,
    ) -> None:
        self.odds, self.by_word, self.missed, self.words = odds, by_word or {}, missed, kinds

    def faithful(self, linked: LinkedQuestion, readings: Sequence[str]) -> list[float]:
        return [
            next((odds for word, odds in self.by_word.items() if word in text), self.odds)
            for text in readings
        ]

    def kinds(self, linked: LinkedQuestion) -> dict[str, float]:
        kind = next((k for w, k in self.words.items() if w in linked.text), "answerable")
        return {"answerable": -9.0, kind: -0.001}

    def left_out(self, linked: LinkedQuestion, reading: str, most: int = 2) -> tuple[str, ...]:
        return self.missed

    def provenance(self) -> Mapping[str, str]:
        return {"model": "judging"}


class ThirdSays:
    """A third opinion that always gives the same rows."""

    examples = 5

    def __init__(self, text: str | None, rows: Any) -> None:
        self.said = Said(text, rows)

    def answer(self, *_: Any, **__: Any) -> Said:
        return self.said

    def provenance(self) -> Mapping[str, str]:
        return {"model": "says"}
