"""Options: numbers worked out, the order of time, sides, units, and what is not borne out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.importing import import_notes

FILLER = "\n".join(f"The ward round on day {k} found him comfortable." for k in range(2, 60))
FIRST = f"""Admission Date: 2140-02-03  Discharge Date: 2140-02-11
History: A clot was found in the right lower lobe. Ejection fraction was 30%.
{FILLER}
Cefazolin is continued for 6 wk. Weight at discharge 82 kg.
Metformin 500 mg twice daily.
"""
SECOND = """Admission Date: 2141-06-01  Discharge Date: 2141-06-04
History: He is back at work. Ejection fraction is now 45%.
Metformin was stopped because of diarrhea. Weight at discharge 77 kg.
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NoteDesk]:
    folder = tmp_path_factory.mktemp("options")
    notes = [
        {"note_id": f"n-{k}", "patient_id": 4, "charttime": time, "text": text}
        for k, (time, text) in enumerate([("2140-02-11", FIRST), ("2141-06-04", SECOND)])
    ]
    (folder / "notes.jsonl").write_text(
        "".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8"
    )
    import_notes(folder / "notes.jsonl", folder / "ehr.sqlite")
    with NoteDesk.open(folder / "ehr.sqlite") as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How many kilograms lighter was he at the second discharge than at the first?",
         "5 kg", ["82 kg", "77 kg", "159 kg"]),
        ("How did the ejection fraction change between the stays?",
         "It rose from 30% to 45%", ["It fell from 45% to 30%", "It stayed at 30%"]),
        ("How many milligrams of metformin did he take per day?",
         "1000 mg", ["500 mg", "1500 mg", "250 mg"]),
        ("How long is the cefazolin to be continued?",
         "Six weeks", ["Six days", "Six months", "Two weeks"]),
        ("Where in the lung was the clot?",
         "Right lower lobe", ["Left lower lobe", "Right upper lobe", "Left upper lobe"]),
        ("How many days was he in the hospital in 2140?",
         "8 days", ["3 days", "11 days", "59 days"]),
        ("Why was metformin stopped?", "Diarrhea", ["A clot", "Kidney failure", "Low sugar"]),
    ],
)  # fmt: skip
def test_the_option_that_the_notes_bear_out(
    desk: NoteDesk, question: str, right: str, wrong: list[str]
) -> None:
    for place in range(len(wrong) + 1):  # wherever it stands among the others
        options = [*wrong[:place], right, *wrong[place:]]
        choices = dict(zip("ABCDE", options, strict=False))
        answer = desk.answer(question, 4, choices)
        assert answer.text == right, answer
        assert answer.choice is not None and choices[answer.choice] == right


def test_the_line_that_bears_it_out_is_cited(desk: NoteDesk) -> None:
    answer = desk.answer("Why was metformin stopped?", 4, {"A": "A clot", "B": "Diarrhea"})
    assert any("diarrhea" in span.excerpt for span in answer.spans[:2])


def test_one_option_and_options_of_nothing(desk: NoteDesk) -> None:
    for choices in ({"A": "Diarrhea"}, {"A": ""}, {"A": "", "B": "..."}, {"X": "Diarrhea"}):
        answer = desk.answer("Why was metformin stopped?", 4, choices)
        assert answer.choice is None or answer.choice in choices
