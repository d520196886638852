"""A tentative answer is declined, whoever counts: it earns nothing and costs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.types import WITHHELD, Question, Status
from ehrqa_cli.evaluate import metrics, outcomes, own, saved
from ehrqa_cli.evaluate.ehrnoteqa.tables import decline_table
from ehrqa_cli.evaluate.ehrxqa import score as xqa
from ehrqa_cli.evaluate.predictions import Reads, _answer


@pytest.mark.parametrize("gold", [None, [[1]]])
def test_it_counts_as_an_abstention_does(gold: object) -> None:
    found = []
    for status in sorted(WITHHELD):
        record = {"status": status.value, "gold": gold, "correct": False, "question": "q"}
        run = saved.SavedRun(Path("x"), "x", {}, {"1": record}, {})
        found.append(
            (
                metrics.outcome_of(record),
                saved.states(record),
                outcomes.ended(run, wanted=gold is not None),
                own._outcomes([record]),
            )
        )
    assert found[0] == found[1]
    assert not found[0][0].answered and not found[0][0].failed
    assert found[0][3]["declined"] == 1


def test_the_tables_count_it_as_declined() -> None:
    held, kept = (
        decline_table([{"answerable": True, "status": status}]) for status in sorted(WITHHELD)
    )
    assert held == kept
    record = {"status": "tentative", "gold": [[1]], "correct": False}
    told = xqa.score([record])
    assert (told.declined, told.wrong, told.failed) == (1, 0, 0)


@pytest.mark.parametrize("reads", list(Reads))
def test_its_rows_in_a_file_of_predictions_are_not_taken(reads: Reads) -> None:
    line = json.loads(
        '{"status": "tentative", "text": "Unverified: 1.", "value": 1, "rows": [[1]],'
        ' "neuralsql": "SELECT 1", "choice": "A", "reason": {"kind": "not_sure"}}'
    )
    answer = _answer(line, Question("q"), reads)
    assert answer.status is Status.TENTATIVE
    assert (answer.rows, answer.text, answer.choice, answer.neuralsql) == ((), "", None, None)
