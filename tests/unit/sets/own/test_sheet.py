"""The answer sheet, the builder's SQL and the labels, against the engine's own."""

from __future__ import annotations

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import Context, bind
from ehrqa_cli.sets.own.anchor import AnchoredGenerator, AnchoredImages
from ehrqa_cli.sets.own.people import People
from ehrqa_cli.sets.own.periods import Now
from ehrqa_cli.sets.own.sheet import Unsheeted, answer_sheet


@pytest.fixture(scope="module")
def generator(pictured) -> AnchoredGenerator:
    sources = pictured.sources
    people = People(sources.working, sources.vocabulary)
    made = AnchoredGenerator(sources.vocabulary, people, Now(sources.working.as_of))
    made.rng.seed(3)
    return made


@pytest.mark.parametrize("modality", ["image", "image+table"])
def test_the_sheet_gives_what_the_engine_reads_off_the_labels(
    modality: str, pictured, generator: AnchoredGenerator
) -> None:
    working, labels = pictured.sources.working, pictured.sources.labels
    maker = AnchoredImages(modality, generator, labels.present())
    found = 0
    for template in maker.templates[::2]:
        maker.focus(template.form, 0.1)
        form = maker.from_template(template).form
        sql = working.bound(compile_sql(parse(form)))
        rows = working.rows(answer_sheet(sql))
        result, _ = neuralsql.run(sql, pictured.database, as_of=working.as_of, graphs=pictured.vqa)
        assert rows is not None and set(rows) == set(result.rows), form
        found += bool(rows)
    assert found > len(maker.templates) / 5


def test_the_builder_binds_as_the_engine_does(pictured, generator: AnchoredGenerator) -> None:
    working = pictured.sources.working
    for template in generator.library.families["table"][::3]:
        generator.sampler.focus([s.partition(":")[0] for s in template.slots], 0.1)
        sql = compile_sql(parse(generator.from_template(template).form))
        assert working.bound(sql) == bind(sql, Context(as_of=working.as_of))


def test_presence_is_carried_to_what_a_place_is_part_of(pictured) -> None:
    present = pictured.sources.labels.present()
    low = {s for s, found in present.items() if ("left lower lung zone", "pneumonia") in found}
    assert low
    assert all(("left lung", "lung opacity") in present[study] for study in low)


@pytest.mark.parametrize(
    "question",
    ["What is the view of this image?", "Is this patient male?", "How big is the gizmo?"],
)
def test_what_the_table_does_not_hold_has_no_sheet(question: str) -> None:
    with pytest.raises(Unsheeted):
        answer_sheet(f"SELECT MAX( FUNC_VQA('{question}', tb_cxr.study_id) = 1 ) FROM tb_cxr")
