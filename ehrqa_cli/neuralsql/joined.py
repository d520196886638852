"""A query about images whose answers are tables of the database: each call becomes a join.

Nothing is read first but what must be known: which studies of a call have no image, and of which
nothing can be said. Where a call needs few studies, as with one patient's, its SQL is narrowed to
them, so that a database without a planner of its own mind goes by them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.images import (
    ImageAnswers,
    ImageSets,
    ImageTables,
    NotAnswered,
    no_image,
    undecided,
)
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.neuralsql import calls, plan
from ehrqa_cli.neuralsql.done import Step
from ehrqa_cli.neuralsql.splice import Answered
from ehrqa_cli.neuralsql.spliced import MAX_STUDIES, Spliced

FEW = 32  # studies that are named in the SQL of a call
_LISTED = 1000  # undecided studies that are named one by one where they are tried both ways
_BITS = 10  # of a study's number: each divides the undecided in two, in another way
_SHOWN = 20


@dataclass(frozen=True)
class _Asked:
    """What a call needs: the first studies, how many, and the SQL that gives them all."""

    first: tuple[int, ...]
    count: int
    sql: str

    @property
    def few(self) -> bool:
        """Are the first ones all of them?"""
        return self.count <= FEW


class Joined(Spliced):
    """One query that asks about images, of a database that has their scene graphs as tables."""

    def __init__(self, sql: str, db: Database, limits: Limits, graphs: ImageTables) -> None:
        super().__init__(sql, db, limits, graphs)
        self.tables = graphs
        self.sets: dict[int, ImageSets] = {}

    def answer(self, call: calls.Call) -> None:
        """Find the SQL of one call, and whom it has no answer for. Raises NotAnswered."""
        needed = plan.needed(self.parsed, call, self.known(), self.unsure(), self._first_rows)
        asked = self._asked(needed)
        sets = self.tables.sets(call.question, asked.first if asked.few else None)
        missing = self._missing(asked)
        if missing and len(missing) == asked.count:
            self.graphs.answer(call.question, missing[:FEW])  # says why, where that is known
            raise NotAnswered(no_image(missing))
        unknown = self._unknown(asked, sets)
        if unknown and not sets.asked.verify:
            raise NotAnswered(undecided(unknown))
        self.sets[call.k] = sets
        found = ImageAnswers(
            sets.asked,
            missing=missing,
            unknown=unknown,
            probability=self.tables.least(call.question, asked.first, asked.sql),
        )
        self.answers[call.k] = found
        self.steps[call.k] = Step(
            call.question,
            sets.asked.program,
            needed.sql,
            asked.first,
            found,
            asked.count,
            _hits(asked, sets),
        )

    def known(self) -> Mapping[int, Answered]:
        """The answers so far, what is undecided counted as a yes."""
        return {k: self._by_tables(k, sets.unknown) for k, sets in self.sets.items()}

    def alternatives(self) -> Iterator[Mapping[int, Answered]]:
        """As a call whose answers are values; of very many undecided studies not one by one."""
        open_ = {k: len(found.unknown) for k, found in self.answers.items() if found.unknown}
        if sum(open_.values()) <= _LISTED:
            for yes in self.assignments():
                more = {k: _listed(studies) for k, studies in yes.items() if studies}
                yield {k: self._by_tables(k, more.get(k, "")) for k in self.sets}
            return
        every = {k: self.sets[k].unknown for k in open_}
        ways: list[Mapping[int, str]] = [{}, every]
        for k in open_ if len(open_) > 1 else ():
            ways += [{k: every[k]}, {other: sql for other, sql in every.items() if other != k}]
        for bit in range(_BITS):
            half = f"( study_id / {1 << bit} ) % 2 = 1"
            ways.append(
                {k: f"SELECT study_id FROM ( {sql} ) WHERE {half}" for k, sql in every.items()}
            )
        for way in ways:
            yield {k: self._by_tables(k, way.get(k, "")) for k in self.sets}

    def _by_tables(self, k: int, more: str) -> Answered:
        found, sets = self.answers[k], self.sets[k]
        return Answered(
            sets.asked.verify,
            missing=found.missing,
            sql=sets.found,
            more=more,
            seen=self.tables.seen,
        )

    def _first_rows(self, sql: str) -> tuple[Row, ...]:
        return self.run(sql, FEW + _SHOWN).rows

    def _asked(self, needed: plan.Needed) -> _Asked:
        first = needed.studies
        if len(first) <= FEW:
            return _Asked(first, len(first), "")
        sql = f"WITH needed(study) AS ( {needed.sql} )"
        counted = self.run(f"{sql} SELECT COUNT( study ) FROM needed", 1).rows[0][0]
        return _Asked(first, int(counted or 0), sql)

    def _missing(self, asked: _Asked) -> list[int]:
        """The studies without an image."""
        if asked.few:
            there = set(self._among(asked, self.tables.seen))
            return [study for study in dict.fromkeys(asked.first) if study not in there]
        there_sql = f"SELECT 1 FROM ( {self.tables.seen} ) AS s WHERE s.study_id = needed.study"
        return self._ids(
            f"{asked.sql} SELECT needed.study FROM needed "
            f"WHERE needed.study IS NOT NULL AND NOT EXISTS ( {there_sql} )"
        )

    def _unknown(self, asked: _Asked, sets: ImageSets) -> list[int]:
        """The studies that cannot be decided."""
        if not sets.unknown:
            return []
        if asked.few:
            found = set(self._among(asked, sets.unknown))
            return [study for study in dict.fromkeys(asked.first) if study in found]
        return self._ids(
            f"{asked.sql} SELECT needed.study FROM needed WHERE needed.study IN ( {sets.unknown} )"
        )

    def _among(self, asked: _Asked, sql: str) -> list[int]:
        if not asked.first:
            return []
        ids = ", ".join(map(str, asked.first))
        return self._ids(f"SELECT study_id FROM ( {sql} ) AS s WHERE study_id IN ( {ids} )")

    def _ids(self, sql: str) -> list[int]:
        return [int(row[0] or 0) for row in self.run(sql, MAX_STUDIES).rows]


def _hits(asked: _Asked, sets: ImageSets) -> str:
    """The SQL of the studies with a yes or names."""
    if asked.few:  # narrowed to them already
        return f"SELECT DISTINCT study_id FROM ( {sets.found} ) AS s ORDER BY study_id"
    return (
        f"{asked.sql} SELECT DISTINCT study FROM needed WHERE study IN "
        f"( SELECT study_id FROM ( {sets.found} ) AS s ) ORDER BY study LIMIT {_SHOWN}"
    )


def _listed(studies: Sequence[int]) -> str:
    return "SELECT column1 FROM ( VALUES " + ", ".join(f"({study})" for study in studies) + " )"
