"""Queries of the question templates give on every backend what they give on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contract_suite.database import Opened, opened, same_rows
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import run
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.templates import load_library
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary

BACKENDS = [name for name in registry.names(registry.DATABASE) if name != "sqlite"]
EVERY = 4  # of the templates, so that this stays quick; tests/benchmarks has all gold queries


@pytest.mark.parametrize("name", BACKENDS)
def test_templates(name: str, tmp_path: Path) -> None:
    plugin = registry.load(registry.DATABASE, name, Database)  # type: ignore[type-abstract]
    with opened(plugin, tmp_path) as at:
        if at is None:
            pytest.skip("it needs a server; run by `make test-backends`")
        assert differing(at, tmp_path / "reference.sqlite") == []


def differing(at: Opened, reference: Path) -> list[str]:
    """Forms whose rows are not SQLite's."""
    generator = Generator(read_vocabulary(reference), seed=11)
    now = at.reference.default_as_of() or ""
    found: list[str] = []
    full = 0
    for template in load_library().families["table"][::EVERY]:
        form = generator.from_template(template).form
        sql = compile_sql(parse(form))
        wanted, _ = run(sql, at.reference, as_of=now)
        told, _ = run(sql, at.database, as_of=now)
        full += bool(wanted.rows)
        if not same_rows(told.rows, wanted.rows, ordered=False):
            found.append(form)
    assert full > 10
    return found
