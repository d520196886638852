"""Decisions of a review: written at once, taken back, counted, and exported."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.evaluate.ehrnoteqa import EhrNoteQa, load_noteqa
from ehrqa_cli.evaluate.runner import BenchmarkRun
from ehrqa_cli.evaluate.systems import Chosen
from ehrqa_cli.sets.notes.review import (
    ACCEPTED,
    DROPPED,
    EDITED,
    Content,
    Decision,
    Review,
    ReviewSet,
    load_set,
    reviewers,
)
from ehrqa_cli.sets.notes.review.export import export
from ehrqa_cli.sets.notes.review.fields import of_fields, to_fields
from ehrqa_cli.sets.notes.review.figures import agreement, figures, kappa, times, together
from ehrqa_cli.sets.notes.review.items import checked

from .review_set import CHOICES, write_set


@pytest.fixture
def data(tmp_path: Path) -> ReviewSet:
    return load_set(write_set(tmp_path / "set"))


@pytest.fixture
def opened() -> Iterator[Callable[..., Review]]:
    """Opens reviews, and closes them all at the end."""
    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(Review(*args, **kwargs))


def edited(data: ReviewSet, key: str, **changes: Any) -> Decision:
    content = data.item(key).content
    parts = {**vars(content), **changes}
    return Decision(key, EDITED, Content(**parts))


def test_what_is_read(data) -> None:
    assert [item.id for item in data.items] == ["q1", "q2", "q3", "q4"]
    first = data.items[0]
    assert first.stratum == "level 1, 2 notes" and first.category == "medication"
    assert [n.note_id for n in data.notes_of(first)] == ["7-a", "7-b"]
    assert data.items[3].content.answer is None


def test_a_decision_is_on_the_disk_at_once_and_is_read_back(data, opened) -> None:
    review = opened(data, "ann")
    review.decide(Decision("q1", ACCEPTED), 3.21)
    review.decide(edited(data, "q2", question="What now?"))
    path = data.folder / "review" / "ann.jsonl"
    assert len(path.read_text().splitlines()) == 3  # and nothing was closed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = opened(data, "ann", writable=False)
    assert again.decisions == review.decisions
    assert again.decisions["q2"].content.question == "What now?"  # type: ignore[union-attr]
    assert again.seconds() == {"q1": 3.2} and times(again)["median"] == 3.2  # type: ignore[index]
    assert reviewers(data.folder) == ["ann"]
    with pytest.raises(BuildError, match="only read"):
        again.decide(Decision("q3", DROPPED))


def test_undo_goes_back_step_by_step_and_over_a_restart(data, opened) -> None:
    review = opened(data, "ann")
    review.decide(Decision("q1", ACCEPTED))
    review.decide(Decision("q1", DROPPED))
    review.decide(Decision("q2", DROPPED))
    assert review.undo() == Decision("q2", DROPPED)
    review.close()
    review = opened(data, "ann")
    assert review.decisions == {"q1": Decision("q1", DROPPED)}
    assert review.undo() == Decision("q1", DROPPED)
    assert review.decisions == {"q1": Decision("q1", ACCEPTED)}
    assert review.undo() == Decision("q1", ACCEPTED) and review.undo() is None
    assert review.decisions == {}


def test_a_torn_line_is_cut_off_and_what_comes_next_is_whole(data, opened) -> None:
    review = opened(data, "ann")
    review.decide(Decision("q1", ACCEPTED))
    review.close()
    path = data.folder / "review" / "ann.jsonl"
    with path.open("ab") as file:
        file.write(b'{"id": "q2", "decision": "dro')
    review = opened(data, "ann")
    assert list(review.decisions) == ["q1"]
    review.decide(Decision("q3", DROPPED))
    review.close()
    assert list(opened(data, "ann", writable=False).decisions) == ["q1", "q3"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from ehrqa_cli.sets.notes.review import Decision, Review, load_set
review = Review(load_set(Path(sys.argv[1])), "ann")
for key in ("q1", "q2", "q3"):
    review.decide(Decision(key, "accepted"), 1.0)
    if key == "q2":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_after_a_decision_it_is_there(data, opened) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(data.folder)], check=False)
    assert done.returncode == -9
    review = opened(data, "ann")  # and nobody holds it any more
    assert list(review.decisions) == ["q1", "q2"]


def test_one_window_for_each_reviewer(data, opened) -> None:
    held = opened(data, "ann")
    with pytest.raises(BuildError, match="in another window"):
        opened(data, "ann")
    opened(data, "bob").close()
    opened(data, "ann", writable=False)
    held.close()
    opened(data, "ann").close()
    assert reviewers(data.folder) == ["ann", "bob"]


def test_what_is_refused(data, opened, tmp_path) -> None:
    with pytest.raises(UsageError, match="reviewer's name"):
        opened(data, "../ann")
    opened(data, "ann").close()
    other = load_set(write_set(tmp_path / "other", question="What else?"))
    (other.folder / "review").mkdir()
    path = data.folder / "review" / "ann.jsonl"
    (other.folder / "review" / "ann.jsonl").write_bytes(path.read_bytes())
    with pytest.raises(UsageError, match="decisions on another set"):
        opened(other, "ann")
    path.write_text(path.read_text() + '{"id": "q1", "decision": "loved"}\n')
    with pytest.raises(BuildError, match="no decision"):
        opened(data, "ann")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"questions.jsonl": None}, "holds no questions over notes"),
        ({"questions.jsonl": "{oops\n"}, "line 1 of .* is not JSON"),
        ({"questions.jsonl": ""}, "no questions"),
        ({"notes.jsonl": ""}, "no notes to question q1"),
        ({"notes.jsonl": None}, "cannot read"),
        ({"questions.jsonl": '{"id": "q1", "patient_id": "7"}\n'}, "question q1 has no question"),
    ],
)
def test_a_broken_set_is_said(tmp_path, broken, message) -> None:
    folder = write_set(tmp_path / "set")
    for name, text in broken.items():
        (folder / name).unlink()
        if text is not None:
            (folder / name).write_text(text)
    with pytest.raises(BuildError, match=message):
        load_set(folder)


def test_fields_and_back(data) -> None:
    content = data.item("q1").content
    fields = to_fields(content)
    assert list(fields) == ["question", *"ABCDE", "answer", "evidence"]
    assert of_fields(fields, content) is not content and of_fields(fields, content) == content
    typed = {**fields, "B": " 60 mg ", "answer": "b", "evidence": "first stay.\n\nColace"}
    found = of_fields(typed, content)
    assert found.choices["B"] == "60 mg" and found.answer == "B"
    assert found.evidence == (("", "first stay."), ("", "Colace"))
    assert of_fields({**fields, "answer": "-"}, content).answer is None
    # Words of the note as they stand there: case and blanks aside.
    good = checked(Content("Q?", CHOICES, "A", (("", "first\nSTAY"),)), data.items[0],
                   data.notes_of(data.items[0]))  # fmt: skip
    assert good.evidence == (("7-a", "First stay"),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": " "}, "question is empty"),
        ({"choices": {**CHOICES, "C": ""}}, "a choice is empty"),
        ({"choices": {**CHOICES, "C": "20 MG."}}, "two choices are alike"),
        ({"answer": "F"}, "no choice is called 'F'"),
        ({"answer": None}, "has no evidence"),
        ({"evidence": (("7-a", "Second stay"), ("", "third stay"))}, "not in the notes: 'third"),
    ],
)
def test_what_a_set_cannot_hold(data, changes, message) -> None:
    item = data.item("q1")
    content = Content(**{**vars(item.content), **changes})
    with pytest.raises(BuildError, match=message):
        checked(content, item, data.notes_of(item))


def test_changes_are_counted_as_the_paper_does(data) -> None:
    decisions = {
        d.item: d
        for d in (
            Decision("q1", ACCEPTED),
            edited(data, "q2", question="New?", choices={**CHOICES, "A": "21 mg", "B": "41 mg"}),
            edited(data, "q3", answer="C"),
        )
    }
    found = figures(data, decisions)
    assert (found["accepted"], found["edited"], found["dropped"], found["undecided"]) == (
        1, 2, 0, 1
    )  # fmt: skip
    # q2's right choice is A: its words changed, and B is a wrong one.
    assert found["revised"] == {"questions": [1, 3], "right_answers": [2, 3],
                                "wrong_choices": [1, 12], "evidence": [0, 3]}  # fmt: skip
    row = found["by_level"]["level 1, 2 notes"]
    assert row == {
        "items": 2, "kept": 2, "accepted": 1, "edited": 1, "dropped": 0, "undecided": 0,
        "questions": 1, "right_answers": 1, "wrong_choices": 1, "evidence": 0,
    }  # fmt: skip
    assert found["by_level"]["level 1, 1 note"]["right_answers"] == 1
    assert found["by_category"]["medication"]["undecided"] == 0


def test_agreement(data) -> None:
    assert kappa([(1, 1), (0, 0)]) == 1.0 and kappa([(1, 0), (0, 1)]) == -1.0
    assert kappa([(1, 1), (1, 1)]) is None and kappa([]) is None
    # By hand: 0.5 agree, chance is 0.5 * 0.75 + 0.5 * 0.25 = 0.5.
    assert kappa([(1, 1), (1, 1), (0, 1), (0, 0), (1, 1), (1, 0), (0, 1), (0, 1)]) == 0.0
    ann = {"q1": Decision("q1", ACCEPTED), "q2": edited(data, "q2", question="One?"),
           "q3": Decision("q3", DROPPED), "q4": Decision("q4", ACCEPTED)}  # fmt: skip
    bob = {"q1": Decision("q1", ACCEPTED), "q2": edited(data, "q2", question="Two?"),
           "q3": Decision("q3", ACCEPTED)}  # fmt: skip
    found = agreement(ann, bob)
    assert found["items"] == 3 and found["same_decision"] == 0.667
    assert (found["edited_by_both"], found["edited_alike"]) == (1, 0)
    both = together([ann, bob])
    assert both["q3"].kind == DROPPED and both["q4"].kind == ACCEPTED
    assert both["q2"].content.question == "One?"  # type: ignore[union-attr]


def digest(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


def test_the_reviewed_set_scores_100_and_does_not_know_the_clock(data, opened, tmp_path) -> None:
    decisions = {
        "q1": Decision("q1", ACCEPTED),
        "q2": edited(data, "q2", choices={**CHOICES, "A": "21 mg"}),
        "q3": Decision("q3", DROPPED),
        "q4": Decision("q4", ACCEPTED),
    }
    review = opened(data, "ann")
    for k, decision in enumerate(decisions.values()):
        review.decide(decision, 5.0 * k)
    card = export(data, {"ann": review.decisions}, tmp_path / "one")
    assert card["figures"]["kept"] == 3
    again = opened(load_set(data.folder), "bob")
    for decision in reversed(decisions.values()):
        again.decide(decision, 99.0)
    same = export(data, {"ann": again.decisions}, tmp_path / "two")
    assert same == card and digest(tmp_path / "one") == digest(tmp_path / "two")
    assert export(data, {"ann": review.decisions}, tmp_path / "one") == card
    loaded = load_noteqa(tmp_path / "one")
    assert [i.id for i in loaded.items] == ["q1", "q2", "q4"]
    assert loaded.items[1].answer_text == "21 mg" and loaded.items[0].answer_text == "20 mg twice"
    report = BenchmarkRun(
        EhrNoteQa(), tmp_path / "one", "", Chosen(None, tmp_path / "one" / "gold.json")
    ).run()
    assert report.scores["accuracy"]["value"] == 1.0
    with pytest.raises(UsageError, match="holds another set"):
        export(data, {"bob": again.decisions}, tmp_path / "one")


def test_a_set_with_splits_keeps_them(tmp_path) -> None:
    whole = write_set(tmp_path / "whole")
    lines = (whole / "questions.jsonl").read_text().splitlines(keepends=True)
    for split, own in (("train", lines[:2]), ("test", lines[2:])):
        (tmp_path / "set" / split).mkdir(parents=True)
        (tmp_path / "set" / split / "questions.jsonl").write_text("".join(own))
        notes = (whole / "notes.jsonl").read_bytes()
        (tmp_path / "set" / split / "notes.jsonl").write_bytes(notes)
    data = load_set(tmp_path / "set")
    assert [(i.id, i.split) for i in data.items] == [
        ("q1", "train"), ("q2", "train"), ("q3", "test"), ("q4", "test")
    ]  # fmt: skip
    assert [n.note_id for n in data.notes_of(data.items[0])] == ["7-a", "7-b"]
    decisions = {key: Decision(key, ACCEPTED) for key in ("q1", "q3")}
    export(data, {"ann": decisions}, tmp_path / "out")
    assert [i.id for i in load_noteqa(tmp_path / "out" / "train").items] == ["q1"]
    assert [i.id for i in load_noteqa(tmp_path / "out" / "test").items] == ["q3"]


def test_nothing_kept_is_said(data, tmp_path) -> None:
    with pytest.raises(BuildError, match=r"nothing of .* was accepted"):
        export(data, {"ann": {"q1": Decision("q1", DROPPED)}}, tmp_path / "out")


def test_a_set_with_a_card_must_be_as_it_was_written(data, tmp_path) -> None:
    out = tmp_path / "out"
    export(data, {"ann": {"q1": Decision("q1", ACCEPTED)}}, out)
    assert len(load_set(out).items) == 1  # a reviewed set can be reviewed again
    with (out / "questions.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(BuildError, match="was changed since it was built"):
        load_set(out)


def test_drafts_are_kept_apart(data, opened) -> None:
    review = opened(data, "ann")
    review.keep_draft("q1", {"question": "Wha"})
    review.keep_draft("q2", {"question": "Why"})
    assert opened(data, "ann", writable=False).drafts()["q1"] == {"question": "Wha"}
    review.keep_draft("q1", None)
    review.keep_draft("q1", None)
    assert review.drafts() == {"q2": {"question": "Why"}} and reviewers(data.folder) == ["ann"]
    path = data.folder / "review" / "ann.drafts.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("[half")
    assert review.drafts() == {}


def test_a_full_disk_is_said_and_the_decision_is_not_taken(data, opened, monkeypatch) -> None:
    review = opened(data, "ann")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BuildError, match="No space left"):
        review.decide(Decision("q1", ACCEPTED))
    assert review.decisions == {}
    monkeypatch.undo()
    (header,) = (data.folder / "review" / "ann.jsonl").read_text().splitlines()
    assert json.loads(header)["reviewer"] == "ann"
