"""Notes cut into lines: sections, kinds and sentences of texts in several styles."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.lines import split
from ehrqa_cli.notes.lines.headers import canonical, canonical_sections

FIXTURES = Path(__file__).parents[3] / "fixtures" / "notes"


def lines_of(name: str) -> list[Line]:
    return split((FIXTURES / f"{name}.txt").read_text("utf-8"), name)


def line_with(lines: list[Line], words: str) -> Line:
    found = [line for line in lines if words in " ".join(line.text.split())]
    assert len(found) == 1, (words, [line.text for line in found])
    return found[0]


@pytest.mark.parametrize(
    ("words", "section", "kind"),
    [
        ("Unit No:", "administrative", "text"),
        ("Percocet / lisinopril", "allergies", "text"),
        ("Shortness of breath", "chief complaint", "text"),
        ("Cardiac catheterization", "procedures", "text"),
        ("The Preadmission Medication list", "medications on admission", "text"),
        ("Furosemide 80 mg PO BID", "medications on admission", "medication"),
        ("1. Torsemide 40 mg PO DAILY", "discharge medications", "medication"),
        ("Refills:*0", "discharge medications", "medication"),
        ("Father with type 2 diabetes.", "family history", "text"),
        ("2. Atrial fibrillation, CHADS2 score 3", "past medical history", "item"),
        ("Hypothyroidism", "past medical history", "text"),
        ("Neck: JVP 12 cm", "physical exam", "text"),
        ("Lungs: Clear bilaterally", "discharge physical exam", "text"),
        ("ADMISSION LABS", "labs", "header"),
        ("Glucose-109* UreaN-45* Creat-1.9*", "labs", "lab"),
        ("2. Mild cardiomegaly.", "imaging", "item"),
        ("#Pleural effusion", "hospital course", "header"),
        ("Cytology was negative.", "hospital course", "text"),
        ("- Repeat CXR in 4 weeks", "transitional issues", "item"),
        ("Home With Service", "disposition", "text"),
        ("Left pleural effusion", "discharge diagnosis", "text"),
        ("Activity Status: Ambulatory", "discharge condition", "text"),
        ("because you were short of breath.", "discharge instructions", "text"),
        ("Followup Instructions:", "follow-up", "header"),
    ],
)
def test_a_mimic_discharge_note(words: str, section: str, kind: str) -> None:
    lines = [line for line in lines_of("mimic_discharge") if line.section == section]
    found = line_with(lines, words)
    assert found.kind == kind


def test_sentences_run_over_the_line_breaks_of_a_wrapped_note() -> None:
    lines = lines_of("mimic_discharge")
    found = line_with(lines, "her furosemide was increased from 40 mg to 80 mg p.o. b.i.d.")
    assert found.text.startswith("She was seen by \nDr. ___ in clinic")
    assert found.text.endswith("without relief.")
    assert line_with(lines, "denies orthopnea").text == "She \ndenies orthopnea vs. PND."


def test_values_wrapped_to_a_second_line_are_one_line() -> None:
    found = line_with(lines_of("mimic_discharge"), "WBC-7.2")
    assert found.text.endswith("RDW-15.8* Plt ___")


@pytest.mark.parametrize(
    ("name", "words", "section", "kind"),
    [
        ("dictated", "ADMITTING DIAGNOSES: Pneumonia,", "admission diagnosis", "text"),
        ("dictated", "1. Community-acquired pneumonia", "discharge diagnosis", "item"),
        ("dictated", "He was seen by Dr. K.", "history of present illness", "text"),
        ("dictated", "family history can be found", "history of present illness", "text"),
        ("dictated", "ON ADMISSION: White count 14.2,", "labs", "lab"),
        ("dictated", "Blood cultures were negative.", "labs", "text"),
        ("dictated", "MEDICATIONS: Prednisone 40 mg", "discharge medications", "medication"),
        ("dictated", "Diet: Low salt.", "diet", "text"),
        ("dictated", "Lisinopril 10 mg", "discharge medications", "medication"),
        ("dictated", "Follow up: He will see", "follow-up", "text"),
        ("informal", "1. CHIEF COMPLAINT: chest pain", "chief complaint", "text"),
        ("informal", "He c/o CP", "history of present illness", "text"),
        ("informal", "HTN, HLD", "past medical history", "text"),
        ("informal", "PSH: appy", "past surgical history", "text"),
        ("informal", "asa 81 mg qd", "medications", "medication"),
        ("informal", "NKDA", "allergies", "text"),
        ("informal", "father MI", "family history", "text"),
        ("informal", "Gen: NAD", "physical exam", "text"),
        ("informal", "Na 135 K 4.2", "labs", "lab"),
        ("informal", "# NSTEMI", "assessment and plan", "header"),
        ("informal", "heparin gtt", "assessment and plan", "item"),
        ("informal", "Code: full", "code status", "text"),
        ("flattened", "He came in with a foot ulcer.", "history of present illness", "text"),
        ("flattened", "Hypertension, gout.", "past medical history", "text"),
        ("flattened", "Lasix 40 mg p.o. b.i.d.", "medications", "medication"),
        ("flattened", "Penicillin.", "allergies", "text"),
        ("marked", "* Metformin 500 mg", "discharge medications", "medication"),
        ("marked", "Patient was admitted with sepsis.", "hospital course", "text"),
        ("marked", "PCP in 1 wk.", "follow-up", "text"),
        ("marked", "Sepsis, resolved", "discharge diagnosis", "text"),
    ],
)
def test_other_styles(name: str, words: str, section: str, kind: str) -> None:
    found = line_with(lines_of(name), words)
    assert (found.section, found.kind) == (section, kind)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Seen by Dr. X. He is well.", ["Seen by Dr. X.", "He is well."]),
        ("Seen by Dr. J. Smith today. Home.", ["Seen by Dr. J. Smith today.", "Home."]),
        (
            "Lasix 40 mg p.o.  2 tablets b.i.d. daily.",
            ["Lasix 40 mg p.o.  2 tablets b.i.d. daily."],
        ),
        ("He is n.p.o. He has a tube.", ["He is n.p.o.", "He has a tube."]),
        ("Digoxin 0.125 mg. Approx. 3.5 L out.", ["Digoxin 0.125 mg.", "Approx. 3.5 L out."]),
        ("Net negative 6 L. Weight 71.4 kg.", ["Net negative 6 L.", "Weight 71.4 kg."]),
        ("PE vs. MI was considered.", ["PE vs. MI was considered."]),
        ("Room no. 5 is free.", ["Room no. 5 is free."]),
        ("He left.He returned.", ["He left.", "He returned."]),
        (
            "Seen in clinic. no fever. denies pain.",
            ["Seen in clinic.", "no fever.", "denies pain."],
        ),
        (
            "Is she better? Yes! INR 2.0-3.0. Good.",
            ["Is she better?", "Yes!", "INR 2.0-3.0.", "Good."],
        ),
        ("Dr. ___. Mr. ___ was told.", ["Dr. ___.", "Mr. ___ was told."]),
        ("Use e.g. Table 2. Then go.", ["Use e.g. Table 2.", "Then go."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [line.text for line in split(text)] == sentences


@pytest.mark.parametrize(
    "text",
    [
        "hypertension\ndiabetes mellitus\ngout",
        "Aspirin 81 mg daily\nLisinopril 10 mg daily",
        "- no fever\n- no chills",
    ],
)
def test_lists_without_full_stops_are_not_joined(text: str) -> None:
    assert [line.text for line in split(text)] == text.split("\n")


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    first = "The patient was admitted with a fall and " + "was seen by many people " * 9
    text = first.strip() + ", and she went home on warfarin 2.5 mg p.o. daily with her daughter."
    assert len(text) > 300
    lines = split(text)
    assert [line.text for line in lines] == [
        first.strip() + ",",
        "and she went home on warfarin 2.5 mg p.o. daily with her daughter.",
    ]


def test_a_heading_too_long_to_stay_with_its_text_is_a_line() -> None:
    text = (
        "HOSPITAL COURSE: The patient was admitted " + "and was seen by a doctor " * 11 + "today."
    )
    assert split(text)[0].kind == "header"


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("HPI", "history of present illness"),
        ("Past Medical/Surgical History", "past medical history"),
        ("MEDICATIONS ON ADMISSION", "medications on admission"),
        ("Pertinent Laboratory Data on Admission", "labs"),
        ("Follow up", "follow-up"),
        ("FOLLOWUP INSTRUCTIONS", "follow-up"),
        ("Labs 05/12", "labs"),
        ("Patient's condition", "discharge condition"),
        ("Breakfast", None),
    ],
)
def test_headings_are_known_by_their_synonyms(heading: str, section: str | None) -> None:
    assert canonical(heading) == section


def test_every_canonical_name_is_its_own_heading() -> None:
    for name in canonical_sections():
        assert canonical(name.upper()) == name


def test_nothing_to_read_is_no_line() -> None:
    assert split("") == split(" \n\x00\n-----\n***\n___\n") == []


@pytest.mark.parametrize("piece", ["a", ".", "1. ", "a\n", ". A", "HPI: ", "•x • ", " \n", "\x00"])
def test_time_grows_with_the_length_only(piece: str) -> None:
    """A quadratic step would take minutes of the processor for this text, not half a second."""
    began = time.process_time()
    lines = split((piece * 200_000)[:200_000])
    assert time.process_time() - began < 10
    assert all(len(line.text) <= 300 for line in lines)


_PIECES = st.sampled_from(
    [
        *("HPI:", "PLAN\n", "Past Medical History: ", "MEDICATIONS: ", "# CHF", "1. ", "- ", "("),
        *("Dr. X. He left.", "aspirin 81 mg daily", "b.i.d.", "2.5 mg.", "Na 135", "___", "***"),
        *("\n", "\n\n", "\r\n", "  ", "\t", ". ", "\x00", "\u2028", "\x85", "\ufeff", "é"),
        *("word word ", "word, " * 60, "a" * 350),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_lines_are_in_order_short_and_cover_every_word(text: str) -> None:
    at = 0
    for line in split(text):
        assert line.text == text[line.start : line.end] == line.text.strip() != ""
        assert line.start >= at and len(line.text) <= 300
        assert not re.search(r"[^\W_]", text[at : line.start])
        at = line.end
    assert not re.search(r"[^\W_]", text[at:])


def test_the_measured_notes_evidence_is_within_lines(shared_data: Path) -> None:
    """Of the gold evidence that is one sentence, nearly all lies within one line."""
    folder = shared_data / "noteqa"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    texts = {
        note["note_id"]: note["text"]
        for note in map(json.loads, (folder / "notes.jsonl").read_text("utf-8").splitlines())
    }
    within = []
    for row in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        for gold in json.loads(row)["evidence"]:
            start = texts[gold["note_id"]].index(gold["text"])
            end = start + len(gold["text"])
            lines = split(texts[gold["note_id"]])
            within.append(any(line.start <= start and end <= line.end for line in lines))
    assert sum(within) / len(within) >= 0.95
