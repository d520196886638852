"""A fuzzer of SQL on SQLite and DuckDB, and of NeuralSQL over labels.

FUZZ=10000 runs as many of each; a few hundred without.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.cli import main
from ehrqa_cli.contract_suite.database import sample_tables
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.ehr.open import open_as_it_is
from ehrqa_cli.vqa import Vqa

from ..neuralsql.test_images import CASES, Labels, make
from .sql_fuzzer import SqlFuzzer

INPUTS = int(os.environ.get("FUZZ", "300"))
AS_OF = "2100-12-31 23:59:00"
SECONDS = 0.3
SLACK = 1.0
LIMITS = Limits(seconds=SECONDS, rows=200, now=AS_OF)
_EPOCH_DAY = 2440587.5  # the Julian day of 1970


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, in which nothing may appear."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=["sqlite", "duckdb"])
def target(request: pytest.FixtureRequest, demo_file: Path, tmp_path: Path) -> Path:
    """The demo EHR in one engine."""
    if request.param == "sqlite":
        return demo_file
    duckdb = pytest.importorskip("ehrqa_duckdb", reason="needs the plugin ehrqa-duckdb")
    made = tmp_path / "made"
    made.mkdir()
    return Path(duckdb.DuckDbDatabase.sample(made, sample_tables(demo_file)))


def real(shared: Path) -> list[str]:
    """Published queries of EHRSQL-2024 beside the checkout, if they are there."""
    file = shared / "data/ehrsql-2024/valid/label.json"
    if not file.is_file():
        return []
    return [sql for sql in json.loads(file.read_text()).values() if sql != "null"]


def marks(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file()
    }


def tells_the_time(rows: Sequence[Row], sql: str) -> bool:
    """Does a value name this day? The data are of other centuries."""
    now = time.time()
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    for value in (value for row in rows for value in row):
        if isinstance(value, str) and today in value and today not in sql:
            return True
        try:
            number = float(value or 0)
        except ValueError:
            continue
        if abs(number - now) < 5 or abs(number - (_EPOCH_DAY + now / 86400)) < 0.1:
            return True
    return False


def tried(sql: str, run: Callable[[str], Sequence[Row]]) -> str:
    """How a statement ended. Raises AssertionError for what must not be."""
    started = time.monotonic()
    try:
        rows = run(sql)
    except (EhrqaError, NotAnswered) as error:
        text = str(getattr(error, "message", error))
        assert "\n" not in text, f"several lines for {sql!r}: {text}"
        ended = type(error).__name__
    else:
        assert not tells_the_time(rows, sql), f"the clock: {sql!r}: {rows}"
        ended = "rows"
    took = time.monotonic() - started
    assert took < SECONDS + SLACK, f"{took:.1f} s: {sql!r}"
    return ended


def report(name: str, ended: Counter[str]) -> None:
    print(f"\n{name}: {ended.total()} inputs, {dict(ended)}")


def test_no_statement_gets_through(target: Path, here: Path) -> None:
    shared = Path(os.environ.get("EHRQA_SHARED", Path(__file__).parents[4] / "shared"))
    before = marks(target.parent)
    database = open_as_it_is(target)

    def run(sql: str) -> Sequence[Row]:
        if not sql.strip():
            return ()
        return database.execute(neuralsql.bind_time(sql, AS_OF), LIMITS).rows

    fuzzer = SqlFuzzer(20, database.schema(), real(shared))
    ended: Counter[str] = Counter()
    for _ in range(INPUTS):
        ended[tried(fuzzer.next(), run)] += 1
    assert database.execute("SELECT count(*) FROM patients").rows == ((25,),)
    database.close()
    report(target.name, ended)
    assert ended["rows"] > INPUTS / 20, "statements that run are among them"
    assert marks(target.parent) == before
    assert list(here.iterdir()) == []


def test_the_command_ends_with_the_right_code(
    target: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = open_as_it_is(target)
    fuzzer = SqlFuzzer(21, database.schema(), [])
    database.close()
    for _ in range(INPUTS // 10):
        sql = fuzzer.next()
        if sql.strip().startswith("-"):
            continue  # an option
        command = fuzzer.rng.choice(["sql", "neuralsql"])
        code = main.run([command, "--db", str(target), "--seconds", "0.3", "--", sql])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        assert "unexpected" not in shown.err, f"{sql!r}: {shown.err}"
        if code == 0:
            assert "error:" not in shown.err
        else:
            assert (code, shown.out) == (1 if sql.strip() else 2, ""), f"{sql!r}: {shown.err}"
            errors = [line for line in shown.err.splitlines() if line.startswith("error: ")]
            assert len(errors) == 1, f"{sql!r}: {shown.err}"
    assert list(here.iterdir()) == []


@pytest.fixture
def films(tmp_path: Path) -> Iterator[Database]:
    """Six studies with labels."""
    path = tmp_path / "films.sqlite"
    make(path)
    database = open_as_it_is(path)
    yield database
    database.close()


def test_no_question_about_images_gets_through(films: Database, here: Path) -> None:
    graphs = Vqa(Labels())
    asked = [case[0] if isinstance(case, tuple) else str(case) for case in CASES]
    fuzzer = SqlFuzzer(22, films.schema(), [*asked] * 20)

    def run(sql: str) -> Sequence[Row]:
        done = neuralsql.execute(sql, films, as_of=AS_OF, limits=LIMITS, graphs=graphs)
        return done.result.rows

    ended: Counter[str] = Counter()
    for _ in range(INPUTS):
        ended[tried(fuzzer.next(), run)] += 1
    report("neuralsql", ended)
    assert ended["rows"] > INPUTS / 20
    assert list(here.iterdir()) == []
