"""Paraphrases by a model: what is kept, what is rejected, going on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.own.paraphrases import FromFile, all_templates, vqa_asked, wordings
from ehrqa_cli.sets.pairs.paraphrase import (
    Paraphrases,
    ParaphraseTask,
    openings,
    read,
    write,
)
from ehrqa_cli.sets.pairs.paraphrase_checks import is_yes_no, means_another, peers_of, rejected
from ehrqa_cli.sets.pairs.paraphrase_words import SLOT, filled, spell

DIAGNOSED = (
    "Has_verb patient {patient_id} been diagnosed with {diagnosis_name} [time_filter_global1]?"
)
COUNT = "Count the number of patients who were prescribed {drug_name} [time_filter_global1]."
TOP = "What are_verb the top [n_rank] frequent diagnoses [time_filter_global1]?"
CHOICE = (
    "Given the study {study_id}, which ${category} is related, ${attribute_1} or ${attribute_2}?"
)


def _flat(texts: Sequence[str]) -> list[list[float]]:
    """Vectors by letters: what shares its letters is alike."""
    found = []
    for text in texts:
        counts = [float(text.lower().count(chr(97 + k))) for k in range(26)]
        length = sum(c * c for c in counts) ** 0.5
        found.append([c / length for c in counts])
    return found


class Fake:
    """A model that says the next of what it was given."""

    def __init__(self, *said: str) -> None:
        self.said = list(said)
        self.prompts: list[str] = []

    def __call__(self, system: str, user: str, opening: str) -> str:
        self.prompts.append(f"{system} {user}")
        return self.said.pop(0).removeprefix(opening)


def test_every_template_can_be_spelt_and_its_own_words_give_it_back() -> None:
    every = list(all_templates())
    assert len(every) == 465
    for one in every:
        spelled = spell(one.text)
        assert not SLOT.search(spelled.text) and "_verb" not in spelled.text, spelled.text
        back = spelled.slotted(spelled.text)
        assert back is not None and sorted(SLOT.findall(back)) == sorted(SLOT.findall(one.text))
        assert filled(back, spelled) == spelled.text
        assert rejected(spelled.text, spelled, [], one.same_program) == "hardly changed"


@pytest.mark.parametrize(
    ("template", "said", "why"),
    [
        (DIAGNOSED, "Is there a diagnosis of hypertension for patient 4711 in 2019?", None),
        (DIAGNOSED, "Check whether patient 4711 had hypertension in 2019.", None),
        (DIAGNOSED, "In 2019, did patient 4711 have a diagnosis of Hypertension?", None),
        (DIAGNOSED, "Did patient 4711 have high blood pressure in 2019?", "a slot"),
        (DIAGNOSED, "Did patient 4711 have hypertension in the year 2019?", None),
        (DIAGNOSED, "Did patient 4711 have hypertension from January 2019?", "a slot"),
        (DIAGNOSED, "Did patient 4711 have hypertension in 2019, that same year?", "'year' added"),
        (DIAGNOSED, "Did patient 4711 get a hypertension diagnosis in 2019 or 2020?", "number"),
        (DIAGNOSED, "When was patient 4711 diagnosed with hypertension in 2019?", "when|kind"),
        (DIAGNOSED, "Was patient 4711 first found to have hypertension in 2019?", "'first' added"),
        (DIAGNOSED, "Was patient 4711 never found to have hypertension in 2019?", "'not' added"),
        (DIAGNOSED, "Tell me the hypertension of patient 4711 in 2019.", "kind of answer"),
        (DIAGNOSED, "Has the patient 4711 been diagnosed with hypertension in 2019?", "hardly"),
        (DIAGNOSED, "hypertension {in 2019} of patient 4711?", "slot|kind"),
        (COUNT, "How many patients received aspirin in 2019?", None),
        (COUNT, "Which patients received aspirin in 2019?", "'count' lost"),
        (COUNT, "How many patients received aspirin currently in 2019?", "'now' added"),
        (TOP, "Show the five most common diagnoses made in 2019.", None),
        (TOP, "Show the five diagnoses that were made in 2019.", "'most' lost"),
        (TOP, "Show five (5) most common diagnoses in 2019.", "slot"),
        (TOP, "five in 2019", "'most' lost"),
        (CHOICE, "In study 50312, which disease does one see, pneumonia or atelectasis?", None),
        (CHOICE, "Give me the disease of study 50312, pneumonia, or atelectasis.", "choice"),
        (DIAGNOSED, "Did you have hypertension, patient 4711, in 2019?", "the reader"),
        (DIAGNOSED, "Check if the answer is hypertension of patient 4711 in 2019.", "question"),
        (DIAGNOSED, "Could you check if hypertension of patient 4711 is on file in 2019?", None),
        (CHOICE, "Find the diseases related to pneumonia or atelectasis in study 50312.", "choice"),
    ],
)
def test_what_is_rejected_and_why(template: str, said: str, why: str | None) -> None:
    found = rejected(said, spell(template), [], None)
    if why is None:
        assert found is None
    else:
        assert found is not None and any(part in found for part in why.split("|")), found


def test_two_that_are_nearly_the_same_are_one() -> None:
    spelled = spell(COUNT)
    first = "How many patients received aspirin in 2019?"
    assert rejected(first, spelled, [], None) is None
    said = "How many patients received the aspirin in 2019?"
    assert rejected(said, spelled, [first], None) == "nearly the same as another"


def test_a_question_about_an_image_is_parsed_back() -> None:
    asked = {a.text: a for a in vqa_asked()}
    one = asked["Are there both ${attribute_1} and ${attribute_2} in the ${object}?"]
    spelled = spell(one.text)
    good = "Does the left lung show both pneumonia and atelectasis?"
    assert rejected(good, spelled, [], one.same_program) is None
    other = "Does the left lung show both pneumonia and not atelectasis either?"
    assert rejected(other, spelled, [], one.same_program) is not None
    assert rejected(good, spelled, [], lambda _said: False) == "parsed as something else"


def test_the_meaning_is_compared_with_other_templates() -> None:
    peers = peers_of(COUNT, [COUNT, "List the ids of {drug_name} [time_filter_global1]."], _flat)
    assert len(peers.texts) == 2 and peers.own == 0
    assert means_another("How many patients were prescribed aspirin in 2019?", peers, _flat) is None
    why = means_another("List the ids of aspirin in 2019.", peers, _flat)
    assert why == "nearer to another template"
    assert means_another("zzz qqq xxx", peers, _flat) == "too far from the template"


def test_openings_suit_the_answer() -> None:
    assert "Did" in openings("Has patient 4711 had anything?") and is_yes_no(
        "Has patient 1 had it?"
    )
    assert openings("Count the number of patients.")[0] == "How many"
    assert openings("When was it?")[0] == "Tell me when"
    assert openings("List all diseases.")[0] == "Show"
    assert not is_yes_no("What was it?") and is_yes_no("Given study 5, is it there?")


GOOD = ("How many patients received aspirin in 2019?", "Count all who took aspirin in 2020.")
TOPS = ("Show the five most common diagnoses made in 2019.", "Which diagnoses came in 2019?")
EVERY = (ParaphraseTask("table", COUNT), ParaphraseTask("table", TOP))


def test_it_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    path, whole = tmp_path / "broken.jsonl", tmp_path / "whole.jsonl"
    chat = Fake(*GOOD, *TOPS)
    found = write(EVERY, EVERY, chat, _flat, whole, each=2)
    assert found.of("table", COUNT) == (
        "How many patients received {drug_name} [time_filter_global1]?",
    )
    assert "{" not in "".join(chat.prompts) and "aspirin" in chat.prompts[0]
    with pytest.raises(IndexError):  # the model ends in the middle of the second template
        write(EVERY, EVERY, Fake(*GOOD, TOPS[0]), _flat, path, each=2)
    with path.open("a") as file:
        file.write('{"family": "table", "tem')
    again = Fake(*TOPS)
    assert write(EVERY, EVERY, again, _flat, path, each=2).done == found.done
    assert path.read_bytes() == whole.read_bytes() and not again.said
    counts = read(path).counts()
    assert counts["templates"] == counts["templates_with_any"] == 2
    assert counts["written"] == 4 and counts["kept"] == 2 and sum(counts["rejected"].values()) == 2


def test_a_file_can_be_used_again_but_not_with_other_slots(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    write(EVERY, EVERY, Fake(*GOOD, *TOPS), _flat, path, each=2)
    source = wordings(str(path))
    assert isinstance(source, FromFile) and len(source.settings()["file_sha256"]) == 64
    made = source.make(tmp_path / "set" / "p.jsonl", EVERY[:1])
    assert list(made.done) == [("table", COUNT)] == list(read(tmp_path / "set" / "p.jsonl").done)
    line = {"family": "table", "template": COUNT, "kept": ["How many in 2019?"], "rejected": []}
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match="other slots than its template"):
        source.settings()
    path.write_text("[]\n")
    with pytest.raises(UsageError, match="is no file of paraphrases"):
        read(path)
    with pytest.raises(BuildError, match="cannot write"):
        write(EVERY, EVERY, Fake(), _flat, tmp_path, each=2)
    assert Paraphrases().of("table", COUNT) == ()
