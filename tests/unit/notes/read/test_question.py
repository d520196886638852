"""What a question wants."""

from __future__ import annotations

import pytest

from ehrqa_cli.notes.read.question import Kind, ask, kind_of, telling


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What dose of gabapentin was he discharged on?", Kind.DOSE),
        ("How often does she need her rescue inhaler?", Kind.FREQUENCY),
        ("When was the chest tube pulled?", Kind.DATE),
        ("How long was the balloon left in the uterus?", Kind.DURATION),
        ("How many units of red cells did she receive?", Kind.COUNT),
        ("How high was the lipase?", Kind.NUMBER),
        ("What was her temperature on arrival?", Kind.NUMBER),
        ("Did she have an eclamptic fit?", Kind.YES_NO),
        ("Why was tamoxifen discontinued?", Kind.REASON),
        ("Where did she go after the hospital?", Kind.PLACE),
        ("Who donated the kidney?", Kind.PERSON),
        ("Did the ejection fraction improve between the two admissions?", Kind.COMPARISON),
        ("By how much did the creatinine go up?", Kind.ARITHMETIC),
        ("Which organism grew in the blood cultures?", Kind.NAME),
    ],
)
def test_the_sort_of_answer(question: str, kind: Kind) -> None:
    assert kind_of(question) is kind


def test_rare_words_tell_more_than_frame_words() -> None:
    assert telling("dose") < telling("chest") < telling("gabapentin") == 1.0


def test_the_part_of_the_stay_is_understood() -> None:
    assert "discharge" in ask("What dose was he discharged on?").sections
    assert "family" in ask("Which relative had cancer?").sections
    assert ask("Why was it not given?").negative
    assert not ask("Which organism grew?").sections
