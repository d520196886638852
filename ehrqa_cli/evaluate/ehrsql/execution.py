"""Is a prediction right? By execution, as EHRSQL's official scorer has it.

It executes the predicted and the gold query and compares their rows as metrics.comparable prints
them. The published answers are used where there are any: they equal the execution of the gold
queries on the published database (a test checks it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, EvaluationError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import WITHHELD, Answer, Limits, Row, Status
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.ehr.open import open_as_it_is, open_database
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.times import check_time
from ehrqa_cli.evaluate.ehrsql.load import Item
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.rows import comparable

# Gold queries are trusted and some give many rows; all are read before the first 100 are taken.
SCORING = Limits(seconds=120.0, rows=1_000_000, length=50_000_000)
_TABLE = re.compile(r"\b(?:from|join)\s+([a-z_]\w*)", re.I)
_TEXT = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Judge:
    """Decides whether a prediction is right, by execution. Gold and predicted SQL is over the
    tables of ``database``; the queries that this program writes are over those of ``own``, where
    that is another (a mapped one)."""

    database: Database
    as_of: str
    unseen: frozenset[str]
    own: Database | None = None

    def of_answer(self, item: Item, answer: Answer) -> Record:
        """Score what the engine answered."""
        answered = answer.status is Status.ANSWERED
        why = f"{answer.reason_kind}: {answer.reason}" if answer.reason_kind else None
        if answer.error:
            why = f"{answer.error['message']} ({answer.error['hint']})"
        correct = False
        if answered and item.gold is not None:
            gold, rows = self._gold(item), answer.rows
            if answer.truncated and answer.neuralsql:
                rows = self._execute(answer.neuralsql, self.own)
            correct = comparable(rows) == gold
        return self._record(
            item,
            prediction=answer.neuralsql if answered else None,
            status=answer.status.value,
            correct=correct,
            why=why,
            logical_form=answer.logical_form,
            confidence=answer.confidence,
            scores=answer.scores,
            timings=answer.timings,
            withheld_right=self._withheld(item, answer),
        )

    def _withheld(self, item: Item, answer: Answer) -> bool | None:
        """Would the query that was written and withheld have been right? None without one. The
        risk-coverage curve needs it; no score counts it."""
        if answer.status not in WITHHELD or answer.neuralsql is None:
            return None
        if item.gold is None:
            return False
        gold = self._gold(item)
        try:
            return comparable(self._execute(answer.neuralsql, self.own)) == gold
        except DatabaseError:
            return False

    def of_sql(self, item: Item, sql: str | None) -> Record:
        """Score a predicted query, with the small repairs that the official scorer makes. One
        that does not run is a wrong answer."""
        correct, why = False, None
        if sql is not None and item.gold is not None:
            gold = self._gold(item)
            try:
                correct = comparable(self._execute(official_text(sql))) == gold
            except DatabaseError as error:
                why = error.message
        status = "abstained" if sql is None else "answered"
        return self._record(item, prediction=sql, status=status, correct=correct, why=why)

    def _record(self, item: Item, **found: Any) -> Record:
        unseen = item.id in self.unseen
        known = (item.id, item.question, item.gold)
        return Record(*known, unseen=unseen, template=item.template, **found)

    def _gold(self, item: Item) -> str:
        assert item.gold is not None
        if item.answer:
            return item.answer
        try:
            return comparable(self._execute(official_text(item.gold)))
        except DatabaseError as error:
            raise EvaluationError(
                f"the gold query of question {item.id} does not run: {error.message}",
                "give the database that these questions were made on with --db",
            ) from None

    def _execute(self, sql: str, database: Database | None = None) -> tuple[Row, ...]:
        where = database or self.database
        return neuralsql.run(sql, where, as_of=self.as_of, limits=SCORING)[0].rows


def open_judge(
    stack: ExitStack,
    items: Sequence[Item],
    session: Session | None,
    db: Path,
    as_of: str | None = None,
    unseen: frozenset[str] = frozenset(),
) -> Judge:
    """A judge over the database as it is, which the gold queries are written for; what it opens is
    closed with ``stack``. ``session`` is what is asked, None where nothing is: then ``db`` need be
    no EHR that this program can read.

    Raises EvaluationError for a database without the tables of ``items``, or that does not tell
    when it ends, and what opening it raises.
    """
    asked = session.database if session is not None else None
    if asked is None or isinstance(asked, Mapped):
        there: Database = stack.enter_context(closing(open_as_it_is(db)))
    else:
        there = asked
    check_tables(items, there, str(db))
    if session is not None:
        return Judge(there, session.as_of, unseen, asked)
    if as_of is not None:
        return Judge(there, check_time(as_of), unseen)
    return Judge(there, _now(there, db), unseen)


def _now(there: Database, db: Path) -> str:
    """What now is where nothing is asked: what it would be if something were, else what the
    database's own tables tell. Raises EvaluationError."""
    try:
        with closing(open_database(db)) as mapped:
            return now_in(mapped)
    except EhrqaError:
        pass  # no layout that this program knows
    try:
        return now_in(there)
    except EhrqaError as error:
        raise EvaluationError(
            f"{db} does not tell when it ends ({error.message})",
            "say what now means with --as-of TIME",
        ) from None


def official_text(sql: str) -> str:
    """The official scorer's repairs: one line, single spaces, operators not split; years and
    Julian days, since the files of 2022 are in lower case throughout, formats of times too."""
    text = re.sub(" +", " ", sql.replace("\n", " ")).strip()
    text = text.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")
    return text.replace("%y", "%Y").replace("%j", "%J")


def check_tables(items: Sequence[Item], database: Database, where: str) -> None:
    """Raises EvaluationError where the gold queries ask for tables that ``database`` lacks, so
    that a wrong --db is said before anything is asked of it."""
    there = {name.lower() for name in database.schema()}
    for item in items:
        if item.gold is None or re.match(r"\s*with\b", item.gold, re.I):
            continue
        missing = [t for t in _TABLE.findall(_TEXT.sub("''", item.gold)) if t.lower() not in there]
        if missing:
            raise EvaluationError(
                f"{where} has no table {missing[0]}, of which question {item.id} is",
                "give the database that these questions were made on with --db",
            )
