"""Questions with known answers, asked with the soft checks off: what thresholds are chosen from.

Gold is a SELECT, rows, or nothing: a question to be declined. An answer is right when its rows are
the gold's as a set, in any order of columns, numbers to three decimals.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, EvaluationError
from ehrqa_cli.contracts.types import Question, Row, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.evaluate.answering import executor
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.rows import same_rows
from ehrqa_cli.evaluate.thresholds import Known

_ID = re.compile(r"(?<![\w.,/:-])\d{4,}(?![\w%]|[./:-]\d)")
_YEAR = re.compile(r"(?:19|20|21)\d\d")


@dataclass(frozen=True)
class GoldQuestion:
    """One question. ``sql`` (one query, or several of which any is right) or ``rows`` is its gold;
    with neither it is to be declined. ``group`` (a template or family) is left out as a whole when
    thresholds are chosen."""

    question: str
    sql: str | Sequence[str] | None = None
    rows: tuple[Row, ...] | None = None
    patient_id: int | None = None
    group: str = ""
    source: str = ""
    weight: float = 1.0

    @property
    def answerable(self) -> bool:
        """Whether there is an answer to give."""
        return self.sql is not None or self.rows is not None


def ask_all(
    items: Sequence[GoldQuestion],
    session: Session,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Known]:
    """A record of each question; those whose gold query does not run raise EvaluationError."""
    out = []
    for number, item in enumerate(items, 1):
        out.append(Known(_record(number, item, session), item.group, item.source, item.weight))
        progress(number, len(items))
    return out


def _record(number: int, item: GoldQuestion, session: Session) -> Record:
    golds = gold_rows(item, session)
    question = Question(item.question, str(number), item.patient_id)
    try:
        answer = ask(question, session)
    except EhrqaError as error:  # a question the engine refuses to read is a row, not the end
        return Record(
            str(number), item.question, _gold(item), None, "failed", False, why=str(error)
        )
    answered = answer.status is Status.ANSWERED
    return Record(
        str(number),
        item.question,
        _gold(item),
        answer.neuralsql if answered else None,
        answer.status.value,
        answered and any(same_rows(answer.rows, gold) for gold in golds),
        why=answer.reason_kind,
        logical_form=answer.logical_form,
        confidence=answer.confidence,
        scores=answer.scores,
        timings=answer.timings,
    )


def _gold(item: GoldQuestion) -> str | None:
    if item.rows is not None:
        return str(item.rows)
    return item.sql if isinstance(item.sql, str | None) else "; ".join(item.sql)


def gold_rows(item: GoldQuestion, session: Session) -> list[tuple[Row, ...]]:
    """The rows of which any are right; none where there are none to give. Raises
    EvaluationError."""
    if item.rows is not None:
        return [item.rows]
    queries = [item.sql] if isinstance(item.sql, str) else item.sql or ()
    try:
        return [executor(session)(query) for query in queries]
    except DatabaseError as error:
        raise EvaluationError(
            f"the gold SQL of “{item.question[:60]}” does not run: {error.message}",
            "mend it; it must be one SELECT over this database",
        ) from None


def swap_ids(question: str, ids: Sequence[int], rng: random.Random) -> str:
    """The question with real ids of patients in place of its numbers that look like ids.

    In EHRSQL-2024 no unanswerable question has the id of a real patient, so an id gives the
    answer away; what depends on that shows when it is swapped. Years stay.
    """

    def real(match: re.Match[str]) -> str:
        return match[0] if _YEAR.fullmatch(match[0]) else str(rng.choice(ids))

    return _ID.sub(real, question)
