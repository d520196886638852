"""A model behind a server as a writer of SQL: the schema, rules and examples, then the question.

The contract gives a model no schema, so that of MIMIC-IV in EHRSQL-2024's layout (Lee et al. 2024)
stands in schema.sql. What the model writes is taken only if it compiles there, in an empty SQLite
database; the program's own guard checks it again before it is run.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from typing import ClassVar

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_openai import settings, stand_in
from ehrqa_openai.plain import plain
from ehrqa_openai.said import Said
from ehrqa_openai.server import Prompt, Server

_LONGEST = 2000  # characters of a question
_TOKENS = 1024
_MOST_NAMES = 40
_FENCED = re.compile(r"```(?:sqlite|sql)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"^(?:A|SQL)\s*:\s*")
_END = re.compile(r";[ \t]*\n")
_SELECT = re.compile(r"(?:select|with)\b", re.IGNORECASE)


class OpenAiText2Sql(Text2Sql):
    """The text-to-SQL model ``openai``. Made without arguments, by the settings in force: raises
    UsageError for wrong ones."""

    name: ClassVar[str] = "openai"

    def __init__(self, server: Server | None = None) -> None:
        self.server = server or Server(settings.Settings.load())

    @classmethod
    def for_check(cls) -> OpenAiText2Sql | None:
        """Itself over a stand-in, for the contract suite; None where a server is named."""
        server = stand_in.server()
        return cls(server) if server is not None else None

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        try:
            return _queries(self.server.ask(prompt(question), on_token))
        finally:
            self.resume()

    def generate_many(self, questions: Sequence[LinkedQuestion]) -> list[list[Query] | EhrqaError]:
        """As the contract says; as many are asked together as the settings allow."""
        try:
            found = self.server.ask_many([prompt(question) for question in questions])
        finally:
            self.resume()
        return [each if isinstance(each, EhrqaError) else _queries(each) for each in found]

    def cancel(self) -> None:
        self.server.cancel()

    def resume(self) -> None:
        self.server.switch.release()

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256(system().encode()).hexdigest()
        return {**self.server.provenance(), "prompt_sha256": digest, "temperature": "0"}


@cache
def system() -> str:
    """Schema, rules and examples: the same for every question, so that a server may keep it."""
    rules = _file("sql_rules.txt")
    return (
        "You translate clinicians' questions into one SQLite SELECT over this database of "
        f"hospital records.\n\n{_file('schema.sql')}\n{rules}"
    )


def _file(name: str) -> str:
    return (files("ehrqa_openai") / name).read_text(encoding="utf-8")


def prompt(question: LinkedQuestion) -> Prompt:
    """The question as it was asked, with what its words are called in this database."""
    names = dict.fromkeys(
        f"{', '.join(link.types)}: {plain(str(link.value), 200)}" for link in question.links
    )
    found = f"(in the database: {'; '.join([*names][:_MOST_NAMES])})\n" if names else ""
    asked = f"Q: {plain(question.question, _LONGEST)}\n{found}A:"
    return Prompt(system(), asked, _TOKENS, logprobs=True)


def _queries(said: Said) -> list[Query]:
    """The query that was written, or none: it declined, was cut short, or wrote none that runs."""
    sql = read_sql(said.told) if said.whole else None
    return [Query(sql, scores=said.scores())] if sql else []


def read_sql(told: str) -> str | None:
    """The statement in what a model says: all of it, else up to the first semicolon that ends a
    line. None where that does not compile: a query that is cut somewhere else may run, and be
    another one."""
    fenced = _FENCED.search(told)
    text = (fenced[1] if fenced else told).strip()
    text = _LABEL.sub("", text).split("\nQ:")[0]
    if not _SELECT.match(text):
        return None
    for each in (text, _END.split(text)[0]):
        sql = each.strip().rstrip(";").strip()
        if compiles(sql):
            return sql
    return None


def compiles(sql: str) -> bool:
    """Can SQLite make a query of it over the schema? Nothing is run, and there are no data."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(_file("schema.sql"))
        try:
            empty.execute(f"EXPLAIN {sql}").fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            return False
    return True
