"""What every judge of answers must do."""

from __future__ import annotations

from ehrqa_cli.contract_suite.checking import Check, demand, plain_text
from ehrqa_cli.contracts.judging import Judge, JudgedQuestion


def _asked(gold: str, predicted: str) -> JudgedQuestion:
    return JudgedQuestion("Which drug was started?", gold, predicted)


def gives_shares(judge: Judge) -> None:
    """A verdict is a number from 0 to 1, whatever the answers are."""
    for gold, said in (("lisinopril", "lisinopril"), ("a", ""), ("{x}", "yes\x07 {0}"), ("", "b")):
        verdict = judge.judge(_asked(gold, said))
        demand(isinstance(verdict, int | float) and 0 <= verdict <= 1, f"a verdict is {verdict!r}")


def knows_the_same(judge: Judge) -> None:
    """The very same answer is judged no worse than one that is quite another."""
    same = judge.judge(_asked("lisinopril", "lisinopril"))
    other = judge.judge(_asked("lisinopril", "no drug at all was given"))
    demand(same >= other, f"the same answer is {same}, another one {other}")


def is_steady(judge: Judge) -> None:
    """A judge that calls itself steady gives the same verdict twice."""
    if judge.steady:
        asked = _asked("lisinopril", "lisinopril 10 mg")
        demand(judge.judge(asked) == judge.judge(asked), "two verdicts differ")


def has_provenance(judge: Judge) -> None:
    """It has a name, and says by what to repeat its verdicts."""
    demand(bool(judge.name), "it has no name")
    plain_text(judge.provenance(), "provenance()")


CHECKS: tuple[Check[Judge], ...] = (has_provenance, gives_shares, knows_the_same, is_steady)
