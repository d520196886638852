"""The judge, the third opinion of --careful, and whose thresholds decide."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Link, Question, Result, Status
from ehrqa_cli.engine import Mode, ask, calibrated, confidence, open_session
from ehrqa_cli.engine.risk import Thresholds, goal_key

from .fakes import Judging, ThirdSays, form, session

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
ASKED = Question("last sodium of patient 7?")
STRICT = Thresholds(
    weights={"unfaithful_logit": 1.0}, limit=-2.0, calibration=((-5.0, 0.9), (5.0, 0.1))
)


def test_what_the_judge_thinks_of_the_reading_is_weighed() -> None:
    agrees = ask(ASKED, session(LAST, judge=Judging(3.0), thresholds=STRICT))
    assert agrees.status is Status.ANSWERED and agrees.scores["unfaithful_logit"] == -3.0
    assert agrees.provenance["models"]["judge"] == {"model": "judging"}
    differs = ask(ASKED, session(LAST, judge=Judging(1.0), thresholds=STRICT))
    assert differs.reason_kind == "low_confidence"
    assert differs.executed_sql is None, "what is withheld anyway is not run"


def test_what_sort_of_question_it_is_is_weighed() -> None:
    by_kind = Thresholds(weights={"unanswerable_logit": 1.0}, limit=0.0)
    usual = session(LAST, judge=Judging(3.0), thresholds=by_kind)
    assert ask(ASKED, usual).scores["p_unanswerable"] == pytest.approx(0.001, abs=1e-4)
    odd = session(LAST, judge=Judging(3.0, last="prediction"), thresholds=by_kind)
    assert ask(ASKED, odd).reason_kind == "low_confidence"


@pytest.mark.parametrize(
    ("rows", "agrees"), [(((141.5,),), True), (((1.0,),), False), (None, False)]
)
def test_careful_compares_answers(rows: tuple[tuple[float]] | None, agrees: bool) -> None:
    third = ThirdSays("SELECT 1", rows)
    answer = ask(ASKED, session(LAST, third=third, mode=Mode.CAREFUL, thresholds=Thresholds()))
    assert (answer.scores["third_agrees"], answer.scores["third_differs"]) == (agrees, not agrees)
    assert answer.provenance["third_sql"] == "SELECT 1"
    assert answer.provenance["models"]["third"] == {"model": "says"}
    assert answer.provenance["mode"] == "careful"


def test_agreement_saves_a_risky_answer_and_difference_costs_a_doubtful_one() -> None:
    doubtful = form("value last lab #1 patient #2", max_entropy=2.0)
    agrees = session(doubtful, third=ThirdSays("SELECT 1", ((141.5,),)), mode=Mode.CAREFUL)
    assert ask(ASKED, session(doubtful)).reason_kind == "low_confidence"
    assert ask(ASKED, agrees).status is Status.ANSWERED
    doubtful = form("value last lab #1 patient #2", max_entropy=1.0)
    differs = session(doubtful, third=ThirdSays("SELECT 1", ((5.0,),)), mode=Mode.CAREFUL)
    assert ask(ASKED, session(doubtful)).status is Status.ANSWERED
    assert ask(ASKED, differs).reason_kind == "low_confidence"


def test_signals_of_links_and_results() -> None:
    links = (
        Link(0, 1, ("lab",), "sodium", "synonym", 0.9),
        Link(2, 3, ("pat",), 7, "id"),
        Link(4, 5, ("drug",), "x", "fuzzy", 0.7),
    )
    assert confidence.link_scores(links, {1, 2}) == pytest.approx(
        {"unused_links": 1, "link_doubt": 0.1, "alias_doubt": 0.1, "spelling_doubt": 0.0}
    )
    assert confidence.link_scores(links, {2, 3})["spelling_doubt"] == pytest.approx(0.3)
    found = confidence.result_scores(Result(("a", "b"), ((1, None), (2, 3))))
    assert found == {"empty_result": 0.0, "null_share": 0.25}
    assert confidence.result_scores(Result(("a",), ())) == {"empty_result": 1.0, "null_share": 0.0}


def test_rows_are_compared_as_sets_of_rounded_numbers() -> None:
    assert confidence.same_rows([(1, "A"), (2.0001, None)], [(2, None), (1.0, "a")])
    assert not confidence.same_rows([(1,)], [(1,), (2,)])
    assert not confidence.same_rows([(1, 2)], [(2, 1)])


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("penalty=10", "penalty=10"),
        (" Penalty=N", "penalty=n"),
        ("precision=.990", "precision=0.99"),
    ],
)
def test_goal_keys(given: str, key: str) -> None:
    assert goal_key(given) == key


@pytest.mark.parametrize("given", ["", "10", "penalty=x", "penalty=inf", "precision=1"])
def test_wrong_goals(given: str) -> None:
    with pytest.raises(UsageError):
        goal_key(given)


def test_thresholds_calibrated_on_a_database_are_its_own(tmp_path: Path) -> None:
    mine, other = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    path = calibrated.path_for(mine)
    assert path != calibrated.path_for(other) and calibrated.stored(mine) is None
    made = Thresholds(limit=0.25, limits_by_goal={"penalty=5": 0.5})
    calibrated.write(made, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert calibrated.stored(mine) == made and calibrated.stored(other) is None


def test_ask_uses_what_was_calibrated_and_says_so(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    strict = Thresholds(weights={"max_entropy": 1.0}, limit=0.05, source={"model_sha256": "0" * 64})
    calibrated.write(strict, calibrated.path_for(db))
    parts = {"db": db, "thresholds": None}
    answer = ask(ASKED, session(LAST, **parts))
    assert answer.reason_kind == "low_confidence"
    assert answer.provenance["thresholds"]["from"] == "calibrated on this database"
    assert answer.provenance["thresholds"]["limit"] == 0.05


def test_thresholds_of_another_model_are_not_used(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    strict = Thresholds(weights={"max_entropy": 1.0}, limit=-9.0, source={"model_sha256": "f" * 64})
    calibrated.write(strict, calibrated.path_for(db))
    told: list[str] = []
    answer = ask(
        ASKED,
        session(LAST, db=db, thresholds=None),
        lambda event, what: told.append(what) if event == "warning" else None,
    )
    # Nor are those that are shipped: they were measured on the shipped model.
    assert answer.provenance["thresholds"]["from"] == "defaults" and answer.confidence is None
    assert len(told) == 1 and "ehrqa calibrate" in told[0]


def test_a_goal_takes_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    calibrated.write(Thresholds(limit=1.0, limits_by_goal={"penalty=0": None}), path)
    opened = open_session(tmp_path / "x", thresholds=path, goal="penalty=0")
    assert opened.thresholds.limit is None and opened.thresholds.source["goal"] == "penalty=0"
    with pytest.raises(UsageError, match="penalty=3"):
        open_session(tmp_path / "x", thresholds=path, goal="penalty=3")
