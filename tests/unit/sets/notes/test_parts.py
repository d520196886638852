"""Parts of the builder of note questions: reading what a model wrote, finding it, sampling."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.notes import checks
from ehrqa_cli.sets.notes.donors import unanswerable
from ehrqa_cli.sets.notes.evidence import LONGEST, by_words, content, locate, numbers
from ehrqa_cli.sets.notes.parse import Draft, Options, read_draft, read_options
from ehrqa_cli.sets.notes.prompts import MAKE_QUESTION, TOPICS, choices_prompt, question_prompt
from ehrqa_cli.sets.notes.sample import STRATA, draw, next_stratum

NOTE = Note(
    "n1", 1, "Course:\nHe had   fever of 39.2.\nStarted Zosyn 3.375 g.\n" + "Was well. " * 50
)


def test_step_one_in_the_ways_that_models_write_it() -> None:
    paper = "- Question : Why?\n- Answer : Because.\n- Evidence : He had fever.\n- Reason : It"
    bold = "**Question:** Why?\n\n**Answer:** Because.\n**Evidence:** He had fever.\n"
    for text in (paper, bold, "Sure!\nQuestion: Why?\nAnswer: Because.\nEvidence:\nHe had fever."):
        draft = read_draft(text)
        assert draft is not None, text
        assert (draft.question, draft.answer) == ("Why?", "Because."), text
        assert draft.evidence.startswith("He had fever."), text
    assert read_draft("- Question : Why?\n- Answer : Because.") is None
    source = (
        "Question: What drug was given according to the discharge summary?\nAnswer: A\nEvidence: B"
    )
    dated = read_draft(
        "Question: Why?\nAnswer: As per the note charted on 2100-01-01, he fell.\nEvidence: B"
    )
    assert dated is not None and dated.answer == "He fell."
    draft = read_draft(source)
    assert draft is not None and draft.question == "What drug was given?"


def test_step_two_in_the_ways_that_models_write_it() -> None:
    inline = "- Answer Choices: A: 1 mg B: 2 mg C: 3 mg D: 4 mg E: 5 mg\n- Correct Answer: B"
    lines = (
        "Answer Choices:\nA) 1 mg\nB) 2 mg\nC) 3 mg\nD) 4 mg\nE) 5 mg\n\nCorrect Answer: B) 2 mg"
    )
    words = (
        "Answer Choices:\n- A: 1 mg\n- B: 2 mg\n- C: 3 mg\n- D: 4 mg\n- E: 5 mg\n"
        "Correct Answer: 2 mg"
    )
    for text in (inline, lines, words):
        found = read_options(text)
        assert found is not None and found.correct == "B", text
        assert list(found.choices.values()) == [f"{k} mg" for k in range(1, 6)], text
    # A letter within an option begins no other one.
    vitamin = inline.replace("4 mg", "Vitamin B: none")
    assert read_options(vitamin).choices["D"] == "Vitamin B: none"  # type: ignore[union-attr]
    assert read_options(inline.replace("E: 5 mg", "")) is None
    assert read_options(inline.replace("Answer: B", "Answer: both")) is None


def test_evidence_is_what_stands_in_the_note() -> None:
    (place,) = locate('"HE HAD fever of 39.2."', [NOTE], "fever?")
    assert place.text == "He had   fever of 39.2." == NOTE.text[place.start : place.end]
    said = 'The note says: "Started Zosyn 3.375 g." and that is all.'
    assert [p.text for p in locate(said, [NOTE], "Zosyn dose")] == ["Started Zosyn 3.375 g."]
    assert locate("He had no fever of 39.2.", [NOTE], "fever") == ()
    assert locate("fever", [NOTE], "fever") == ()  # one word is no evidence
    long = locate(NOTE.text, [NOTE], "What was the dose of Zosyn?")
    assert long and all(len(p.text) <= LONGEST for p in long)
    assert any("Zosyn" in p.text for p in long) and not any("well" in p.text for p in long)


def test_evidence_that_is_retold_is_the_lines_that_say_it() -> None:
    note = Note("n", 1, "Chart date: 2008-08-02\nHe complained of chest pain when he eats.\n"
                "He had reflux symptoms again.\nHe was given 40 mg.")  # fmt: skip
    told = "As per the note charted on 2008-08-02, the patient complained of chest pain when he ate"
    both = f"{told} and of reflux symptoms again."
    assert [p.text for p in by_words(both, [note])] == [
        "He complained of chest pain when he eats.", "He had reflux symptoms again."
    ]  # fmt: skip
    for place in by_words(both, [note]):
        assert note.text[place.start : place.end] == place.text
    assert by_words(f"{told}, 80 mg daily given.", [note]) == ()  # another number
    assert by_words("He was discharged home with nursing and physical therapy.", [note]) == ()


def test_choices_that_contain_the_right_one() -> None:
    def fault(*others: str) -> str | None:
        texts = dict(zip("ABCDE", ("chest pain", *others), strict=True))
        draft = Draft("What was it?", "chest pain", "x")
        return checks.options_fault(Options(texts, "A"), draft, "chest pain fever cough")

    assert fault("fever", "cough", "gout", "chest pain and fever") == checks.NESTED
    assert fault("fever", "cough", "gout", "no chest pain") is None
    assert fault("fever", "cough", "gout", "Chest  pain.") == checks.ALIKE


def test_words_and_numbers() -> None:
    assert content("He was treated with the treatments") == content("treating")
    assert numbers("1,200 ml and 2.5 g, 120/80") == {"1200", "2.5", "120/80"}
    assert checks.closeness("aspirin 81 mg", "Aspirin, 81 mg!") == 1.0
    assert checks.closeness("no", "No.") == 1.0 and checks.closeness("no", "yes") == 0.0
    assert checks.closeness("chest pain", "no chest pain") < 1.0
    assert checks.nearly("What was his last A1c?", ["What was his A1c last?"])
    assert not checks.nearly("What was his last A1c?", ["Why was he admitted?"])


def test_prompts_are_the_paper_s_with_ours_apart() -> None:
    paper = MAKE_QUESTION.splitlines()
    for topic in TOPICS:
        asked = question_prompt(topic).splitlines()
        assert [line for line in asked if line not in paper] == [asked[-3], asked[-1]]
        assert asked[-3].startswith("- Evidence")
    assert sum(share for share, _ in TOPICS.values()) == 100
    assert choices_prompt("Why?\nNow").endswith("- Question: Why? Now\n")


def notes_of(patient: int) -> list[Note]:
    """Patients with 1 to 4 notes of 100, 2,000 or 5,000 tokens in all; every ninth has none."""
    if patient % 9 == 0:
        return []
    n = patient % 4 + 1
    words = (100, 2_000, 5_000)[patient % 3] // n
    return [Note(f"{patient}-{k}", patient, "ward " * words) for k in range(n)]


def test_the_sample_has_the_paper_s_levels() -> None:
    sample = draw(range(1, 200), notes_of, 4, 1)
    for name, patients in sample.patients.items():
        level, count = name.split(", ")
        for patient in patients:
            notes = notes_of(patient)
            assert len(notes) == int(count)
            assert (patient % 3 == 2) == (level == "2")
        assert len(patients) <= 12
    assert sum(sample.counts.values()) == sum(1 for p in range(1, 200) if notes_of(p))
    assert sample.counts["beyond"] == sum(
        1 for p in range(1, 200) if p % 9 and (p % 4 == 3 or (p % 4 == 2 and p % 3 != 2))
    )
    assert draw(reversed(range(1, 200)), notes_of, 4, 1) == sample
    assert draw(range(1, 200), notes_of, 4, 2).patients != sample.patients


def test_strata_take_turns_by_their_shares() -> None:
    made = dict.fromkeys(STRATA, 0)
    left = dict.fromkeys(STRATA, 1000)
    for _ in range(1000):
        name = next_stratum(made, left)
        assert name is not None
        made[name] += 1
        left[name] -= 1
    assert made == dict(STRATA)
    left = {**dict.fromkeys(STRATA, 0), "2, 3": 1}
    assert next_stratum(made, left) == "2, 3"
    assert next_stratum(made, dict.fromkeys(STRATA, 0)) is None


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("He has gout. Heparin, aspirin, insulin and warfarin were given.", True),
        ("He has a seizure disorder. Heparin and aspirin.", False),  # what is asked about is there
        ("He has gout. Phenytoin was given.", False),  # the answer is there
    ],
)
def test_a_question_of_another_patient_has_no_answer_here(text: str, fits: bool) -> None:
    donor = {
        "id": "a",
        "question": "Which drug was begun for the seizures?",
        "choices": {"A": "phenytoin", "B": "heparin", "C": "aspirin", "D": "insulin"},
        "answer_text": "phenytoin",
    }
    assert (unanswerable([donor], [Note("1", 1, text)]) is donor) == fits


def test_of_several_the_nearest_is_taken() -> None:
    def item(key: str, choices: str) -> dict[str, object]:
        return {
            "id": key,
            "question": "Which drug was begun for the seizures?",
            "choices": dict(zip("ABCD", choices.split(), strict=True)),
            "answer_text": "phenytoin",
        }

    far, near = item("far", "phenytoin x y z"), item("near", "phenytoin heparin aspirin z")
    here = [Note("1", 1, "Gout. Heparin and aspirin.")]
    assert unanswerable([far, near], here) is near and unanswerable([near, far], here) is near
