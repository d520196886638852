"""The generator: what it makes parses, links, repeats by seed, and is spread evenly."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.logical_form import parse, print_form
from ehrqa_cli.sets.pairs.generate import generate, main
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary, read_vocabulary


def pairs_of(vocabulary: Vocabulary, family: str, n: int = 1500) -> list[Pair]:
    return list(generate(n, 3, vocabulary, families=(family,)))


@pytest.mark.parametrize("family", ["table", "image", "image_table", "compose"])
def test_forms_parse_and_print_back(vocabulary: Vocabulary, family: str) -> None:
    for pair in pairs_of(vocabulary, family):
        assert print_form(parse(pair.form)) == pair.form, pair


def test_unanswerable_questions_abstain(vocabulary: Vocabulary) -> None:
    pairs = pairs_of(vocabulary, "unanswerable")
    assert {pair.form for pair in pairs} == {"abstain"}
    assert len({pair.template for pair in pairs}) >= 60


def test_the_same_seed_gives_the_same_pairs(vocabulary: Vocabulary) -> None:
    first = list(generate(300, 9, vocabulary))
    assert first == list(generate(300, 9, vocabulary))
    assert first != list(generate(300, 10, vocabulary))


def test_templates_come_evenly(vocabulary: Vocabulary) -> None:
    counts = Counter(pair.template for pair in pairs_of(vocabulary, "table", 1740))
    assert len(counts) == 174
    assert max(counts.values()) - min(counts.values()) <= 1


def test_families_have_their_shares(vocabulary: Vocabulary) -> None:
    weights = {"table": 0.75, "unanswerable": 0.25}
    made = generate(2000, 1, vocabulary, families=tuple(weights), weights=weights)
    counts = Counter(pair.family for pair in made)
    assert abs(counts["table"] / 2000 - 0.75) < 0.05
    assert set(counts) == set(weights)


def test_questions_hold_the_values_of_their_forms(vocabulary: Vocabulary) -> None:
    """A value that the question does not say cannot be linked; vitals have everyday names."""
    kinds = ("drug", "lab", "dx", "proc", "specimen", "mtest", "careunit")
    for pair in pairs_of(vocabulary, "table"):
        question = pair.question.lower()
        for kind in kinds:
            for value in vocabulary.values[kind]:
                if f' "{value}"' in pair.form:
                    assert value in question, pair
        for patient in vocabulary.patients:
            assert (str(patient) in question) == (str(patient) in pair.form), pair


def test_a_compared_pair_of_times_stays_in_order(vocabulary: Vocabulary) -> None:
    new = [p for p in pairs_of(vocabulary, "table", 6000) if ") except (" in p.form]
    relative = [p for p in new if " today )" in p.form or " yesterday )" in p.form]
    assert relative
    for pair in relative:
        assert "today ) except (" in pair.form and pair.form.endswith("yesterday )"), pair


def test_questions_differ(vocabulary: Vocabulary) -> None:
    pairs = list(generate(3000, 2, vocabulary))
    assert len({pair.question for pair in pairs}) > 2700


def test_a_vocabulary_without_a_kind_leaves_its_templates_out(vocabulary: Vocabulary) -> None:
    values = {k: v for k, v in vocabulary.values.items() if k not in ("organism", "mtest")}
    poor = Vocabulary(values, vocabulary.patients, dictionary={"abbrev": ("hr",)})
    pairs = list(generate(600, 4, poor, families=("table", "compose")))
    assert len(pairs) == 600
    assert not any(' mtest "' in pair.form for pair in pairs)


def test_a_file_that_is_no_ehr_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError):
        read_vocabulary(tmp_path / "missing.sqlite")
    empty = tmp_path / "empty.sqlite"
    sqlite3.connect(empty).close()
    empty.write_bytes(b"SQLite format 3\x00" + b"\x00" * 84)
    with pytest.raises(DatabaseError):
        read_vocabulary(empty)


def test_the_command_writes_pairs_of_a_real_ehr(shared_data: Path, tmp_path: Path) -> None:
    database = shared_data / "ehrsql-2024" / "mimic_iv.sqlite"
    out = tmp_path / "pairs.jsonl"
    assert main(["--db", str(database), "--n", "400", "--seed", "5", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(rows) == 400
    assert all(set(row) == {"question", "form", "template", "family"} for row in rows)
