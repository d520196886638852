"""Items over notes: a made-up set end to end, with a model that says what it is told to."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.chat import Gguf
from ehrqa_cli.contracts.errors import BuildError, DatabaseError, UsageError
from ehrqa_cli.evaluate.ehrnoteqa import EhrNoteQa, load_noteqa
from ehrqa_cli.evaluate.ehrnoteqa.score import FREE_TEXT, MULTI_CHOICE
from ehrqa_cli.evaluate.runner import BenchmarkRun
from ehrqa_cli.evaluate.systems import Chosen
from ehrqa_cli.notes.importing.write import Writer
from ehrqa_cli.notes.store import NoteStore
from ehrqa_cli.sets.notes import checks
from ehrqa_cli.sets.notes.author import Author
from ehrqa_cli.sets.notes.build import NotesOrder, build_notes
from ehrqa_cli.sets.notes.make import Plan

from . import made_up
from .fake_writer import FakeWriter, Reply


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ehr") / "ehr.sqlite"
    with NoteStore.open(path, create=True) as store, Writer(store) as writer:
        for note in made_up.patients(24):
            writer.add(note, "made up")
        writer.commit()
    return path


def order(
    db: Path, out: Path, reply: Reply = made_up.reply, **plan: Any
) -> tuple[NotesOrder, FakeWriter]:
    model = FakeWriter(reply)
    author = Author(Gguf(Path("m.gguf"), "0" * 64), 1, model.load)
    given = {"size": 14, "seed": 1, "unanswerable": 0.2, **plan}
    return NotesOrder(db, out, Plan(**given), author), model


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built(db: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set that no test may change."""
    out = tmp_path_factory.mktemp("built") / "set"
    build_notes(order(db, out)[0])
    return out


def questions(out: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for split in ("train", "valid", "test")
        for line in (out / split / "questions.jsonl").read_text().splitlines()
    ]


def test_what_is_made(built: Path) -> None:
    card = json.loads((built / "card.json").read_text())
    items = questions(built)
    assert len(items) == card["counts"]["questions"] == 14
    with_answer = [i for i in items if i["answerable"]]
    assert len(items) - len(with_answer) == card["counts"]["by_answer"]["none"] == 2
    letters = Counter(i["answer"] for i in with_answer)
    assert set(letters) == set("ABCDE") and max(letters.values()) - min(letters.values()) <= 1
    for item in with_answer:
        patient = int(item["patient_id"])
        assert item["answer_text"] == made_up.DRUGS[patient % 7] == item["choices"][item["answer"]]
        (piece,) = item["evidence"]  # as the note has it, not in the model's capitals
        assert piece["text"] in made_up.text_of(patient, 1, 1)
        assert piece["text"].startswith("Treatment with " + item["answer_text"])
    assert len({checks.plain(i["question"]) for i in with_answer}) == len(with_answer)
    assert set(card["counts"]["by_level"]) >= {"level 1, 1 notes", "level 1, 2 notes"}
    assert card["sample"]["1, 2"]["patients"] == 7
    assert card["attempts"]["items"] == 14 and card["settings"]["model"]["sha256"] == "0" * 64


def test_a_question_without_an_answer_is_of_a_patient_of_the_same_split(built: Path) -> None:
    of_split = {
        split: [
            json.loads(line)
            for line in (built / split / "questions.jsonl").read_text().splitlines()
        ]
        for split in ("train", "valid", "test")
    }
    patients = [{i["patient_id"] for i in items} for items in of_split.values()]
    assert not any(a & b for a, b in itertools.combinations(patients, 2))
    for items in of_split.values():
        for item in items:
            if not item["answerable"]:
                (donor,) = [i for i in items if i["answerable"] and
                            i["question"] == item["question"]]  # fmt: skip
                patient = int(item["patient_id"])
                assert donor["patient_id"] != item["patient_id"]
                assert donor["answer_text"] not in made_up.text_of(patient, 1, 1)
                assert item["answer"] is None and item["evidence"] == []


def test_gold_scores_100(built: Path) -> None:
    for split in ("train", "test"):
        gold = built / split / "gold.json"
        for form, name in ((MULTI_CHOICE, "accuracy"), (FREE_TEXT, "exact")):
            report = BenchmarkRun(EhrNoteQa(form=form), built / split, "", Chosen(None, gold)).run()
            values = [v["value"] for k, v in report.scores.items() if name in k]
            assert values == [1.0], report.scores
            assert report.scores["evidence"]["top_1"]["any"]["value"] == 1.0
        data = load_noteqa(built / split)
        assert {item.level for item in data.items} <= {"1", "2"}


class Killed(BaseException):
    """As a signal would end it: nothing catches this."""


