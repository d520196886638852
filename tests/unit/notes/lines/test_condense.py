"""White space made less as EHRNoteQA does, with the way back to the note."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ehrqa_cli.notes.lines import condense


def test_blanks_around_newlines_go() -> None:
    assert condense("Name:  ___  \r\n \n\t Sex: F ").text == "Name:  ___\n\nSex: F "


def test_a_span_leads_back_to_the_note() -> None:
    text = "Chief Complaint:  \n  Chest pain  \n \nPlan"
    shorter = condense(text)
    start = shorter.text.index("Chest")
    assert text[slice(*shorter.span(start, start + 10))] == "Chest pain"
    assert text[slice(*shorter.span(0, len(shorter.text)))] == text


@given(st.text(alphabet=" \t\r\nab", max_size=60))
def test_every_character_is_where_it_is_said_to_be(text: str) -> None:
    shorter = condense(text)
    assert all(text[shorter.original(i)] == char for i, char in enumerate(shorter.text))
    assert " \n" not in shorter.text and "\n\t" not in shorter.text
    assert len(condense(shorter.text).text) == len(shorter.text)
