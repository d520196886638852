"""What a layout does not record is declined: a count of it would be 0, and wrong."""

from __future__ import annotations

from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.engine import ask
from ehrqa_cli.engine.chat.edited import run_neuralsql

from .fakes import MemoryDatabase, form, session

COUNTED = form("count lab #1 patient #2", max_entropy=0.1)
ASKED = Question("how often sodium in patient 7")


class WithoutLabs(MemoryDatabase):
    def lacking(self, sql: str) -> str:
        return "lab tests (they are elsewhere)" if "labevents" in sql else ""


def test_a_count_of_what_is_not_recorded_is_declined() -> None:
    database = WithoutLabs()
    answer = ask(ASKED, session(COUNTED, database=database))
    assert answer.status is Status.ABSTAINED
    assert answer.reason_kind == "not_recorded"
    assert answer.reason_public == "not_in_database"
    assert "does not record lab tests (they are elsewhere)" in answer.text
    assert not any("labevents" in sql for sql in database.asked)


def test_what_is_recorded_is_answered() -> None:
    answer = ask(ASKED, session(COUNTED))
    assert answer.status is Status.ANSWERED
    assert answer.value == 2


def test_so_is_a_query_of_the_users_own() -> None:
    own = run_neuralsql(session(COUNTED, database=WithoutLabs()), "SELECT count(*) FROM labevents")
    assert own.status is Status.ABSTAINED
    assert own.reason_public == "not_in_database"
    assert "does not record lab tests" in own.text
