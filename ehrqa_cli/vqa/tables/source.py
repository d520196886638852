"""The tables of scene graphs in an EHR (``ehr.schema.CXR_TABLES``) as a reader of images.

A graph is read from them like from any other source; what makes them more is that a program can
also be written as SQL on them, so that a question over a million studies is the database's work.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.images import Coverage, ImageSets, NotAnswered, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import Database, SceneGraphSource
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.ehr.schema import has_graphs
from ehrqa_cli.vqa.evaluate import certainty
from ehrqa_cli.vqa.parse import parse
from ehrqa_cli.vqa.program import HEART, MEDIASTINUM
from ehrqa_cli.vqa.reader import Vqa, rounded
from ehrqa_cli.vqa.tables.facts import Facts
from ehrqa_cli.vqa.tables.least import least_sql
from ehrqa_cli.vqa.tables.sets import RELATIONS, SEEN, STUDIES, Writer
from ehrqa_cli.vqa.thresholds import VqaThresholds

FORMAT = "1"
_FLAGS = ("view", "sex", "heart", "mediastinum")
_AT_ONCE = 1000  # study ids in one statement
_LIMITS = Limits(seconds=120.0, rows=2_000_000, length=500_000)
_AGAIN = "write them again with `ehrqa images tables`"


def reader_of(database: Database) -> TableVqa | None:
    """A reader over the tables of ``database``; None where they lack or are empty. Raises
    DatabaseError for tables of another format."""
    if not has_graphs(database.schema()):
        return None
    if not database.execute("SELECT name FROM cxr_source LIMIT 1", _LIMITS).rows:
        return None
    return TableVqa(TableGraphs(database))


@dataclass(frozen=True)
class _About:
    """What ``cxr_source`` and ``d_cxr_relations`` say."""

    coverage: Coverage
    thresholds: VqaThresholds
    reader: Mapping[str, str]
    unsaid: frozenset[int]


class TableGraphs(SceneGraphSource):
    """Scene graphs from the tables of an open database, which stays its owner's."""

    name: ClassVar[str] = "tables"

    def __init__(self, database: Database) -> None:
        """Raises DatabaseError for tables that cannot be read as such."""
        self.database = database
        self._about = self._read_about()

    def coverage(self) -> Coverage:
        """That of the source they were made from."""
        return self._about.coverage

    @property
    def thresholds(self) -> VqaThresholds:
        """From which probability on something counts as present."""
        return self._about.thresholds

    @property
    def unsaid(self) -> frozenset[int]:
        """The relations that cannot be said of some study, by number."""
        return self._about.unsaid

    def provenance(self) -> Mapping[str, str]:
        """What the tables were made from; the database's fingerprint says the rest."""
        return {**self._about.reader, "from": "tables"}

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """The graphs of those studies that have a row in ``cxr_studies``."""
        out: dict[int, SceneGraph] = {}
        wanted = list(dict.fromkeys(int(study) for study in studies))
        for start in range(0, len(wanted), _AT_ONCE):
            out |= self._graphs(", ".join(map(str, wanted[start : start + _AT_ONCE])))
        return out

    def _graphs(self, ids: str) -> dict[int, SceneGraph]:
        width = len(self._about.coverage.relations)
        cells: dict[int, array[float]] = {}
        sql = f"SELECT study_id, relation, probability FROM {RELATIONS} WHERE study_id IN ( {ids} )"
        for study, relation, probability in self.rows(sql):
            found = cells.setdefault(_whole(study), array("f", bytes(4 * width)))
            found[_whole(relation)] = float("nan") if probability is None else _real(probability)
        facts = "study_id, pa, female, ctr, mtr, image_id, problem"
        out: dict[int, SceneGraph] = {}
        for row in self.rows(f"SELECT {facts} FROM {STUDIES} WHERE study_id IN ( {ids} )"):
            study, (pa, female, heart, mediastinum) = _whole(row[0]), map(_maybe, row[1:5])
            out[study] = SceneGraph(
                study,
                cells.get(study) or array("f", bytes(4 * width)),
                pa=pa,
                female=female,
                heart=heart,
                mediastinum=mediastinum,
                image=str(row[5] or ""),
                problem=str(row[6] or ""),
                cached=True,
            )
        return out

    def rows(self, sql: str) -> tuple[Row, ...]:
        """All rows of a query on the tables. Raises DatabaseError."""
        return self.database.execute(sql, _LIMITS).rows

    def _read_about(self) -> _About:
        facts = {str(k): str(v) for k, v in self.rows("SELECT name, value FROM cxr_source")}
        if facts.get("format") != FORMAT:
            raise DatabaseError("the tables of scene graphs are of another format", _AGAIN)
        covered: list[Relation] = []
        possible: set[Relation] = set()
        unsaid: set[int] = set()
        columns = "relation, object, attribute, covered, possible, unsaid"
        for row in self.rows(f"SELECT {columns} FROM d_cxr_relations ORDER BY relation"):
            relation = (str(row[1] or ""), str(row[2]))
            if row[3]:
                if _whole(row[0]) != len(covered):
                    raise DatabaseError("d_cxr_relations is not numbered from 0", _AGAIN)
                covered.append(relation)
            if row[4]:
                possible.add(relation)
            if row[5]:
                unsaid.add(_whole(row[0]))
        try:
            flags = {name: facts.get(name) == "1" for name in _FLAGS}
            reader = {str(k): str(v) for k, v in json.loads(facts["reader"]).items()}
            thresholds = VqaThresholds.from_dict(json.loads(facts["thresholds"]))
        except (KeyError, ValueError, TypeError, AttributeError):
            raise DatabaseError("the table cxr_source is damaged", _AGAIN) from None
        coverage = Coverage(tuple(covered), possible=frozenset(possible), **flags)
        return _About(coverage, thresholds, reader, frozenset(unsaid))


