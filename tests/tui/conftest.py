"""A real session over a small EHR, with a model that answers by rote."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.ehr import schema
from ehrqa_cli.engine import Session


class Rote(Text2Sql):
    """Writes one form, or what it was told to; "slowly" makes it write until it is ended."""

    name: ClassVar[str] = "rote"

    def __init__(self) -> None:
        self.ended = threading.Event()

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if on_token is not None:
            on_token("count_patients")
        if "slowly" in question.text:
            assert self.ended.wait(20), "nobody ended it"
            raise Cancelled("cancelled", "")
        return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]

    def cancel(self) -> None:
        self.ended.set()

    def resume(self) -> None:
        self.ended.clear()

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


@dataclass(frozen=True)
class Options:
    """What the worker needs of the command's options."""

    db: Path
    patient: int | None = None
    log: bool = True

    def session(self) -> Session:
        """Over the real database, with no opinion but the model's."""
        return Session(self.db, model=Rote(), second=None, reason_model=None)


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """Two patients, one admission each."""
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
    connection.commit()
    connection.close()
    return path
