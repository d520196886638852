"""The answer sheet: EHRXQA's TB_CXR_PLUS, and plain SQL on it for questions about images.

As in EHRXQA (Bae et al. 2023, appendix C.3.1) a question about images has two queries: NeuralSQL,
which asks a reader about the image, and SQL on a table that holds what the labels say. The second
is made from the first: each call of FUNC_VQA becomes what it asks of the table. The table is long:
a row for each study and relation that can be, with ``relation`` 1 or 0. It is a view: what is
stored are the studies, the relations, and the few pairs of them that are present.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import lru_cache

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORIES, CATEGORY_OF
from ehrqa_cli.sets.own.working import Working, insertion
from ehrqa_cli.sqltext import quote
from ehrqa_cli.vqa import Program, Unparsed, Vqa, parse
from ehrqa_cli.vqa.matrix import Known, Matrix
from ehrqa_cli.vqa.ontology import ABNORMALITY, TECHNICAL
from ehrqa_cli.vqa.program import HEART, MEDIASTINUM, NAME, PLACE, Leaf, Op

TABLE = "tb_cxr_plus"
STUDY, RELATION, PRESENT = f"{TABLE}_study", f"{TABLE}_relation", f"{TABLE}_present"
CREATE = (
    f"CREATE TABLE {STUDY} (subject_id INT, hadm_id INT, study_id INT, image_id TEXT, "
    "studydatetime TIMESTAMP(0), viewposition TEXT, ctr REAL, mtr REAL)",
    f"CREATE TABLE {RELATION} (number INTEGER PRIMARY KEY, object TEXT, attribute TEXT, "
    "category TEXT)",
    f"CREATE TABLE {PRESENT} (study_id INT, number INT, PRIMARY KEY (study_id, number)) "
    "WITHOUT ROWID",
)
INDEXES = (
    f"CREATE INDEX {STUDY}_id ON {STUDY} (study_id)",
    f"CREATE INDEX {RELATION}_object ON {RELATION} (object, attribute)",
    f"CREATE INDEX {RELATION}_attribute ON {RELATION} (attribute)",
    f"CREATE INDEX {RELATION}_category ON {RELATION} (category)",
)
VIEW = (
    f"CREATE VIEW {TABLE} AS SELECT s.subject_id, s.hadm_id, s.study_id, s.image_id, "
    "s.studydatetime, s.viewposition, s.ctr, s.mtr, r.object, r.attribute, r.category, "
    f"p.number IS NOT NULL AS relation FROM {STUDY} AS s CROSS JOIN {RELATION} AS r "
    f"LEFT JOIN {PRESENT} AS p ON p.study_id = s.study_id AND p.number = r.number"
)
# A call that the compiler writes: its question, and the study.
_CALL = r"FUNC_VQA\('((?:[^']|'')*)', (\w+)\.study_id\)"
_TRUTH = re.compile(_CALL + r" = ([01])")
_LIST = re.compile(r"SELECT " + _CALL + r" FROM ")
_TEXT = re.compile(r"'(?:[^']|'')*'|[()]")
_STUDIES = (
    "SELECT subject_id, hadm_id, study_id, image_id, studydatetime, viewposition FROM tb_cxr "
    "ORDER BY study_id, image_id"
)


class Unsheeted(ValueError):
    """A query asks something that the table does not hold."""


class Labels:
    """What the scene graphs say of the studies of an EHR. Raises BuildError when the two have no
    study in common."""

    def __init__(self, vqa: Vqa, working: Working) -> None:
        if "tb_cxr" not in working.tables():
            raise BuildError(
                "the database has no table tb_cxr: it knows of no chest X-rays",
                "leave --scene-graphs out, or register the images with `ehrqa images add`",
            )
        self._studies = working.fetch(_STUDIES)
        wanted = sorted({int(str(row[2])) for row in self._studies})
        found = vqa.source.read(wanted)
        if not found:
            raise BuildError(
                "the scene graphs are of none of the studies in the database",
                "check that --db and --scene-graphs belong together",
            )
        self.known = Known(vqa.source.coverage())
        self.matrix = Matrix(self.known, vqa.thresholds)
        self.matrix.add(found[study] for study in sorted(found))
        # Relations of the labels' own ontology; presence is carried from parts and kinds to what
        # they are part and kind of, as the ontology has it.
        self.relations: tuple[Relation, ...] = tuple(
            sorted(r for r in self.known.possible if self.known.seen(r))
        )
        self._present = {r: self.matrix.cell(r).yes for r in self.relations}

    def present(self) -> dict[int, tuple[Relation, ...]]:
        """The relations that are present, by study."""
        return {
            study: tuple(r for r in self.relations if self._present[r][row])
            for study, row in self.matrix.row.items()
        }

    def into(self, working: Working) -> None:
        """Put the table beside the EHR's."""
        for create, rows in zip(CREATE, self._stored(), strict=True):
            working.add_table(create, rows)
        for statement in (*INDEXES, VIEW):
            working.add(statement)

    def write(self, connection: sqlite3.Connection) -> None:
        """Put the table into a database of its own. Raises sqlite3.Error."""
        for create, rows in zip(CREATE, self._stored(), strict=True):
            connection.execute(create)
            connection.executemany(insertion(create), rows)
        for statement in (*INDEXES, VIEW):
            connection.execute(statement)

    def _stored(self) -> tuple[Iterator[Row], Iterator[Row], Iterator[Row]]:
        """Rows of the three tables, ascending."""
        return self._study_rows(), self._relation_rows(), self._present_rows()

    def _study_rows(self) -> Iterator[Row]:
        for line in self._studies:
            study = int(str(line[2]))
            if study in self.matrix.row:
                graph = self.matrix.graph(study)
                yield (*line, graph.heart, graph.mediastinum)

    def _relation_rows(self) -> Iterator[Row]:
        for number, (place, name) in enumerate(self.relations):
            yield number, place, name, CATEGORY_OF[name]

    def _present_rows(self) -> Iterator[Row]:
        for study, row in sorted(self.matrix.row.items()):
            for number, relation in enumerate(self.relations):
                if self._present[relation][row]:
                    yield study, number


