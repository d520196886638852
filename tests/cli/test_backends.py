"""The same commands on another database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contract_suite.database import sample_tables
from ehrqa_cli.contracts.plugins import Database


@pytest.fixture
def duck(ehr: Path, tmp_path: Path) -> Path:
    """The tests' EHR as a DuckDB file."""
    if "duckdb" not in registry.names(registry.DATABASE):
        pytest.skip("plugins/ehrqa-duckdb is not installed")
    plugin = registry.load(registry.DATABASE, "duckdb", Database)  # type: ignore[type-abstract]
    made = plugin.sample(tmp_path, sample_tables(ehr))
    assert made is not None
    return Path(made)


QUERY = (
    "SELECT patients.gender, COUNT(*) > 0, MIN(strftime('%Y', dob)) FROM patients "
    "WHERE datetime(dob) < datetime(current_time, '-1 year') GROUP BY 1"
)


@pytest.mark.parametrize("command", ["sql", "neuralsql"])
def test_a_query_gives_the_same(cli, ehr: Path, duck: Path, command: str) -> None:
    told = [cli(command, QUERY, "--db", db, "--json") for db in (ehr, duck, f"duckdb:{duck}")]
    assert [ran.code for ran in told] == [0, 0, 0]
    rows = [sorted(map(str, json.loads(ran.out)["rows"])) for ran in told]
    assert rows[0] == rows[1] == rows[2]
    assert len(rows[0]) == 2


def test_info(cli, ehr: Path, duck: Path) -> None:
    facts = [json.loads(cli("db", "info", db, "--json").out) for db in (ehr, duck)]
    assert [f["dialect"] for f in facts] == ["sqlite", "duckdb"]
    assert facts[0]["as_of"] == facts[1]["as_of"]
    assert facts[0]["tables"] == {**facts[1]["tables"]}
    assert facts[1]["bytes"] == duck.stat().st_size


def test_refusals_are_one_line_with_a_hint(cli, duck: Path, tmp_path: Path) -> None:
    for sql in ("DELETE FROM patients", "SELECT * FROM sqlite_master", "SELECT getenv('HOME')"):
        ran = cli("sql", sql, "--db", duck)
        assert ran.code == 1
        assert len(ran.err.splitlines()) == 2
    missing = cli("sql", "SELECT 1", "--db", f"duckdb:{tmp_path / 'none'}")
    assert (missing.code, "there is no database" in missing.err) == (1, True)


@pytest.fixture
def only_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other backend is installed."""
    names = registry.names
    monkeypatch.setattr(
        registry, "names", lambda group: ["sqlite"] if group == registry.DATABASE else names(group)
    )


@pytest.mark.usefixtures("only_sqlite")
@pytest.mark.parametrize("target", ["spark:somewhere", "postgresql://reader@host/ehr"])
def test_a_backend_that_is_not_installed(cli, target: str) -> None:
    for ran in (cli("sql", "SELECT 1", "--db", target), cli("db", "info", target)):
        assert ran.code == 2
        assert target in ran.err  # not one slash for two
        assert "ehrqa-" in ran.err


def test_a_password_in_an_address_is_refused_and_not_repeated(cli) -> None:
    ran = cli("ask", "how many patients are there?", "--db", "postgresql://me:hunter2@host/ehr")
    assert ran.code == 2
    assert "~/.pgpass" in ran.err
    assert "hunter2" not in ran.err + ran.out