@pytest.mark.parametrize("after", [1, 4, 9, 30])
def test_killed_anywhere_it_goes_on_to_the_same_bytes(built, db, tmp_path, after) -> None:
    left = itertools.count(1)

    def dying(text: str) -> str:
        if next(left) > after:
            raise Killed
        return made_up.reply(text)

    out = tmp_path / "set"
    with pytest.raises(Killed):
        build_notes(order(db, out, dying)[0])
    journal = out / ".build" / "attempts.jsonl"
    with journal.open("a") as file:
        file.write('{"id": "nq-0')  # and in the middle of a line
    before = len(journal.read_text().splitlines()) - 1
    again, model = order(db, out)
    build_notes(again)
    assert digest(out) == digest(built)
    whole = sum("answerable" in line for line in map(json.dumps, questions(out)))
    assert model.closed and before >= 1 and whole == 14


def test_the_same_card_again_and_another_order_is_refused(built, db) -> None:
    again, model = order(db, built)
    assert build_notes(again)["counts"]["questions"] == 14 and not model.asked
    with pytest.raises(UsageError, match="holds another set"):
        build_notes(order(db, built, seed=2)[0])


def test_several_of_a_patient(db, tmp_path) -> None:
    asked: list[str] = []

    def three(text: str) -> str:
        if "is about" in text and "Options:" not in text and "Answer Choices" not in text:
            asked.append(text)
            which = ("mg", "milligram dose", "the amount in mg")[len(asked) % 3]
            return made_up.reply(text).replace(" mg?", f" {which} on the ward, if at all?")
        return made_up.reply(text)

    made, _ = order(db, tmp_path / "set", three, size=4, per_patient=2, unanswerable=0.0)
    card = build_notes(made)
    by_patient = Counter(i["patient_id"] for i in questions(tmp_path / "set"))
    assert card["counts"]["questions"] == 4 and max(by_patient.values()) == 2
    assert card["attempts"]["attempts"] < 12


def test_the_notes_are_read_once_for_all_that_is_asked_over_them() -> None:
    model = FakeWriter(lambda text: "said")
    author = Author(Gguf(Path("m.gguf"), "0" * 64), 1, model.load)
    notes = [note for note in made_up.patients(8) if note.patient_id == 8]
    assert author.begin(notes)
    once = model.read
    assert once > 1_000 and author.write("What of it?", 5) == "said"
    assert author.chances("Which?", {"A": "one", "B": "two"}).keys() == {"A", "B", ""}
    assert author.begin(notes) and model.read < once + 150
    whole = list(model.held)
    author.chances_without_notes("Which?", {"A": "one", "B": "two"})
    assert author.begin(notes) and model.held == whole and model.read > 2 * once
    # What is held for an item is the same, however the model came to it.
    other = FakeWriter(lambda text: "said")
    Author(Gguf(Path("m.gguf"), "0" * 64), 1, other.load).begin(notes)
    assert [other.words[k] for k in other.held] == [model.words[k] for k in whole]
    author.close()
    assert model.closed


