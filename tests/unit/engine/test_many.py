"""Many questions give what each gives alone; one's fault is its own; processes that answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, ModelError
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Query, Question, Status
from ehrqa_cli.engine import Session, ask, open_session
from ehrqa_cli.engine.many import CHUNK, ENOUGH, ask_many
from ehrqa_cli.engine.workers import Pool, packed
from ehrqa_cli.store import answer_record

from .fakes import Scripted, form, session


class Reads(Scripted):
    """Writes by the words of the question; counts how many it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.together: list[int] = []

    def generate(self, question: LinkedQuestion, on_token: object = None) -> list[Query]:
        self.asked.append(question)
        if "crash" in question.question:
            raise RuntimeError("boom")
        if "fault" in question.question:
            raise ModelError("the model ails", "call a doctor")
        if "sodium" in question.question:
            return [form("value last lab #1 patient #2", max_entropy=0.01)]
        return [form("abstain", max_entropy=0.9)]

    def generate_many(self, questions: Sequence[LinkedQuestion]) -> list[list[Query] | EhrqaError]:
        self.together.append(len(questions))
        return super().generate_many(questions)


TEXTS = (
    "last sodium of 7",
    "what is her phone number?",
    "last unobtainium of 7",
    "fault here",
    "last sodium of 9",
    "",
    "x" * 3000,
    "last sodium of patient 7",
)


def plain(answer: Answer) -> dict[str, object]:
    return answer_record(answer)


def test_the_answers_are_those_of_ask_in_the_same_order() -> None:
    asked = [Question(text, id=str(i)) for i, text in enumerate(TEXTS * 20)]
    model = Reads()
    found = list(ask_many(asked, session(model=model), workers=1))
    assert [answer.question.id for answer in found] == [q.id for q in asked]
    alone = session(model=Reads())
    for question, answer in zip(asked, found, strict=True):
        if 0 < len(question.text) < 2000:
            assert plain(answer) == plain(ask(question, alone))
        else:
            assert answer.status is Status.FAILED and answer.error is not None
    assert model.together and max(model.together) <= CHUNK and model.together[0] > 8
    assert found[0].timings["write_together"] >= 0


def test_one_that_crashes_fails_alone() -> None:
    asked = [Question(t) for t in ("last sodium of 7", "crash", "last sodium of patient 7")]
    found = list(ask_many(asked, session(model=Reads()), workers=1))
    assert [a.status for a in found] == [Status.ANSWERED, Status.FAILED, Status.ANSWERED]
    assert found[1].error is not None and "boom" in found[1].error["message"]


def test_a_time_and_a_patient_of_its_own() -> None:
    asked = [
        Question("last sodium", patient_id=7),
        Question("last sodium of 7", as_of="never"),
        Question("last sodium of 7", as_of="2100-01-01"),
    ]
    found = list(ask_many(asked, session(model=Reads()), workers=1))
    assert [a.status.value for a in found] == ["answered", "failed", "answered"]
    assert found[2].provenance["as_of"] == "2100-01-01 23:59:00"


def test_a_million_questions_are_not_read_ahead() -> None:
    taken = 0

    def endless() -> Iterator[Question]:
        nonlocal taken
        while True:
            taken += 1
            yield Question("last sodium of 7")

    answers = ask_many(endless(), session(model=Reads()), workers=1)
    for _ in range(200):
        next(answers)
    assert taken <= 200 + 2 * ENOUGH
    answers.close()  # type: ignore[attr-defined]


def test_an_answer_is_given_before_the_next_is_made() -> None:
    model = Scripted(form("value last lab #1 patient #2", max_entropy=0.01))
    answers = ask_many([Question("last sodium of 7")] * 40, session(model=model), workers=1)
    for n in range(1, 4):
        assert next(answers).status is Status.ANSWERED and len(model.asked) == n
    assert len(list(answers)) == 37


def test_cancelling_ends_it_and_the_next_can_be_asked() -> None:
    talk = session(model=Reads())
    answers = ask_many((Question("last sodium of 7") for _ in range(1000)), talk, workers=1)
    assert next(answers).status is Status.ANSWERED
    talk.cancel()
    with pytest.raises(Cancelled):
        list(answers)
    assert talk.ask("last sodium of 7").status is Status.ANSWERED


