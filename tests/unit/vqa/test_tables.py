"""Scene graphs as tables: what goes in comes out, and SQL says what the matrix says."""

from __future__ import annotations

import random
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli.contracts.errors import DatabaseError, UsageError
from ehrqa_cli.contracts.images import ANYWHERE, Coverage, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS
from ehrqa_cli.ehr.schema import CXR_TABLES
from ehrqa_cli.vqa import VqaThresholds, evaluate
from ehrqa_cli.vqa.matrix import Known, Matrix
from ehrqa_cli.vqa.ontology import ABNORMALITY, POSSIBLE
from ehrqa_cli.vqa.program import (
    EXISTS,
    HEART,
    MEDIASTINUM,
    NAME,
    PLACE,
    RATIOS,
    SEX,
    VIEW,
    Expr,
    Leaf,
    Op,
    Program,
)
from ehrqa_cli.vqa.tables import TableGraphs, reader_of
from ehrqa_cli.vqa.tables.facts import Facts
from ehrqa_cli.vqa.tables.rows import Graphs
from ehrqa_cli.vqa.tables.sets import Writer
from ehrqa_cli.vqa.tables.write import into_folder, into_sqlite

NAN = float("nan")
LIMITS = Limits(rows=100_000)
THRESHOLDS = VqaThresholds(
    default=0.4,
    relations={("left lung", "pneumonia"): 0.7},
    attributes={"atelectasis": 0.2},
    view=0.6,
    sex=0.3,
    margin=0.02,
)


class Made(SceneGraphSource):
    """Graphs from memory."""

    name: ClassVar[str] = "made"

    def __init__(self, coverage: Coverage, graphs: Mapping[int, SceneGraph]) -> None:
        self._coverage, self._graphs = coverage, graphs

    def coverage(self) -> Coverage:
        return self._coverage

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        return {s: self._graphs[s] for s in studies if s in self._graphs}

    def provenance(self) -> Mapping[str, str]:
        return {"model": "made", "sha256": "00"}


def source(rng: random.Random, *, whole: float, part: float, nan: float, own: bool) -> Made:
    """Some studies: ``whole`` is the share of attributes known for the image as a whole only,
    ``part`` of relations that are covered, ``nan`` of cells that cannot be said."""
    names = [name for name in ATTRIBUTES if rng.random() < whole]
    cells = [r for r in sorted(POSSIBLE) if r[1] not in names and rng.random() < part]
    relations: list[Relation] = [*cells, *((ANYWHERE, name) for name in names)]
    rng.shuffle(relations)
    possible = frozenset(r for r in POSSIBLE if rng.random() < 0.9) if own else None
    coverage = Coverage(tuple(relations), True, True, True, True, possible)
    graphs = {study: _graph(rng, study, len(relations), nan) for study in range(1, 41)}
    return Made(coverage, graphs)


def _graph(rng: random.Random, study: int, width: int, nan: float) -> SceneGraph:
    def value() -> float:
        if rng.random() < nan:
            return NAN
        return rng.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.4, 0.5, 0.7, 1.0))

    def maybe(p: float) -> float | None:
        return None if rng.random() < nan else p

    return SceneGraph(
        study,
        array("f", [value() for _ in range(width)]),
        pa=maybe(rng.choice((0.0, 0.6, 0.61, 1.0))),
        female=maybe(rng.choice((0.0, 0.3, 0.29, 1.0))),
        heart=maybe(rng.choice((0.4, 0.5, 0.51, 0.52, 0.6))),
        mediastinum=maybe(rng.choice((0.2, 1 / 3, 0.4))),
        image=f"image{study}",
        problem="cannot be read: x" if study % 13 == 0 else "",
    )


def expression(rng: random.Random, depth: int = 0) -> Expr:
    if depth == 2 or rng.random() < 0.5:
        finding = rng.choice((*ATTRIBUTES, *CATEGORIES, ABNORMALITY))
        return Leaf(finding, rng.choice((None, *OBJECTS)))
    op = rng.choice(("and", "or", "not", "none"))
    count = 1 if op == "none" else rng.choice((2, 2, 3))
    return Op(op, tuple(expression(rng, depth + 1) for _ in range(count)))


