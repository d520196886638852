"""Several readings of a question: which is taken, what a rival costs, and what is asked back."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.types import Query, Question, Status
from ehrqa_cli.engine import ask, ranking
from ehrqa_cli.engine.risk import Thresholds

from .fakes import Judging, form, session

LAST, FIRST, COUNT = (
    f"{value} lab #1 patient #2" for value in ("value last", "value first", "count")
)
ASKED = Question("last sodium of patient 7?")
OPEN = Thresholds.off()
BY_RIVAL = Thresholds(weights={"rival": 1.0}, limit=4.5, calibration=((0.0, 1.0), (6.0, 0.0)))


def read(form_: str, p: float) -> Query:
    return form(form_, sum_logprob=p, max_entropy=-p)


def test_the_judge_and_the_likelihood_choose_together() -> None:
    queries = (read(LAST, -1.0), read(FIRST, -1.5))
    doubts = Judging(1.0, {"last": -1.0})
    answer = ask(ASKED, session(*queries, judge=doubts, thresholds=OPEN))
    assert answer.rows == ((140.0,),)
    assert (answer.scores["unfaithful_logit"], answer.scores["max_entropy"]) == (-1.0, 1.5)
    unlikely = (read(LAST, -1.0), read(FIRST, -4.0))
    answer = ask(ASKED, session(*unlikely, judge=doubts, thresholds=OPEN))
    assert answer.rows == ((141.5,),)
    assert ask(ASKED, session(*queries, thresholds=OPEN)).rows == ((141.5,),), "without a judge"


def test_a_declined_question_stays_declined() -> None:
    queries = (form("abstain", sum_logprob=-0.5), read(LAST, -1.0))
    answer = ask(ASKED, session(*queries, judge=Judging(9.0), thresholds=OPEN))
    assert answer.reason_kind == "model_declined"


@pytest.mark.parametrize(
    ("rival", "behind"),
    [
        (read(FIRST, -3.0), 2.0),
        (read("value highest lab #1 patient #2", -3.0), ranking.FAR),  # gives the same
        (read("value last lab #9 patient #2", -3.0), ranking.FAR),  # is none
        (read(FIRST, -20.0), ranking.FAR),
    ],
)
def test_a_rival_counts_by_its_rows(rival: Query, behind: float) -> None:
    answer = ask(ASKED, session(read(LAST, -1.0), rival, judge=Judging(), thresholds=OPEN))
    assert answer.rows == ((141.5,),)
    assert answer.scores["rival"] == pytest.approx(ranking.FAR - behind)


def test_two_good_readings_are_asked_back_with_what_each_gives() -> None:
    both = session(read(LAST, -1.0), read(FIRST, -1.4), judge=Judging(), thresholds=BY_RIVAL)
    answer = ask(ASKED, both)
    assert answer.status is Status.ABSTAINED
    assert (answer.reason_kind, answer.reason_public) == ("low_confidence", "ambiguous")
    assert [each["answer"] for each in answer.alternatives] == ["141.5", "140"]
    assert [each["logical_form"] for each in answer.alternatives] == [
        'value last lab "sodium" patient 7',
        'value first lab "sodium" patient 7',
    ]
    far = session(read(LAST, -1.0), read(FIRST, -4.0), judge=Judging(), thresholds=BY_RIVAL)
    assert ask(ASKED, far).status is Status.ANSWERED


def test_words_that_the_reading_may_leave_out_are_named() -> None:
    strict = Thresholds(weights={"unfaithful_logit": 1.0}, limit=-9.0)
    judge = Judging(missed=("the ward", "fasting"))
    told = ask(ASKED, session(read(LAST, -1.0), judge=judge, thresholds=strict)).reason or ""
    assert "“the ward” and “fasting”" in told