class TableVqa(Vqa):
    """Answers questions from the tables: one by one, or as SQL for the database to join."""

    source: TableGraphs

    def __init__(self, source: TableGraphs) -> None:
        super().__init__(source, source.thresholds)

    seen: ClassVar[str] = SEEN

    @cached_property
    def _facts(self) -> Facts:
        return Facts(self.known, self.source.unsaid)

    def holds(self, database: Any) -> bool:
        """Are the tables in this database?"""
        return database is self.source.database

    def sets(self, question: str, within: Sequence[int] | None = None) -> ImageSets:
        """What a question finds in the tables, as SQL; ``within`` narrows it to some studies.

        Raises NotAnswered where no image could give an answer.
        """
        asked = self.ask(question)
        if asked.reason:
            raise NotAnswered(asked.reason)
        made = Writer(self._facts, self.thresholds, within).sets(parse(question))
        return ImageSets(asked, made.found, made.unknown)

    def least(self, question: str, studies: Sequence[int], needed: str = "") -> float | None:
        """The probability of the least certain answer about ``studies``; where a WITH clause
        ``needed`` names them needed(study), no more than that. None of labels."""
        if self.labelled:
            return None
        if not needed:
            return self.answer(question, studies).probability
        program = parse(question)
        among = "SELECT study FROM needed"
        sql = least_sql(program, self.known, self.thresholds, among)
        found = self.source.rows(f"{needed} {sql}")[0][0] if sql else None
        if found is None:
            return 1.0
        p = _real(found)
        wide = program.ask in (HEART, MEDIASTINUM)
        return rounded(float(certainty(np.asarray(p))) if wide else p)

    def warm(self, studies: Sequence[int]) -> None:
        """Read the graphs of studies that will be asked for one by one."""
        self._read(studies)

    def studies(self, sql: str) -> list[int]:
        """The study ids that a query on the database gives."""
        return [_whole(row[0]) for row in self.source.rows(sql)]


def _whole(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]


def _real(value: object) -> float:
    return float(value)  # type: ignore[arg-type]


def _maybe(value: object) -> float | None:
    return None if value is None else _real(value)