def answer_sheet(sql: str) -> str:
    """Bound NeuralSQL as the compiler writes it, as SQL on the table. Raises Unsheeted."""
    while match := _LIST.search(sql):
        end = _end(sql, match.end())
        sql = sql[: match.start()] + _listed(match, sql[match.end() : end]) + sql[end:]
    sql = _TRUTH.sub(_truth, sql)
    if "FUNC_VQA" in sql:
        raise Unsheeted(sql)
    return sql


def _listed(match: re.Match[str], rest: str) -> str:
    """SELECT FUNC_VQA(q, t.study_id) FROM rest: the names that hold in the studies found."""
    program = _program(match[1])
    column = {NAME: "attribute", PLACE: "object"}.get(program.ask)
    if column is None or program.expr is None:
        raise Unsheeted(match[0])
    expr, present = program.expr, 1
    if isinstance(expr, Op) and expr.op == "none":
        expr, present = expr.parts[0], 0
    if not isinstance(expr, Leaf):
        raise Unsheeted(match[0])
    found = f"SELECT {match[2]}.study_id AS seen FROM {rest}".rstrip()
    # A place with none of the findings that it can have, or a finding at none of its places.
    if present == 0 and (column == "object" or expr.place is None):
        return (
            f"SELECT plus.{column} FROM {TABLE} AS plus WHERE plus.study_id IN ( {found} )"
            f"{_of(expr)} GROUP BY plus.study_id, plus.{column} HAVING MAX( plus.relation ) = 0 "
        )
    return (
        f"SELECT DISTINCT plus.{column} FROM {TABLE} AS plus WHERE plus.study_id IN ( {found} )"
        f"{_of(expr)} AND plus.relation = {present} "
    )


def _truth(match: re.Match[str]) -> str:
    program = _program(match[1])
    where = f"plus.study_id = {match[2]}.study_id"
    if program.ask in (HEART, MEDIASTINUM):
        column = "ctr" if program.ask == HEART else "mtr"
        where += f" AND plus.{column} {'<' if program.below else '>'} {program.limit:.17g}"
    elif isinstance(program.expr, Leaf) and not program.option:
        where += _of(program.expr) + " AND plus.relation = 1"
    else:
        raise Unsheeted(match[0])
    denied = "NOT " if match[3] == "0" else ""
    return f"{denied}EXISTS ( SELECT 1 FROM {TABLE} AS plus WHERE {where} )"


def _of(leaf: Leaf) -> str:
    """The conditions of a finding at a place."""
    if leaf.finding == ABNORMALITY:
        text = f" AND plus.category <> {quote(TECHNICAL)}"
    else:
        column = "category" if leaf.finding in CATEGORIES else "attribute"
        text = f" AND plus.{column} = {quote(leaf.finding)}"
    return text + (f" AND plus.object = {quote(leaf.place)}" if leaf.place else "")


@lru_cache(maxsize=20_000)
def _program(text: str) -> Program:
    try:
        return parse(text.replace("''", "'"))
    except Unparsed as error:
        raise Unsheeted(text) from error


def _end(sql: str, start: int) -> int:
    """Where the SELECT that goes on at ``start`` ends: at the bracket around it, or at the end."""
    depth = 0
    for match in _TEXT.finditer(sql, start):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            if not depth:
                return match.start()
            depth -= 1
    return len(sql)
