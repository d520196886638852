"""Questions that the notes answer: whose, which reader first, what is told and cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.notes import NoteAnswer, NoteSpan
from ehrqa_cli.contracts.types import PatientScope, Question, Scope, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.store import answer_record

from .fakes import Scripted, form, session

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
NOTHING = form("abstain")
SPAN = NoteSpan("7-DS-1", 10, 24, "Colace 100 mg.", 3.0)
SAID = NoteAnswer("Colace 100 mg", (SPAN,), 0.95)
UNSAID = NoteAnswer(None, (SPAN,), 0.1, reason="the notes do not say it")


@dataclass
class Desk:
    """Notes of some patients, with a reader that always says the same."""

    said: NoteAnswer
    patients: frozenset[int] = frozenset({7, 12345})
    asked: list[tuple[str, int, Mapping[str, str] | None]] = field(default_factory=list)

    def has(self, patient_id: int) -> bool:
        return patient_id in self.patients

    def answer(
        self, question: str, patient_id: int, choices: Mapping[str, str] | None = None
    ) -> NoteAnswer:
        self.asked.append((question, patient_id, choices))
        return self.said

    def provenance(self) -> Mapping[str, str]:
        return {"reader": "fake"}

    def fingerprint(self) -> str:
        return "notes:1"

    def close(self) -> None: ...


@dataclass(frozen=True)
class Router:
    """Finds every question as likely to be for the notes."""

    score: float

    def note_score(self, text: str, linked: object = None) -> float:
        return self.score

    def provenance(self) -> dict[str, str]:
        return {"router": "fake"}


def with_notes(said: NoteAnswer, *queries: Any, score: float = 0.99, **parts: Any) -> Session:
    made = session(*queries, notes=Desk(said), note_router=Router(score), **parts)
    assert isinstance(made, Session)
    return made


def test_a_patient_known_only_from_notes_is_asked_of_the_notes() -> None:
    opened = with_notes(SAID, LAST)
    answer = ask(Question("what does he take at home?", patient_id=12345), opened)
    assert answer.status is Status.ANSWERED and answer.scope is Scope.NOTE
    assert answer.patient_scope is PatientScope.SINGLE
    assert answer.value == "Colace 100 mg" and answer.text == "Colace 100 mg."
    assert answer.confidence == 0.95
    assert answer.evidence == (
        {"kind": "note", "note_id": "7-DS-1", "start": 10, "end": 24, "excerpt": "Colace 100 mg."},
    )
    told = answer_record(answer)["provenance"]
    assert told["models"] == {"notes": {"reader": "fake"}} and told["notes"] == "notes:1"
    assert isinstance(opened.model, Scripted) and not opened.model.asked, "no query is written"


def test_the_patient_may_stand_in_the_question() -> None:
    opened = with_notes(SAID, LAST)
    answer = ask(Question("what does patient 12345 take at home?"), opened)
    assert answer.scope is Scope.NOTE and answer.status is Status.ANSWERED


def test_words_of_a_note_question_go_to_the_notes_and_others_to_the_tables() -> None:
    question = Question("last words to patient 7?")
    read = ask(question, with_notes(SAID, LAST, score=0.999))
    assert read.scope is Scope.NOTE
    # What decided stands in the provenance, and only where it decided.
    assert read.provenance["models"] == {"notes": {"reader": "fake"}, "router": {"router": "fake"}}
    answer = ask(Question("last sodium of patient 7?"), with_notes(SAID, LAST, score=0.001))
    assert answer.scope is Scope.TABLE and answer.value == 141.5


def test_what_the_tables_record_is_asked_of_them_first_whatever_the_words() -> None:
    opened = with_notes(SAID, LAST, score=0.999)
    answer = ask(Question("last sodium of patient 7?"), opened)
    assert answer.scope is Scope.TABLE and answer.value == 141.5
    named = ask(Question("last sodium of patient 7 in the discharge summary?"), opened)
    assert named.scope is Scope.NOTE


@pytest.mark.parametrize(
    ("sure", "goal", "given"),
    [
        (0.55, "penalty=10", False),
        (0.92, "penalty=10", True),
        (0.55, "penalty=0", True),
        (0.92, "precision=0.95", False),
        (0.99, "penalty=n", False),
        (None, "penalty=10", False),
        (None, "penalty=0", True),
    ],
)
def test_an_answer_of_the_notes_is_given_as_the_goal_asks(
    sure: float | None, goal: str, given: bool
) -> None:
    opened = with_notes(NoteAnswer("Colace 100 mg", (SPAN,), sure), LAST, goal=goal)
    answer = ask(Question("what does patient 12345 take at home?"), opened)
    assert (answer.status is Status.ANSWERED) is given
    if not given:
        assert answer.reason_kind == "unsure_notes" and answer.reason_public == "not_sure"
        assert answer.evidence[0]["excerpt"] == SPAN.excerpt, "the nearest lines are shown"


EXISTS = form("exists lab #2 patient #1", max_entropy=0.1)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Yes: sodium was checked daily.", Status.ANSWERED),
        ("No: sodium was never checked.", Status.ABSTAINED),
    ],
)
def test_the_notes_add_to_a_yes_of_the_tables_or_withhold_it(said: str, status: Status) -> None:
    opened = with_notes(NoteAnswer(said, (SPAN,), 0.97), EXISTS)
    answer = ask(Question("did patient 7 have a sodium test?"), opened)
    assert answer.status is status and said in answer.text
    assert answer.evidence[-1]["kind"] == "note", "marked as of the notes"
    assert (answer.reason_kind == "sources_differ") is (status is Status.ABSTAINED)


def test_where_the_notes_decline_the_tables_are_asked() -> None:
    answer = ask(Question("last sodium of patient 7?"), with_notes(UNSAID, LAST, score=0.7))
    assert answer.status is Status.ANSWERED and answer.scope is Scope.TABLE
    assert answer.value == 141.5 and all(item["kind"] == "row" for item in answer.evidence)


def test_where_the_tables_decline_the_notes_are_asked() -> None:
    opened = with_notes(SAID, NOTHING, score=0.6)
    answer = ask(Question("why was sodium of patient 7 low?"), opened)
    assert answer.status is Status.ANSWERED and answer.scope is Scope.NOTE
    assert answer.value == "Colace 100 mg"
    assert answer.logical_form is None and answer.executed_sql is None


def test_where_both_decline_the_first_says_why() -> None:
    opened = with_notes(UNSAID, NOTHING, score=0.7)
    answer = ask(Question("why was sodium of patient 7 low?"), opened)
    assert answer.status is Status.ABSTAINED and answer.reason_kind == "not_in_notes"
    assert answer.scope is Scope.NOTE and answer.evidence[0]["excerpt"] == SPAN.excerpt
    assert answer.text == "I don't know. The notes do not say it." and not answer.suggestions


def test_where_the_notes_decline_after_the_tables_they_say_why() -> None:
    opened = with_notes(UNSAID, NOTHING, score=0.001)
    answer = ask(Question("is patient 7 allergic to latex?"), opened)
    assert answer.reason_kind == "not_in_notes" and answer.reason_public == "not_in_notes"
    assert answer.text == "I don't know. The notes do not say it." and not answer.suggestions
    assert answer.evidence[0]["excerpt"] == SPAN.excerpt


def test_a_given_scope_goes_before_the_words() -> None:
    question = Question("last sodium of patient 7?")
    table = with_notes(SAID, LAST, score=0.999, scope=Scope.TABLE)
    assert ask(question, table).value == 141.5
    note = with_notes(UNSAID, LAST, score=0.001, scope=Scope.NOTE)
    answer = ask(question, note)
    assert answer.status is Status.ABSTAINED and answer.scope is Scope.NOTE


def test_choices_give_a_letter_and_a_reader_without_one_declines() -> None:
    choices = (("A", "Colace"), ("B", "Lasix"))
    question = Question("which drug?", patient_id=12345, choices=choices)
    chosen = NoteAnswer("Colace", (SPAN,), 0.95, choice="A")
    opened = with_notes(chosen, LAST)
    answer = ask(question, opened)
    assert answer.choice == "A" and answer.value == "Colace"
    assert opened.notes is not None and opened.notes.asked[0][2] == dict(choices)  # type: ignore[attr-defined]
    assert ask(question, with_notes(SAID, LAST)).status is Status.ABSTAINED


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question("what does he take?"), "one patient at a time"),
        (Question("did 7 and 12345 both take Colace?"), "one patient at a time"),
        (Question("what does he take?", patient_id=99), "no notes of patient 99"),
    ],
)
def test_without_one_patient_who_has_notes_it_says_so(question: Question, said: str) -> None:
    answer = ask(question, with_notes(SAID, LAST, scope=Scope.NOTE))
    assert answer.status is Status.ABSTAINED and answer.reason_kind == "no_notes"
    assert said in answer.text


def test_a_fault_of_the_reader_is_no_abstention() -> None:
    class Broken(Desk):
        def answer(self, *_: object) -> NoteAnswer:
            raise ModelError("the sentence model is missing", "run `make setup`")

    opened = session(LAST, notes=Broken(SAID), note_router=Router(0.99))
    answer = ask(Question("what does he take?", patient_id=12345), opened)
    assert answer.status is Status.FAILED and answer.error is not None
    assert answer.error["hint"] == "run `make setup`" and answer.scope is Scope.NOTE


def test_notes_without_a_database(tmp_path: Path) -> None:
    opened = Session(tmp_path / "none.sqlite", notes=Desk(SAID))
    answer = ask(Question("what does patient 12345 take?"), opened)
    assert answer.status is Status.ANSWERED and answer.scope is Scope.NOTE
    opened.warm()  # and nothing else is opened
    assert not Session.database.is_open(opened) and not Session.model.is_open(opened)


@pytest.mark.parametrize(
    ("choices", "letter"),
    [
        ({"A": "140", "B": "141.5 meq/l"}, "B"),
        ({"A": "141.5", "B": "141.5 meq/l"}, None),
        ({"A": "14", "B": "141"}, None),
    ],
)
def test_choices_of_a_table_question(choices: dict[str, str], letter: str | None) -> None:
    question = Question("last sodium of patient 7?", choices=tuple(choices.items()))
    assert ask(question, session(LAST)).choice == letter
