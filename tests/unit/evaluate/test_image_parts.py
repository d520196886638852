"""Parts that the image benchmarks share: files, journal, predictions, priors, intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.benchmarks import Reads
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.evaluate import files, priors
from ehrqa_cli.evaluate.journal import RECORDS, TIMINGS, Journal
from ehrqa_cli.evaluate.predictions import read_predictions
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.shares import share


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("q.json", b"", "empty"),
        ("q.json", b'[{"a": 1}, {"a"', "fetch it again"),
        ("q.jsonl", b'{"a": 1}\n{"a": ', "line 2"),
        ("q.json", b"version https://git-lfs.github.com/spec/v1\n", "LFS"),
        ("q.json", b"<!DOCTYPE html><html>log in</html>", "web page"),
        ("q.json", b"\xff\xfe[]", "not UTF-8"),
        ("q.json", b"{}", "holds no questions"),
        ("q.json", b'[{"a": 1}, {"b": 2}]', "question 2"),
        ("q.json", b'[{"a": 1}, 7]', "question 2"),
    ],
)
def test_wrong_files_are_said(tmp_path: Path, name: str, content: bytes, told: str):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(EvaluationError) as caught:
        files.read_objects(path, ["a"])
    assert told in str(caught.value) and str(path) in str(caught.value) and caught.value.hint


def test_where_files_are_expected(tmp_path: Path):
    with pytest.raises(EvaluationError, match="does not exist"):
        files.find_file(tmp_path / "no", ["a.json"], "X")
    with pytest.raises(EvaluationError, match=r"holds no X.*a\.json, b/a\.json"):
        files.find_file(tmp_path, ["a.json", "b/a.json"], "X")
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(EvaluationError, match="is a file"):
        files.find_file(tmp_path / "a.json", ["a.json"], "X")
    assert files.find_file(tmp_path, ["b.json", "a.json"], "X") == tmp_path / "a.json"
    with pytest.raises(EvaluationError, match="cannot read"):
        files.hash_file(tmp_path / "no")


def test_ids_are_unique(tmp_path: Path):
    with pytest.raises(EvaluationError, match="the id b"):
        files.check_ids(["a", "b", "b"], tmp_path)


HEADER = {"data": "x", "n": 3}


def make(key: str):
    return {"answer": f"of {key}\u2028é"}, {"total": 0.5}


def test_a_broken_off_run_ends_in_the_same_bytes(tmp_path: Path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    first = Journal(whole, HEADER).run("abc", make)

    def breaks(key: str):
        if key == "c":
            raise KeyboardInterrupt
        return make(key)

    with pytest.raises(KeyboardInterrupt):
        Journal(broken, HEADER).run("abc", breaks)
    with (broken / RECORDS).open("a") as file:
        file.write('{"id": "c", "ans')  # cut short
    asked: list[str] = []

    def counts(key: str):
        asked.append(key)
        return make(key)

    assert Journal(broken, HEADER).run("abc", counts) == first
    assert asked == ["c"]
    assert (broken / RECORDS).read_bytes() == (whole / RECORDS).read_bytes()
    assert len((broken / TIMINGS).read_text().splitlines()) == 3


def test_another_run_in_the_folder_is_said(tmp_path: Path):
    Journal(tmp_path, HEADER).run("a", make)
    with pytest.raises(EvaluationError, match=r"different data, seed"):
        Journal(tmp_path, {"data": "y", "n": 3, "seed": None})
    (tmp_path / RECORDS).write_bytes(b"\xff\xff\n")
    with pytest.raises(EvaluationError, match="cannot use"):
        Journal(tmp_path, HEADER)


def test_records_name_their_run(tmp_path: Path):
    (record,) = Journal(tmp_path, HEADER).run("a", make)
    assert record["run"] == Journal(None, dict(HEADER)).hash and len(record["run"]) == 16


def read(tmp_path: Path, value: object, ids: str = "a", reads: Reads = Reads.VALUES) -> Answer:
    path = tmp_path / "p.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    found, digest = read_predictions(path, [Question("?", key) for key in ids], reads)
    assert len(digest) == 64
    return found[0]


def test_predictions_in_all_shapes(tmp_path: Path):
    assert read(tmp_path, {"a": ["x", 2]}).rows == (("x",), (2,))
    assert read(tmp_path, {"a": [["x", 2], ["y", 3]]}).rows == (("x", 2), ("y", 3))
    assert read(tmp_path, {"a": "yes"}).rows == (("yes",),)
    assert read(tmp_path, {"a": []}).rows == ()
    assert read(tmp_path, {"a": "select 1"}).neuralsql == "select 1"
    assert read(tmp_path, {"a": None}).status == "abstained"
    lines = '{"header": 1, "id": "h"}\n{"id": "a", "prediction": ["x"], "probability": 0.25}\n'
    found = read(tmp_path, lines)
    assert (found.rows, found.scores) == ((("x",),), {"probability": 0.25})
    assert read(tmp_path, '{"id": "a", "answer": null}').status == "abstained"


def test_predictions_of_batch(tmp_path: Path):
    line = {"id": "a", "status": "answered", "rows": [[1]], "value": 1, "neuralsql": "SELECT 1"}
    found = read(tmp_path, [line])
    assert (found.status, found.rows, found.neuralsql) == ("answered", ((1,),), "SELECT 1")
    line |= {"status": "abstained", "reason": {"kind": "not_sure", "sentence": "no"}}
    found = read(tmp_path, [line])
    assert (found.status, found.rows, found.neuralsql) == ("abstained", (), None)
    assert found.reason_kind == "not_sure"


@pytest.mark.parametrize(
    "value",
    ["not json", [1], [{"prediction": []}], {"a": [{"b": 1}]}, {"a": {"probability": 2}}],
)
def test_wrong_predictions_are_said(tmp_path: Path, value: object):
    with pytest.raises(EvaluationError, match="holds no predictions"):
        read(tmp_path, value)


def test_a_prediction_for_every_question(tmp_path: Path):
    with pytest.raises(EvaluationError, match="lacks 1 of 2 questions") as caught:
        read(tmp_path, {"a": 1}, "ab")
    assert "the first is b" in caught.value.hint


Y, N, X = frozenset({"yes"}), frozenset({"no"}), frozenset({"x"})


def test_priors_from_training():
    training = [("t", Y), ("t", Y), ("t", N), ("u", X), ("u", frozenset())]
    most, per = priors.priors([("t", N), ("u", N), ("new", N)], training)
    assert (most.source, most.answers) == ("train", (Y, Y, Y))
    assert per.answers == (Y, frozenset(), Y)  # a tie goes by text; an unseen template by all


def test_priors_without_training_leave_the_question_out():
    measured = [("t", Y), ("t", Y), ("t", N), ("u", X)]
    left, per, hindsight, per_hindsight = priors.priors(measured, [])
    # Without the first yes, yes and no are even, and text decides; u has nothing left.
    assert left.answers == (N, N, Y, Y)
    assert per.answers == (N, N, Y, Y)
    assert hindsight.answers == (Y,) * 4 and per_hindsight.answers == (Y, Y, Y, X)
    assert {p.source for p in (left, per)} == {"leave one out"}
    assert priors.priors([], []) == []


def test_leaving_one_out_is_what_it_says():
    """Against counting afresh for each question."""
    measured = [("t", frozenset({w})) for w in "aabbbcaadbbc"]
    (left, *_) = priors.priors(measured, [])
    for k, found in enumerate(left.answers):
        rest = [a for j, (_, a) in enumerate(measured) if j != k]
        best = min(set(rest), key=lambda a: (-rest.count(a), sorted(a)))
        assert found == best


def test_shares_resample_clusters():
    """Ten questions about each of a few images: the interval is that of few, not of many."""
    right = [1.0] * 50 + [0.0] * 50
    ones = [1.0] * 100
    single = share(right, ones, range(100))
    together = share(right, ones, [k // 10 for k in range(100)])
    assert single.value == together.value == 0.5
    assert together.high - together.low > 2 * (single.high - single.low)
    assert share([], [], []).percent() == "-"
    assert share([1.0, 0.0], [1.0, 0.0], [1, 2]).value == 1.0


def test_a_share_of_all_has_an_interval():
    found = share([1.0] * 20, [1.0] * 20, range(20))
    assert found.value == found.high == 1.0 and 0.8 < found.low < 0.9
    assert found.percent() == "100.0 (83.9-100.0)"


def test_a_part_is_spread_evenly():
    assert every_nth(range(10), 3) == (0, 3, 6)
    assert every_nth(range(3), None) == every_nth(range(3), 9) == (0, 1, 2)
