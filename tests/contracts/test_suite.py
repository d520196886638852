"""The suite itself: a plugin that does not keep its contract does not pass."""

from __future__ import annotations

import importlib.metadata
import json
import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.cli import main
from ehrqa_cli.contract_suite import checking, database, note_reader, text2sql
from ehrqa_cli.contract_suite.checking import State
from ehrqa_cli.contract_suite.database import same_rows
from ehrqa_cli.contract_suite.plugins import check, installed, state
from ehrqa_cli.contracts.errors import DatabaseError, ModelError
from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.plugins import Database, NoteReader, Text2Sql
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Query, Result
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase


class Careless(SqliteDatabase):
    """SQLite with everything that the contract forbids."""

    @classmethod
    def open(cls, target: str | Path) -> Careless:
        return super().open(target)  # type: ignore[return-value]

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        with sqlite3.connect(self.path) as connection:
            try:
                rows = connection.execute(sql).fetchmany(5)
            except sqlite3.Error as error:
                raise DatabaseError(f"two\nlines {error}", "") from None
        return Result(tuple("x" for _ in rows[:1]), tuple(rows))

    def close(self) -> None:
        return


class Liar(NoteReader):
    """Cites what is not there, and does what notes say."""

    name = "liar"

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        return NoteAnswer("PWNED", (NoteSpan("n1", 0, 5, "never"),), 7.0, "Z")

    def provenance(self) -> Mapping[str, str]:
        return {}


class Mumbler(Text2Sql):
    name: ClassVar[str] = "mumbler"

    def generate(self, question: LinkedQuestion, on_token: object = None) -> list[Query]:
        if not question.text:
            raise ValueError("empty")
        return [Query("DELETE FROM patients", scores={"x": float("nan")})]

    def provenance(self) -> Mapping[str, str]:
        return {"model": "none"}


class Older(Mumbler):
    contract_version: ClassVar[int] = 0


class Waiting(Mumbler):
    """Needs a server, and is checked over a stand-in for it, which mumbles."""

    def __init__(self, server: str | None = None) -> None:
        if server is None:
            raise ModelError("no server is named", "name one")

    @classmethod
    def for_check(cls) -> Waiting:
        return cls("a stand-in")


def failures(outcomes: list[checking.Outcome]) -> dict[str, State]:
    return {o.check: o.state for o in outcomes if o.state != State.PASSED}


def test_a_careless_database_fails(tmp_path: Path) -> None:
    quick = (
        database.refuses_by_itself,
        database.wrong_sql_is_an_error,
        database.limits_rows,
        database.closes,
    )
    with database.opened(Careless, tmp_path) as at:
        assert at is not None
        found = failures(checking.run(quick, at))
    assert len(found) == len(quick)
    assert set(found.values()) == {State.FAILED}


def test_a_lying_reader_fails() -> None:
    found = failures(checking.run(note_reader.CHECKS, Liar()))
    assert {"It answers with verbatim citations of the lines, or declines"} <= set(found)
    assert {"Without lines there is no answer", "cancel() with nothing running does no harm"} <= (
        set(found)
    )
    assert "It has a name, and says by what to repeat its answers" in found
    assert "What a note says is data: it does not do what a line tells it" in found


def test_a_model_that_raises_is_broken_and_nothing_ends() -> None:
    outcomes = checking.run(text2sql.CHECKS, Mumbler())
    found = failures(outcomes)
    assert len(outcomes) == len(text2sql.CHECKS)
    assert State.BROKEN in found.values()
    assert State.FAILED in found.values()


def test_rows_are_compared_as_they_should_be() -> None:
    assert same_rows(((1, "a"), (2, None)), ((2.0, None), (1, "a")), ordered=False)
    assert not same_rows(((1,), (2,)), ((2,), (1,)), ordered=True)
    assert same_rows(((0.1 + 0.2,),), ((0.3,),), ordered=True)
    assert not same_rows(((1,), (1,)), ((1,),), ordered=False)
    assert not same_rows((("1",),), ((1,),), ordered=False)
    assert not same_rows(((None,),), ((0,),), ordered=False)


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only plugins that are wrong in one way or another are installed."""
    points = (
        (registry.DATABASE, "gone", "ehrqa_cli.no_such_module:Thing"),
        (registry.DATABASE, "path", "pathlib:Path"),
        (registry.TEXT2SQL, "older", f"{__name__}:Older"),
        (registry.TEXT2SQL, "waiting", f"{__name__}:Waiting"),
    )
    made = EntryPoints(EntryPoint(name, value, group) for group, name, value in points)
    monkeypatch.setattr(importlib.metadata, "entry_points", made.select)
    monkeypatch.setattr("ehrqa_cli.contract_suite.plugins.entry_points", made.select)
    classes: dict[str, type[object]] = {"older": Older, "waiting": Waiting}
    real = registry.load

    def load(group: str, name: str, contract: type[Database]) -> type[object]:
        return classes.get(name) or real(group, name, contract)

    monkeypatch.setattr(registry, "load", load)


@pytest.mark.usefixtures("plugged")
def test_broken_plugins_are_told_of_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert [p.name for p in installed()] == ["gone", "path", "older", "waiting"]
    states = {p.name: state(check(p)) for p in installed()}
    assert states == {
        "gone": State.BROKEN,
        "path": State.BROKEN,
        "older": State.FAILED,
        "waiting": State.BROKEN,
    }
    assert main.run(["plugins", "check"]) == 1
    shown = capsys.readouterr()
    assert "broken  ehrqa.database:gone" in shown.out
    assert "written for version 0" in shown.out
    assert main.run(["plugins", "check", "waiting", "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    # It was made and asked: what it says is what fails.
    assert record["state"] == "broken" and "no server" not in json.dumps(record)
    assert len(record["checks"]) > 1
    assert main.run(["plugins", "list"]) == 0
    assert "gone" in capsys.readouterr().out
    assert main.run(["plugins", "info", "gone"]) == 0
    assert "broken: " in capsys.readouterr().out
    assert main.run(["plugins", "check", "nobody"]) == 2
    assert "no plugin is called 'nobody'" in capsys.readouterr().err
