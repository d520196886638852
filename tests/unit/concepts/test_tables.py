"""The tables of laboratory tests, vital signs, outputs, intake and microbiology hold together."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import pytest

from ehrqa_cli.concepts import labs, measured, micro
from ehrqa_cli.concepts.lab_names import analytes, fluid_phrases
from ehrqa_cli.concepts.names import fold, lists, table

WIDTHS = {
    "analytes.tsv": 5,
    "fluids.tsv": 3,
    "units.tsv": 4,
    "moles.tsv": 3,
    "vitals.tsv": 4,
    "outputs.tsv": 4,
    "intake.tsv": 4,
    "micro.tsv": 5,
}


@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_every_name_stands_once(name: str, width: int) -> None:
    width_of_name = 2 if name == "micro.tsv" else 1  # there with its kind
    names = Counter(record[:width_of_name] for record in table(name, width))
    assert names.most_common(1)[0][1] == 1


def test_analytes_are_many_and_their_parts_and_fluids_are_known() -> None:
    every = analytes()
    assert len([one for one in every.values() if one.made != "all"]) >= 350
    for one in every.values():
        assert set(one.parts) <= every.keys(), one.name
        assert set(one.fluids) <= fluid_phrases().keys(), one.name
    assert {record[0] for record in table("moles.tsv", 3)} <= every.keys()


@pytest.mark.parametrize("name", ["vitals.tsv", "outputs.tsv", "intake.tsv", "micro.tsv"])
def test_parts_are_groups_of_the_same_kind(name: str) -> None:
    records = [record[-4:] for record in table(name, WIDTHS[name])]
    kinds = [record[0] if name == "micro.tsv" else "" for record in table(name, WIDTHS[name])]
    known = {(kind, record[0]) for kind, record in zip(kinds, records, strict=True)}
    for kind, record in zip(kinds, records, strict=True):
        for part in lists(record[3].partition(":")[2]):
            assert (kind, part) in known, (record[0], part)


def test_phrases_are_folded_and_no_kind_says_one_thing_twice() -> None:
    made = labs.resolve([]) + measured.resolve([]) + micro.resolve([])
    for concept in made:
        assert all(phrase == fold(phrase) for phrase in concept.phrases), concept.name
    phrases = Counter((concept.kind, phrase) for concept in made for phrase in concept.phrases)
    assert not [entry for entry, count in phrases.items() if count > 1]


def test_every_head_says_where_a_table_is_from() -> None:
    for name in WIDTHS:
        text = (files("ehrqa_cli.concepts") / "data" / name).read_text(encoding="utf-8")
        assert "licence" in text[:400]
