"""One instance of each of the 417 templates: its form, its English, and for tables its query."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.types import PatientScope, Scope
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.logical_form import compile_sql, describe, parse, print_form, scope_of
from ehrqa_cli.logical_form.normalise import normalise
from ehrqa_cli.neuralsql import calls, run
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.image_templates import image_templates
from ehrqa_cli.sets.pairs.images import ImageMaker
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.templates import load_library
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.vqa import parse as parse_question

TABLE = load_library().families["table"]


@pytest.fixture(scope="module")
def generator(demo: Path) -> Generator:
    return Generator(read_vocabulary(demo), seed=11)


def check(pair: Pair) -> None:
    form = parse(pair.form)
    assert print_form(form) == pair.form
    assert print_form(parse(print_form(normalise(form)))) == print_form(normalise(form))
    assert len(describe(form)) > 8


@pytest.mark.parametrize("index", range(len(TABLE)))
def test_a_table_template_has_a_query_that_runs(
    index: int, generator: Generator, database: SqliteDatabase
) -> None:
    pair = generator.from_template(TABLE[index])
    check(pair)
    form = parse(pair.form)
    assert scope_of(form)[0] is Scope.TABLE
    result, sql = run(compile_sql(form), database, as_of=database.default_as_of())
    assert len(result.columns) == 1
    assert "current_time" not in sql


@pytest.mark.parametrize("modality", ["image", "image+table"])
def test_an_image_template_has_a_form_and_a_query_that_a_reader_understands(
    modality: str, generator: Generator
) -> None:
    maker = ImageMaker(modality, generator.sampler, generator.rng)
    templates = [t for t in image_templates() if t.modality == modality]
    assert len(templates) == {"image": 168, "image+table": 75}[modality]
    for template in templates:
        pair = maker.from_template(template)
        check(pair)
        scope, patients = scope_of(parse(pair.form))
        assert scope.value == modality, pair.form
        assert patients is not PatientScope.NONE
        sql = compile_sql(parse(pair.form))
        neuralsql.check(sql, images=True)
        found = calls.parse(sql).calls
        assert found, sql
        for call in found:
            parse_question(call.question)
