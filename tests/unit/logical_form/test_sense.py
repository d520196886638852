"""Forms that say nothing are told from those that do."""

from __future__ import annotations

import pytest

from ehrqa_cli.logical_form import flaw, parse


@pytest.mark.parametrize(
    "text",
    [
        "( count_patients person female ) percent ( count_patients person female )",
        "( ( count lab ) minus ( count lab ) ) ratio ( count rx )",
        "avg_age admission female by gender",
        "count admission insured #1 by insurance",
        "count rx #1 patient #2 by patients",
        "count rx #1 by name",
        "count transfer #1 by careunit",
        "count_patients icustay without ( icustay )",
        "count_patients rx #1 with ( rx #1 )",
        "count discharge to #1 or #1",
        "( count_patients person male ) greater ( count_patients transfer #1 female )",
    ],
)
def test_idle(text: str) -> None:
    assert flaw(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "( count_patients person female ) percent ( count_patients person )",
        "count admission insured #1 or #2 by insurance",
        "min vital #1 patient #2 or #3 by patients least 1",
        "count rx #1 or #2 by name",
        "avg lab #1 patient #2 by visits",
        "avg_age admission by gender",
        "( count_patients transfer #1 male ) greater ( count_patients transfer #1 female )",
        "abstain",
        "count_patients rx #1 with ( rx #2 )",
        "count_patients dx #1 after ( dx #1 )",
        "count_patients admission without ( admission ) within #1",
        "patients rx #1 with ( rx #1 in #2 )",
    ],
)
def test_telling(text: str) -> None:
    assert flaw(parse(text)) is None
