"""A small EHR, a model that answers by rote, and the command line run in this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.cli import main
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.ehr import schema
from ehrqa_cli.engine import Session


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run `ehrqa ARGS...` in this process."""

    def run(*args: object) -> Ran:
        capsys.readouterr()
        code = main.run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """Two patients, one admission each, three creatinine values of the first."""
    path = tmp_path / "ehr.sqlite"
    connection = sqlite3.connect(path)
    for table in schema.TABLES:
        connection.execute(table.ddl())
    connection.executemany(
        "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, ?)",
        [(0, 101, "f", "2050-01-02 00:00:00"), (1, 102, "m", "2040-03-04 00:00:00")],
    )
    connection.executemany(
        "INSERT INTO admissions VALUES (?, ?, ?, ?, ?, 'urgent', 'emergency room', 'home',"
        " 'medicare', 'english', 'married', ?)",
        [
            (0, 101, 1001, "2100-02-01 10:00:00", "2100-02-05 10:00:00", 50),
            (1, 102, 1002, "2099-02-01 10:00:00", "2099-02-05 10:00:00", 59),
        ],
    )
    connection.execute("INSERT INTO d_labitems VALUES (0, 50912, 'creatinine')")
    connection.executemany(
        "INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum, valueuom)"
        " VALUES (?, 101, 1001, 50912, ?, ?, 'mg/dl')",
        [
            (0, "2100-02-02 08:00:00", 1.1),
            (1, "2100-02-03 08:00:00", 2.75),
            (2, "2100-02-04 08:00:00", 0.9),
        ],
    )
    connection.commit()
    connection.close()
    return path


class RoteModel(Text2Sql):
    """Writes a form for two questions and declines the rest; ``broken`` makes it fail."""

    name: ClassVar[str] = "rote"
    broken: ClassVar[Exception | None] = None

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if self.broken is not None:
            raise self.broken
        if "how many patients" in question.text:
            return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]
        if "last" in question.text and len(question.links) == 2:
            lab, patient = (
                1 + next(i for i, link in enumerate(question.links) if kind in link.types)
                for kind in ("lab", "pat")
            )
            form = f"value last lab #{lab} patient #{patient}"
            return [Query(None, form, scores={"max_entropy": 0.01})]
        return []

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


@pytest.fixture
def rote(monkeypatch: pytest.MonkeyPatch) -> type[RoteModel]:
    """Use RoteModel in place of every text-to-SQL plugin, with no opinion but its own."""
    load = registry.load

    def load_rote(group: str, name: str, contract: type[Any]) -> type[Any]:
        return RoteModel if group == registry.TEXT2SQL else load(group, name, contract)

    monkeypatch.setattr(registry, "load", load_rote)
    monkeypatch.setattr(RoteModel, "broken", None)
    monkeypatch.setattr(Session, "second", None)
    return RoteModel
