"""What a question wants."""

from __future__ import annotations

import pytest

from ehrqa_cli.notes.read.question import AnswerKind, ask, kind_of, telling


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What dose of gabapentin was he discharged on?", AnswerKind.DOSE),
        ("How often does she need her rescue inhaler?", AnswerKind.FREQUENCY),
        ("When was the chest tube pulled?", AnswerKind.DATE),
        ("How long was the balloon left in the uterus?", AnswerKind.DURATION),
        ("How many units of red cells did she receive?", AnswerKind.COUNT),
        ("How high was the lipase?", AnswerKind.NUMBER),
        ("What was her temperature on arrival?", AnswerKind.NUMBER),
        ("Did she have an eclamptic fit?", AnswerKind.YES_NO),
        ("Why was tamoxifen discontinued?", AnswerKind.REASON),
        ("Where did she go after the hospital?", AnswerKind.PLACE),
        ("Who donated the kidney?", AnswerKind.PERSON),
        ("Did the ejection fraction improve between the two admissions?", AnswerKind.COMPARISON),
        ("By how much did the creatinine go up?", AnswerKind.ARITHMETIC),
        ("Which organism grew in the blood cultures?", AnswerKind.NAME),
    ],
)
def test_the_sort_of_answer(question: str, kind: AnswerKind) -> None:
    assert kind_of(question) is kind


def test_rare_words_tell_more_than_frame_words() -> None:
    assert telling("dose") < telling("chest") < telling("gabapentin") == 1.0


def test_the_part_of_the_stay_is_understood() -> None:
    assert "discharge" in ask("What dose was he discharged on?").sections
    assert "family" in ask("Which relative had cancer?").sections
    assert ask("Why was it not given?").negative
    assert not ask("Which organism grew?").sections
