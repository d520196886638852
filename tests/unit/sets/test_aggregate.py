"""Questions about groups: every shape parses, compiles, runs, and says what its form says."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.logical_form import compile_sql, describe, parse, print_form
from ehrqa_cli.neuralsql import run
from ehrqa_cli.sets.pairs.aggregate import (
    FAMILY,
    FILES,
    AggregateMaker,
    Shape,
    Unfit,
    load_parts,
    ordered,
)
from ehrqa_cli.sets.pairs.asides import with_note
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.generate import generate
from ehrqa_cli.sets.pairs.templates import FOLDER, load_library
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary, read_vocabulary
from ehrqa_cli.sets.pairs.wording import Node

SHAPES = load_parts().shapes
# Events that only some schemas have the columns of.
_LATER = {"abnormal", "high", "low"}


@pytest.fixture(scope="module")
def maker(demo: Path) -> AggregateMaker:
    return AggregateMaker(Generator(read_vocabulary(demo), seed=5))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.form)
def test_a_shape_has_a_query_that_runs(
    shape: Shape, maker: AggregateMaker, database: SqliteDatabase
) -> None:
    for _ in range(2):
        pair = maker.of_shape(shape)
        assert not set("%<>[]{}‹›|@") & set(pair.question) - set("%<>[]"), pair.question
        form = parse(pair.form)
        assert print_form(form) == pair.form
        if pair.form == "abstain":
            continue
        assert len(describe(form)) > 8
        if not _LATER & set(pair.form.split()):
            result, _ = run(compile_sql(form), database, as_of=database.default_as_of())
            assert 1 <= len(result.columns) <= 3


def test_there_are_many_shapes_and_they_come_out_different(vocabulary: Vocabulary) -> None:
    pairs = list(generate(2000, 3, vocabulary, families=("aggregate",)))
    assert len(SHAPES) >= 150
    assert len({pair.question for pair in pairs}) > 1900
    assert len({pair.template for pair in pairs}) > 1000
    heads = Counter(pair.form.split()[0] for pair in pairs)
    assert 0.02 < heads["abstain"] / len(pairs) < 0.2


def test_the_words_of_a_bound_are_its_number(vocabulary: Vocabulary) -> None:
    pairs = generate(3000, 4, vocabulary, families=("aggregate",))
    limits = [p for p in pairs if " over 100 keys" in p.form or " over 50 count" in p.form]
    assert limits
    for pair in limits:
        assert ("100" if " 100 keys" in pair.form else "50") in pair.question, pair


def test_numbers_and_ids_are_asked_for_by_name(vocabulary: Vocabulary) -> None:
    """Whoever asks for the number beside the patient says so."""
    maker = AggregateMaker(Generator(vocabulary, seed=8))
    shape = next(s for s in SHAPES if s.form == "count %thing% [tg] by %g% most 1")
    said = ("how many", "number", "count", "n)")
    for _ in range(60):
        pair = maker.of_shape(shape)
        if pair.form != "abstain":
            assert any(word in pair.question.lower().replace("#", "number") for word in said), pair


def test_filters_are_written_in_the_order_of_the_grammar() -> None:
    assert ordered("count admission [tg] female died type {admtype}") == (
        "count admission type {admtype} died female [tg]"
    )
    inner = ordered("( avg lab {lab} [tg] with ( admission older 5 died ) samevisit patient {p} )")
    assert inner == "( avg lab {lab} patient {p} with ( admission died older 5 ) samevisit [tg] )"
    assert ordered("sum output [tg] female by patients over 5 keys") == (
        "sum output female [tg] by patients over 5 keys"
    )


def test_a_filter_that_stands_twice_is_refused() -> None:
    with pytest.raises(Unfit):
        ordered("count admission female female")


def test_notes_fit_what_is_asked() -> None:
    rng = random.Random(2)
    words = [("was ", False), ("10000032", True), (" in the ICU", False)]
    notes = {"".join(w for w, _ in with_note(words, "exists icustay", rng)) for _ in range(80)}
    assert all("10000032" in note for note in notes)
    assert any("yes" in note for note in notes)
    assert not any("dollars" in note or "in days" in note for note in notes)


def test_a_vocabulary_without_a_kind_is_no_hindrance(vocabulary: Vocabulary) -> None:
    values = {k: v for k, v in vocabulary.values.items() if k not in ("organism", "insurance")}
    poor = Vocabulary(values, vocabulary.patients, dictionary={"abbrev": ("hr",)})
    pairs = list(generate(400, 4, poor, families=("aggregate",)))
    assert len(pairs) == 400
    assert not any(' insured "' in pair.form for pair in pairs)


def spoken(text: str) -> set[str]:
    """The slots that some reading of a wording says."""
    return {name.split(":")[0] for name in re.findall(r"[\[{]([a-z_0-9:]+)[\]}]", text)}


@pytest.mark.parametrize("table", sorted(load_parts().tables))
def test_a_part_says_no_other_values_than_its_form_has(table: str) -> None:
    allowed = {"p", "p2"}  # of the shape's own
    for part in load_parts().tables[table]:
        if part.abstain:
            continue
        values = spoken(part.form.replace("@", ""))
        for name, text in part.texts.items():
            if name not in ("rel", "inv"):
                assert spoken(text.replace("@", "")) <= values | allowed, (part.form, name)


def test_every_hole_of_a_form_is_spoken_of() -> None:
    """A form may not hold what the question leaves out."""
    find = load_library().phrases.lookup({})

    def mentions(node: Node, hole: str) -> bool:
        if node.kind == "phrase":
            if node.text == hole or node.text.startswith(hole + "_"):
                return True
            try:
                return mentions(find(node.text), hole)
            except KeyError:
                return False
        found = [mentions(part, hole) for part in node.parts]
        return bool(found) and (all(found) if node.kind == "choice" else any(found))

    for shape in SHAPES:
        for hole in shape.holes:
            fixed = len(hole.forms) == 1  # one part only: the wording says it in its own words
            if f"%{hole.name}%" not in shape.form or fixed:
                continue
            for wording in shape.wordings:
                assert mentions(wording, hole.name), (shape.form, hole.name)


def test_every_file_of_parts_is_read() -> None:
    assert sorted(FILES) == sorted(path.stem for path in (FOLDER / FAMILY).iterdir())