def programs(rng: random.Random, count: int) -> list[Program]:
    made = [
        *(Program(VIEW, option=o) for o in ("", "AP", "PA")),
        *(Program(SEX, option=o) for o in ("", "male", "female")),
        *(Program(HEART, limit=0.5, below=b) for b in (True, False)),
        *(Program(MEDIASTINUM, limit=1 / 3, below=b) for b in (True, False)),
        *map(Program, RATIOS),
    ]
    return made + [
        Program(rng.choice((EXISTS, NAME, PLACE)), expression(rng)) for _ in range(count)
    ]


def by_matrix(program: Program, matrix: Matrix) -> tuple[set[object], set[int]]:
    """What is found, and the studies that cannot be decided."""
    studies = list(matrix.row)
    if program.verify:
        truth = evaluate.truth(program, matrix)
        yes = {s for s, y in zip(studies, truth.yes, strict=True) if y}
        return set(yes), {s for s, u in zip(studies, truth.unknown, strict=True) if u}
    if program.ask in RATIOS:
        told = [*zip(studies, *evaluate.ratios(program, matrix), strict=True)]
        unknown = {s for s, _, known in told if not known}
        return {(s, round(float(x), 9)) for s, x, known in told if known}, unknown
    found: set[object] = set()
    unknown = set()
    for name, truth in evaluate.names(program, matrix).items():
        found |= {(s, name) for s, y in zip(studies, truth.yes, strict=True) if y}
        unknown |= {s for s, u in zip(studies, truth.unknown, strict=True) if u}
    return found, unknown


def written(db: Path, made: Made, thresholds: VqaThresholds = THRESHOLDS) -> Path:
    with closing(sqlite3.connect(db)):
        pass
    into_sqlite(db, Graphs(made, thresholds, range(1, 43)))
    return db


@pytest.mark.parametrize(
    ("whole", "part", "nan", "own"),
    [(0.0, 1.0, 0.0, True), (0.0, 0.5, 0.0, False), (0.5, 0.4, 0.1, True), (1.0, 0.0, 0.05, False)],
)
@pytest.mark.parametrize("within", [None, (1, 2, 3, 13, 40, 41)])
def test_sql_says_what_the_matrix_says(
    tmp_path: Path,
    whole: float,
    part: float,
    nan: float,
    own: bool,
    within: tuple[int, ...] | None,
) -> None:
    rng = random.Random(f"{whole} {part} {nan}")
    made = source(rng, whole=whole, part=part, nan=nan, own=own)
    database = SqliteDatabase.open_any(written(tmp_path / "x.sqlite", made))
    graphs = TableGraphs(database)
    known = Known(made.coverage())
    matrix = Matrix(known, THRESHOLDS)
    good = [g for g in made.read(within or range(1, 43)).values() if not g.problem]
    matrix.add(good)
    writer = Writer(Facts(Known(graphs.coverage()), graphs.unsaid), graphs.thresholds, within)
    told = undecided = 0
    for program in programs(rng, 120):
        found, unknown = by_matrix(program, matrix)
        sets = writer.sets(program)
        rows = database.execute(sets.found, LIMITS).rows
        if program.ask in RATIOS:
            rows = [(row[0], round(float(row[1]), 9)) for row in rows]
        assert {row if len(row) > 1 else row[0] for row in rows} == found, program
        open_ = (
            {row[0] for row in database.execute(sets.unknown, LIMITS).rows}
            if sets.unknown
            else set()
        )
        assert open_ == unknown, program
        told, undecided = told + bool(found), undecided + bool(unknown)
    assert told > 20
    assert undecided > 9 or (part == 1.0 and nan == 0.0)
    database.close()


