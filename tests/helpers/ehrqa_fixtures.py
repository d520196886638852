"""Fixtures and parts of tests that the program's tests and its plugins' have in common.

A plugin of pytest (pyproject.toml): the command line run in this process, the measured data
(optional), and a private home for each test.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli import registry
from ehrqa_cli.cli import main
from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.ehr import schema

SHARED = Path(
    os.environ.get("EHRQA_SHARED", Path(__file__).resolve().parents[3] / "shared")
).resolve()
# What the developer may set for the tests themselves.
_KEPT = ("EHRQA_SHARED", "EHRQA_TEST_GGUF", "EHRQA_POSTGRES_BIN")


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


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of measured data beside the checkout; a test that needs it skips without."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder} (set EHRQA_SHARED to its parent)")
    return folder


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the developer's own settings, answer log and pulled models."""
    home = tmp_path_factory.mktemp("home")
    for name in [key for key in os.environ if key.startswith("EHRQA_") and key not in _KEPT]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    return home


def add_studies(ehr: Path, views: Mapping[int, str]) -> Path:
    """Add studies of patient 101, each with one image, to an EHR: the view by the study's id."""
    with sqlite3.connect(ehr) as connection:
        for table in schema.OPTIONAL_TABLES:
            connection.execute(table.ddl())
        connection.executemany(
            "INSERT INTO tb_cxr VALUES (?, 101, 1001, ?, ?, '2100-02-02 08:00:00', ?)",
            [(s, s, f"i{s}", view) for s, view in views.items()],
        )
    connection.close()
    return ehr


def together(ask: Callable[[int], bool], times: int) -> list[bool]:
    """What ``ask`` says of each number below ``times``, asked by threads of their own at once."""
    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(ask, range(times)))


class FirstLine(NoteReader):
    """Cites the line it is given first; declines where it is asked who."""

    name = "first"

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        line = lines[0].line
        span = NoteSpan(line.note_id, line.start, line.end, line.text)
        if "who" in question:
            return NoteAnswer(None, (span,), reason="not said")
        return NoteAnswer(line.text, (span,), 0.9, "B" if choices else None)

    def provenance(self) -> Mapping[str, str]:
        return {"model": "none"}


@pytest.fixture
def first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--reader first`` is `FirstLine`."""
    load = registry.load

    def load_first(group: str, name: str, contract: type[Any]) -> type[Any]:
        if (group, name) == (registry.NOTE_READER, "first"):
            return FirstLine
        return load(group, name, contract)

    monkeypatch.setattr(registry, "load", load_first)