def reply_with(**changes: Callable[[str], str]) -> Reply:
    """The usual replies, with those of a step changed."""

    def changed(text: str) -> str:
        said = made_up.reply(text)
        if text.endswith(("B:", "F:", "G:", "H:")):
            return "\n"
        if text.endswith("Answer:") or "Options:" in text:
            step = "letter"
        else:
            step = "two" if "Answer Choices" in text else "one"
        return changes.get(step, lambda s: s)(said)

    return changed


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three patients with short notes."""
    path = tmp_path_factory.mktemp("few") / "ehr.sqlite"
    with NoteStore.open(path, create=True) as store, Writer(store) as writer:
        for note in made_up.patients(3):
            writer.add(note, "made up")
        writer.commit()
    return path


@pytest.mark.parametrize(
    ("why", "reply"),
    [
        (checks.UNREADABLE, reply_with(one=lambda s: "I cannot do that.")),
        (checks.NO_QUESTION, reply_with(one=lambda s: s.replace("?", "."))),
        (checks.NAMES_NOTES, reply_with(one=lambda s: s.replace("mg?", "mg in note 1?"))),
        (checks.NOT_IN_NOTES, reply_with(one=lambda s: s.replace("begun at once", "stopped"))),
        (checks.STRANGE_NUMBER, reply_with(one=lambda s: s.replace("Answer : ", "Answer : 777 "))),
        (checks.NO_CHOICES, reply_with(two=lambda s: s.replace("D:", "and"))),
        (checks.ALIKE, reply_with(two=lambda s: re.sub(r"A: (\w+) B: \w+", r"A: \1 B: \1.", s))),
        (
            checks.OF_THE_ABOVE,
            reply_with(two=lambda s: s.replace("A: ", "A: all of the above or ")),
        ),
        (
            checks.NESTED,
            reply_with(two=lambda s: re.sub(r"A: \w+ (.*E: (\w+))", r"A: old \2 \1", s)),
        ),
        (checks.STRANGE_ANSWER, reply_with(two=lambda s: s.replace("E: ", "E: green cheese and "))),
        (checks.DISAGREE, reply_with(two=lambda s: s.replace("Answer: E", "Answer: A"))),
        (checks.LEAKS, reply_with(one=lambda s: _told(s))),
        (checks.UNFOUND, reply_with(letter=lambda s: " F")),
    ],
)
def test_each_fault_has_its_name(few, tmp_path, why, reply) -> None:
    with pytest.raises(BuildError, match="no question could be made") as error:
        build_notes(order(few, tmp_path / "set", reply, size=2, tries=1)[0])
    assert why in error.value.message


def test_where_step_two_fails_it_is_told_the_answer(few, tmp_path) -> None:
    def reply(text: str) -> str:
        said = made_up.reply(text)
        if text.endswith("B:") or "Options:" in text:
            return said
        return said.replace("Correct Answer: E", "Correct Answer: A")

    card = build_notes(order(few, tmp_path / "set", reply, size=2, tries=1)[0])
    assert card["counts"]["step_2_was_told_the_answer"] == card["counts"]["questions"] == 2

    # Of the choices that it then writes two are alike: it goes on with another.
    def again(text: str) -> str:
        if text.endswith("F:"):
            return " something else\nG: too much"
        return re.sub(r"\nE: .*", "\nE: same", re.sub(r"\nD: .*", "\nD: Same.", reply(text)))

    card = build_notes(order(few, tmp_path / "again", again, size=2, tries=1)[0])
    for item in questions(tmp_path / "again"):
        assert {"Same", "something else"} < set(item["choices"].values())
    card = build_notes(order(few, tmp_path / "other", size=2, tries=1)[0])
    assert card["counts"]["step_2_was_told_the_answer"] == 0 < card["counts"]["questions"]


def _told(said: str) -> str:
    drug = said.split("Answer : ")[1].split("\n")[0]
    return said.replace("Which drug", f"Was {drug} the drug that")


def test_the_right_choice_is_not_the_longest_too_often(db, tmp_path) -> None:
    def long(text: str) -> str:
        said = made_up.reply(text)
        return (
            said.replace("E: ", "E: Treatment that was begun at once with ")
            if ("Answer Choices" in text and "Options:" not in text)
            else said
        )

    def reply(text: str) -> str:
        if "Options:" in text:
            line = next(x for x in text.splitlines() if "begun at once with" in x and ". T" in x)
            return f" {line[0]}"
        return long(text)

    card = build_notes(order(db, tmp_path / "set", reply, unanswerable=0.0)[0])
    made = card["counts"]["questions"]
    assert card["counts"]["right_choice_is_the_longest"] == made <= 2
    assert card["attempts"]["failed"][checks.LONGEST_RIGHT] > 10


def test_notes_that_do_not_fit_are_passed_over(db, tmp_path) -> None:
    made, model = order(db, tmp_path / "set", size=30)
    model.context = 3_000
    card = build_notes(made)
    assert card["attempts"]["failed"][checks.TOO_LONG_NOTES] == 3
    assert all(level.startswith("level 1") for level in card["counts"]["by_level"])


def test_flags_for_the_reviewer(db, tmp_path) -> None:
    def strange(text: str) -> str:
        if "Options:" in text and "There are no notes" in text:
            heparin = re.search(r"\n([A-F])\. heparin\n", text)
            return f" {heparin[1] if heparin else 'F'}"
        said = made_up.reply(text)
        return said.replace("A: ", "A: moon ") if "Answer Choices" in text else said

    build_notes(order(db, tmp_path / "set", strange, size=9, unanswerable=0.0)[0])
    items = questions(tmp_path / "set")
    assert all("stand in the notes" in " ".join(i["flags"]) for i in items)
    assert not any("evidence has no word" in " ".join(i["flags"]) for i in items)
    guessed = ["without the notes" in " ".join(i["flags"]) for i in items]
    assert guessed == [i["answer_text"] == "heparin" for i in items] and any(guessed)


def test_evidence_that_says_nothing_of_the_answer_is_flagged(few, tmp_path) -> None:
    def said(text: str) -> str:
        problem = re.search(r"begun for the (\w+)", text)
        told = f"Evidence : admitted with {problem[1]} on the ward." if problem else ""
        return re.sub(r'Evidence : ".*"', told, text)

    build_notes(order(few, tmp_path / "set", reply_with(one=said), size=2, tries=1)[0])
    made = questions(tmp_path / "set")
    assert len(made) == 2
    for item in made:
        assert item["evidence"][0]["text"].startswith("admitted with ")
        assert "the evidence has no word of the right choice" in item["flags"]


def test_what_is_wrong_is_said(db, tmp_path) -> None:
    with pytest.raises(DatabaseError, match="has no notes"):
        build_notes(order(tmp_path / "none.sqlite", tmp_path / "set")[0])
    made, _ = order(db, tmp_path / "set")
    radiology = NotesOrder(made.db, made.out, made.plan, made.author, "radiology")
    with pytest.raises(BuildError, match=r"no patient of .* has notes of the lengths"):
        build_notes(radiology)