def test_graphs_come_back_as_they_were(tmp_path: Path) -> None:
    made = source(random.Random(3), whole=0.3, part=0.5, nan=0.1, own=True)
    counted = Graphs(made, THRESHOLDS, range(1, 43))
    db = tmp_path / "x.sqlite"
    sqlite3.connect(db).close()
    into_sqlite(db, counted)
    assert (counted.written, counted.problems, counted.missing) == (40, 3, [41, 42])
    database = SqliteDatabase.open_any(db)
    graphs = TableGraphs(database)
    assert graphs.coverage().relations == made.coverage().relations
    assert graphs.coverage().possible == made.coverage().possible
    assert graphs.thresholds == THRESHOLDS
    assert graphs.provenance() == {"model": "made", "sha256": "00", "from": "tables"}
    back, were = graphs.read(range(1, 43)), made.read(range(1, 43))
    assert back.keys() == were.keys()
    for study, was in were.items():
        found = back[study]
        assert (found.image, found.problem) == (was.image, was.problem)
        if was.problem:
            continue
        assert list(map(repr, found.probabilities)) == list(map(repr, was.probabilities))
        assert found.pa == pytest.approx(was.pa, abs=1e-7)
        assert (found.heart, found.mediastinum) == (was.heart, was.mediastinum)
    database.close()


def test_what_is_absent_has_no_row(tmp_path: Path) -> None:
    coverage = Coverage((("left lung", "pneumonia"), ("right lung", "pneumonia")))
    graphs = {1: SceneGraph(1, array("f", [0.0, 1.0])), 2: SceneGraph(2, array("f", [NAN, 0.25]))}
    db = tmp_path / "x.sqlite"
    sqlite3.connect(db).close()
    into_sqlite(db, Graphs(Made(coverage, graphs), VqaThresholds(), (1, 2)))
    with closing(sqlite3.connect(db)) as connection:
        rows = connection.execute("SELECT study_id, relation, probability FROM cxr_relations")
        assert rows.fetchall() == [(1, 1, 1.0), (2, 0, None), (2, 1, 0.25)]
        unsaid = "SELECT relation FROM d_cxr_relations WHERE unsaid > 0"
        assert connection.execute(unsaid).fetchall() == [(0,)]


def test_writing_again_replaces_and_an_error_leaves_all(tmp_path: Path) -> None:
    made = source(random.Random(4), whole=0.0, part=0.2, nan=0.0, own=False)
    db = written(tmp_path / "x.sqlite", made)
    before = db.read_bytes()
    count = "SELECT count(*) FROM cxr_studies"

    class Broken(Made):
        def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        into_sqlite(db, Graphs(Broken(made.coverage(), {}), THRESHOLDS, (1,)))
    assert db.read_bytes() == before
    into_sqlite(db, Graphs(made, THRESHOLDS, (1, 2)))
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute(count).fetchone() == (2,)


def test_no_tables_empty_tables_and_tables_of_another_format(tmp_path: Path) -> None:
    db = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("CREATE TABLE tb_cxr (study_id INT)")
    database = SqliteDatabase.open_any(db)
    assert reader_of(database) is None
    database.close()
    with closing(sqlite3.connect(db)) as connection, connection:
        for table in CXR_TABLES:
            connection.execute(table.ddl())
    database = SqliteDatabase.open_any(db)
    assert reader_of(database) is None
    database.close()
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("INSERT INTO cxr_source VALUES (0, 'format', '99')")
    database = SqliteDatabase.open_any(db)
    with pytest.raises(DatabaseError, match="another format"):
        reader_of(database)
    database.close()


def test_files_of_both_kinds_are_the_same_twice(tmp_path: Path) -> None:
    made = source(random.Random(5), whole=0.2, part=0.3, nan=0.1, own=False)
    for name in ("one", "two"):
        files = into_folder(tmp_path / name, Graphs(made, THRESHOLDS, range(1, 43)), "csv")
        assert [file.name for file in files] == [f"{t.name}.csv.gz" for t in CXR_TABLES]
    for file in sorted((tmp_path / "one").iterdir()):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == sorted(f.name for f in files)
    pytest.importorskip("duckdb")
    with pytest.raises(UsageError, match="there already"):
        into_folder(tmp_path / "one", Graphs(made, THRESHOLDS, (1,)), "parquet")
    for name in ("three", "four"):
        into_folder(tmp_path / name, Graphs(made, THRESHOLDS, range(1, 43)), "parquet")
    for file in sorted((tmp_path / "three").iterdir()):
        assert file.read_bytes() == (tmp_path / "four" / file.name).read_bytes()
