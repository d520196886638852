"""EHRSQL 2022 on MIMIC-III's and eICU's own layouts: gold runs on the tables as they are, and this
program answers through the mapping."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.engine import Session

# Over the layout's own tables, which ours are not: eICU's has a row for each stay.
GOLD = {
    "mimic_iii_ehrsql": "select count( distinct patients.subject_id ) from patients",
    "eicu_ehrsql": "select count( distinct patient.uniquepid ) from patient",
}


class Counts(Text2Sql):
    """Counts the patients, whatever is asked of patients."""

    name: ClassVar[str] = "counts"

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if "patients" not in question.text:
            return []
        return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]

    def provenance(self) -> Mapping[str, str]:
        return {"model": "counts", "sha256": "0" * 64}


@pytest.mark.parametrize("name", GOLD)
def test_ours_and_gold(
    cli: Any, make_layout: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    load = registry.load
    monkeypatch.setattr(
        registry,
        "load",
        lambda group, key, contract: (
            Counts if group == registry.TEXT2SQL else load(group, key, contract)
        ),
    )
    monkeypatch.setattr(Session, "judge", None)
    _, db = make_layout(name, tmp_path)
    database = name.removesuffix("_ehrsql")
    rows = [
        {"id": "a", "question": "how many patients are there?", "query": GOLD[name]},
        {"id": "b", "question": "who wrote this?", "query": "nan", "is_impossible": True},
    ]
    data = tmp_path / "ehrsql" / database
    data.mkdir(parents=True)
    (data / "valid.json").write_text(json.dumps([{"db_id": database, **row} for row in rows]))
    flags = ("--data", tmp_path, "--split", "valid", "--db", db, "--json")
    for system in ("ours", "gold"):
        ran = cli("eval", "ehrsql", *flags, "--system", system)
        assert ran.code == 0, ran.err
        found = json.loads(ran.out)
        assert found["overall"]["rs"]["10"] == 100.0, (system, found)
        assert found["header"]["version"] == f"{database} valid"
        assert found["header"]["as_of"] == "2105-12-31 23:59:00"  # as the mapping says
    wrong = tmp_path / "p.json"
    wrong.write_text(json.dumps({"a": "SELECT COUNT(*) + 1 FROM nobody", "b": None}))
    ran = cli("eval", "ehrsql", *flags, "--system", wrong)
    assert json.loads(ran.out)["overall"]["rs"]["10"] == -450.0