def test_session_takes_text_or_questions() -> None:
    talk = session(model=Reads())
    found = talk.ask("last sodium", patient_id=7, choices={"A": "1", "B": "141.5"})
    assert found.value == 141.5 and found.choice == "B"
    assert [a.value for a in talk.ask_many(["last sodium of 7", Question("phone?")])] == [
        141.5,
        None,
    ]
    assert list(talk.ask_many([])) == []


WORKER = """
import os, time
from tests_many_fakes import session, form, Scripted

class Ends(Scripted):
    def generate(self, question, on_token=None):
        if "end" in question.question:
            os._exit(3)
        while "wait" in question.question and not os.path.exists(os.environ["TESTS_GO_ON"]):
            time.sleep(0.01)
        print("noise that is no answer")
        return [form("value last lab #1 patient #2", max_entropy=0.01)]

def opened():
    return session(model=Ends())

def broken():
    from ehrqa_cli.contracts.errors import DatabaseError
    raise DatabaseError("there is no database", "make one")

def gone():
    os._exit(4)
"""


@pytest.fixture
def openers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A module that worker processes can import too."""
    fakes = Path(__file__).with_name("fakes.py").read_text()
    (tmp_path / "tests_many_fakes.py").write_text(fakes)
    (tmp_path / "tests_many_openers.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import tests_many_openers  # type: ignore[import-not-found]

    yield tests_many_openers
    for name in ("tests_many_openers", "tests_many_fakes"):
        sys.modules.pop(name, None)


def answers_of(opener: object, *texts: str) -> list[Answer]:
    data = packed(opener)  # type: ignore[arg-type]
    assert data is not None
    pool = Pool(data, 2)
    half = (len(texts) + 1) // 2
    chunks = [[Question(t) for t in texts[:half]], [], [Question(t) for t in texts[half:]]]
    try:
        return list(pool.answers(chunks, lambda _: None, threading.Event()))
    finally:
        pool.close()


def test_processes_answer_and_one_that_ends_costs_one_question(openers) -> None:
    found = answers_of(openers.opened, "last sodium of 7", "end", "sodium of 7", "last sodium of 7")
    assert [a.status.value for a in found] == ["answered", "failed", "answered", "answered"]
    assert "exit code 3" in str(found[1].error)
    here = session(model=Scripted(form("value last lab #1 patient #2", max_entropy=0.01)))
    assert plain(found[0]) == plain(here.ask("last sodium of 7"))


def test_a_process_gives_each_answer_as_it_is_made(openers, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TESTS_GO_ON", str(tmp_path / "go"))
    pool = Pool(packed(openers.opened) or b"", 2)
    chunk = [Question(t) for t in ("last sodium of 7", "wait: last sodium of 7")]
    try:
        answers = pool.answers([chunk, chunk], lambda _: None, threading.Event())
        assert next(answers).status is Status.ANSWERED, "the second waits for a file"
        (tmp_path / "go").touch()
        assert [answer.status.value for answer in answers] == ["answered"] * 3
    finally:
        pool.close()


def test_what_opening_raises_is_raised_here(openers) -> None:
    with pytest.raises(EhrqaError, match="there is no database") as caught:
        answers_of(openers.broken, "last sodium of 7")
    assert caught.value.hint == "make one"
    with pytest.raises(ModelError, match="exit code 4"):
        answers_of(openers.gone, "last sodium of 7")


def test_what_cannot_be_opened_again_is_answered_here(tmp_path: Path) -> None:
    assert packed(lambda: Session()) is None and packed(None) is None
    assert session().workers(2) is None
    talk = open_session(tmp_path / "ehr.sqlite", model=Scripted())
    assert talk.workers(2) is None and talk.workers(1) is None
    talk = open_session(tmp_path / "ehr.sqlite")
    pool = talk.workers(2)
    assert pool is not None and talk.workers(2) is pool
    talk.close()
    assert pool.closed
