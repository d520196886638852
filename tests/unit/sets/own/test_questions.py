"""A small set over the demo EHR with images."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.sets.own.anchor import AnchoredGenerator
from ehrqa_cli.sets.own.checks import DIFFERENT, REFUSED, EngineCheck
from ehrqa_cli.sets.own.people import People, Person
from ehrqa_cli.sets.own.periods import Now
from ehrqa_cli.sets.own.questions import Questions, Sources
from ehrqa_cli.sets.pairs.times import Drawn

Plain = dict[str, Any]
SIZE = 500


def run(maker: Questions, before: tuple[Plain, ...] = ()) -> list[Plain]:
    found: list[Plain] = []
    for line in before:
        assert maker.attempt(line) is not None
        found.append(line)
    while (made := maker.attempt(None)) is not None:
        found.append(made)
    return found


@pytest.fixture(scope="module")
def lines(pictured) -> list[Plain]:
    return run(Questions(pictured.sources, SIZE, seed=2))


@pytest.fixture(scope="module")
def made(lines: list[Plain]) -> list[Plain]:
    return [line for line in lines if "failed" not in line]


def test_it_has_the_size_and_nearly_all_templates(made: list[Plain], pictured) -> None:
    assert len(made) == SIZE
    names = Questions(pictured.sources, 1, seed=1).templates
    assert len(names) == len(set(names)) == 417
    filled = {f"{r['family']}: {r['template']}" for r in made}
    assert len(filled & set(names)) > 380


def test_no_question_comes_twice_and_no_form(made: list[Plain]) -> None:
    assert len({" ".join(r["question"].lower().split()) for r in made}) == len(made)
    forms = [r["form"] for r in made if r["answer"] is not None]
    assert len(set(forms)) == len(forms)


def test_every_answer_is_there_and_has_its_queries(made: list[Plain]) -> None:
    for record in made:
        if record["answer"] is None:
            assert record["form"] == "abstain" and record["neuralsql"] is None
            continue
        assert record["answer"] and all(c is not None for row in record["answer"] for c in row)
        assert record["neuralsql"] == compile_sql(parse(record["form"]))
        shown = "FUNC_VQA" in record["neuralsql"]
        assert (record["answer_sheet"] is not None) == shown == (record["sql"] is None)
        assert "current_time" not in (record["sql"] or record["answer_sheet"])


def test_a_tenth_has_no_answer_and_half_of_those_are_near_misses(made: list[Plain]) -> None:
    none = [r for r in made if r["answer"] is None]
    assert len(none) == SIZE // 10
    near = [r for r in none if r["template"].startswith(("unanswerable: a", "unanswerable: wh"))]
    assert near


def test_a_patient_is_in_one_split_and_so_is_a_groups_form(made: list[Plain]) -> None:
    splits: defaultdict[object, set[str]] = defaultdict(set)
    for record in made:
        if record["patient_id"] is not None:
            splits[record["patient_id"]].add(record["split"])
    assert all(len(found) == 1 for found in splits.values())
    assert {r["split"] for r in made} == {"train", "valid", "test"}


def test_a_patient_who_is_named_owns_the_question(made: list[Plain], pictured) -> None:
    patients = {str(p) for p in pictured.sources.vocabulary.patients}
    for record in made:
        named = patients & set(re.findall(r"\d{5,}", record["question"]))
        assert not named or str(record["patient_id"]) in named


def test_yes_and_no_are_even_and_all_times_are_there(made: list[Plain]) -> None:
    keys = Counter(r["key"] for r in made)
    assert abs(keys["yes"] - keys["no"]) < 0.2 * (keys["yes"] + keys["no"])
    text = " ".join(r["form"] for r in made)
    for word in ("visit first", "this_year", "since_ago", "samevisit", "within", "last study"):
        assert word in text


def test_the_same_seed_gives_the_same_attempts_wherever_it_was_cut(
    lines: list[Plain], pictured
) -> None:
    cut = 470
    again = run(Questions(pictured.sources, SIZE, seed=2), tuple(lines[:cut]))
    assert again == lines
    other = Questions(pictured.sources, SIZE, seed=3)
    assert other.attempt(None) != lines[0]


def test_without_images_only_tables_are_asked_about(pictured) -> None:
    sources = Sources(pictured.sources.vocabulary, pictured.sources.working)
    maker = Questions(sources, 40, seed=1)
    assert len(maker.templates) == 174
    found = run(maker)
    assert {r.get("family") for r in found} <= {"table", "unanswerable", None}
    assert not any(re.search("x-?ray|cxr", r.get("question", ""), re.I) for r in found)


def test_the_engine_is_asked_about_the_drawn_share_and_can_reject(pictured) -> None:
    working = pictured.sources.working
    check = EngineCheck(pictured.database, working.as_of, pictured.vqa, every=4, seed=1)
    assert 15 < sum(check.chosen(n) for n in range(100)) < 35
    number = next(n for n in range(100) if check.chosen(n))
    sql = "SELECT COUNT(*) FROM patients"
    rows = working.rows(sql)
    assert rows is not None and check(number, sql, rows) is None
    assert check(number, sql, ((-1,),)) == DIFFERENT
    assert check(number, "SELECT nothing FROM nowhere", rows) == REFUSED
    skipped = next(n for n in range(100) if not check.chosen(n))
    assert check(skipped, sql, ((-1,),)) is None


def test_what_the_check_rejects_is_no_question(pictured) -> None:
    maker = Questions(pictured.sources, 3, seed=1, check=lambda *_: DIFFERENT)
    found = [maker.attempt(None) for _ in range(3)]
    assert maker.made == 1  # the one without an answer
    assert all(line["why"].get(DIFFERENT) for line in found if "failed" in line)


def test_a_patient_without_images_has_no_earlier_study(pictured) -> None:
    people = People(pictured.sources.working, pictured.sources.vocabulary)
    generator = AnchoredGenerator(pictured.sources.vocabulary, people, Now("2100-12-31 23:59:00"))
    generator.sampler.person = Person(1, {})
    drawn = generator.sampler.draw("study_id2", "visit", {})
    assert int(drawn[""].form) in pictured.sources.vocabulary.studies


def test_a_second_study_is_an_earlier_one_of_the_same_patient(pictured) -> None:
    people = People(pictured.sources.working, pictured.sources.vocabulary)
    generator = AnchoredGenerator(pictured.sources.vocabulary, people, Now("2100-12-31 23:59:00"))
    for seed in range(30):
        generator.rng.seed(seed)
        generator.sampler.focus(["study"], 0.0)
        drawn: Drawn = {}
        second = generator.sampler.draw("study_id2", "visit", drawn)[""].form
        studies = generator.sampler.person.studies
        assert int(second) in studies
        first = studies.index(int(drawn["study_id"][""].form))
        assert first == 0 or studies.index(int(second)) < first
