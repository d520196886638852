"""The demo EHR turned into other layouts answers as the demo itself does, through the mapping.

tests/fixtures/layouts/NAME.sql has two parts: what is taken out of the demo because the layout
cannot hold it (``reference``), and the layout's tables made of the rest (``layout``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contract_suite.database import same_rows, sample_tables
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.dialects import translate
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mapping import check as mapping_check
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.engine.evidence import rows_for
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import run
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.templates import load_library
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary

# Of the forms of all 174 table templates: those that ask for what a layout does not record, and the
# others whose answer is not empty or 0.
BACKENDS = [name for name in registry.names(registry.DATABASE) if name != "sqlite"]
DECLINED = {
    "mimic_iii_ehrsql": (9, 68),
    "mimic_iii_raw": (18, 54),
    "eicu_ehrsql": (13, 73),
    "omop_5_4": (52, 46),
}


@dataclass(frozen=True)
class Layout:
    name: str
    target: Path
    mapped: Mapped
    reference: SqliteDatabase


@pytest.fixture(scope="module", params=list(DECLINED))
def layout(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    make_layout: Callable[[str, Path], tuple[Path, Path]],
) -> Iterator[Layout]:
    reference, target = make_layout(request.param, tmp_path_factory.mktemp(request.param))
    mapped = open_database(target)
    assert isinstance(mapped, Mapped)
    ehr = SqliteDatabase.open(reference)
    yield Layout(request.param, target, mapped, ehr)
    mapped.close()
    ehr.close()


def forms(reference: Path) -> Iterator[str]:
    """A form of every template, of the layout's values, else of the whole demo's."""
    files = (reference, reference.with_name("demo.sqlite"))
    own, whole = (Generator(read_vocabulary(file), seed=11) for file in files)
    for template in load_library().families["table"]:
        try:
            yield own.from_template(template).form
        except KeyError:  # a kind of value that the layout has not
            yield whole.from_template(template).form


def test_a_layout_is_known_by_its_tables(layout: Layout) -> None:
    assert layout.mapped.fitted.mapping.name == layout.name
    assert layout.mapped.versions()["schema"].startswith(f"{layout.name} sha256:")


def test_its_answers_are_the_demos(layout: Layout) -> None:
    now = layout.reference.default_as_of()
    outcomes: Counter[str] = Counter()
    differing: list[str] = []
    full = 0
    for form in forms(layout.reference.path):
        sql = compile_sql(parse(form))
        if layout.mapped.lacking(sql):
            outcomes["declined"] += 1
            continue
        wanted, _ = run(sql, layout.reference, as_of=now)
        found, _ = run(sql, layout.mapped, as_of=now)
        full += any(v not in (None, 0) for row in wanted.rows for v in row)
        if not same_rows(found.rows, wanted.rows, ordered=False):
            differing.append(f"{form}: {found.rows[:3]} instead of {wanted.rows[:3]}")
    assert differing == []
    assert (outcomes["declined"], full) == DECLINED[layout.name]


def test_the_checker_finds_it_usable(layout: Layout) -> None:
    report = mapping_check.check(layout.mapped.backend, layout.mapped.fitted)
    assert report.faults == ()
    assert [t.notices for t in report.tables if "unique" in " ".join(t.notices)] == []
    rows = {t.table: t.rows for t in report.tables}
    assert rows["labevents"] and rows["chartevents"] and rows["icustays"]
    assert rows["patients"] == layout.reference.execute("SELECT count(*) FROM patients").rows[0][0]
    assert bool(report.declined)


def test_now_is_the_layouts_own(layout: Layout) -> None:
    later = layout.name in ("omop_5_4", "mimic_iii_raw")
    ours = layout.reference.default_as_of()
    assert layout.mapped.default_as_of() == (ours if later else "2105-12-31 23:59:00")


def test_evidence_can_be_opened(layout: Layout) -> None:
    drug = layout.reference.execute("SELECT drug FROM prescriptions LIMIT 1").rows[0][0]
    asked = (f'count_patients rx "{drug}"', 'count lab "creatinine"', 'count vital "heart rate"')
    session = SessionParts(database=layout.mapped)
    for form in asked:
        evidence = rows_for(parse(form), session, layout.mapped.default_as_of())
        assert evidence
        for row in evidence[:3]:
            key = row["key"]["row_id"]
            shown = f"'{key}'" if isinstance(key, str) else key
            opened = layout.mapped.execute(f"SELECT * FROM {row['table']} WHERE row_id = {shown}")
            assert len(opened.rows) == 1
            assert opened.columns == layout.mapped.schema()[row["table"]]


def test_values_are_found_in_the_words_of_the_demo(layout: Layout) -> None:
    found, wanted = ValueIndex.build(layout.mapped), ValueIndex.build(layout.reference)
    for kind in ("drug", "lab", "dx", "proc", "vital"):
        assert found.strings[kind] == wanted.strings[kind]
    assert found.patients == wanted.patients
    assert found.years == wanted.years


def as_sample(path: Path) -> Iterator[SampleTable]:
    """The tables of a SQLite file, names as a server has them, in lower case; what a column holds
    is told from its values."""
    for table in sample_tables(path):
        kinds = [_kind([row[i] for row in table.rows]) for i in range(len(table.columns))]
        columns = tuple((n.lower(), k) for (n, _), k in zip(table.columns, kinds, strict=True))
        rows = tuple(tuple(map(_cell, row, kinds)) for row in table.rows)
        yield replace(table, name=table.name.lower(), columns=columns, rows=rows)


def _cell(value: Any, kind: str) -> Any:
    """A value as the contract has it: times are whole."""
    return f"{value} 00:00:00" if kind == "timestamp" and len(str(value)) == 10 else value


def _kind(values: list[object]) -> str:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int) for value in present):
        return "integer"
    if present and all(isinstance(value, int | float) for value in present):
        return "real"
    if present and all(re.fullmatch(r"\d{4}-\d\d-\d\d( .*)?", str(v)) for v in present):
        return "timestamp"
    return "text"


def test_every_dialect_has_words_for_it(layout: Layout) -> None:
    types = {table.name: dict(table.columns) for table in as_sample(layout.target)}
    for name in layout.mapped.schema():
        sql = layout.mapped.rewritten(f"SELECT * FROM {name}")
        for backend in BACKENDS:
            plugin = registry.load(registry.DATABASE, backend, Database)  # type: ignore[type-abstract]
            if plugin.words is not None:
                assert translate(sql, plugin.words, types)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_in_other_databases(layout: Layout, backend: str, tmp_path: Path) -> None:
    plugin = registry.load(registry.DATABASE, backend, Database)  # type: ignore[type-abstract]
    tables = [t for t in as_sample(layout.target) if not t.name.startswith("sqlite_")]
    made = plugin.sample(tmp_path, tables)
    if made is None:
        pytest.skip("it needs a server; run by `make test-backends`")
    mapped = open_database(made)
    assert isinstance(mapped, Mapped)
    now = layout.reference.default_as_of()
    differing: list[str] = []
    compared = 0
    for form in list(forms(layout.reference.path))[::8]:
        sql = compile_sql(parse(form))
        if not mapped.lacking(sql):
            compared += 1
            found, wanted = (run(sql, d, as_of=now)[0].rows for d in (mapped, layout.reference))
            if not same_rows(found, wanted, ordered=False):
                differing.append(f"{form}: {found[:3]} instead of {wanted[:3]}")
    mapped.close()
    assert differing == []
    assert compared > 8
