"""Calls answered by tables of the database: the same rows as with answers spliced in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.images import ImageReader, NotAnswered
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.neuralsql import Execution, joined
from ehrqa_cli.vqa import Vqa, VqaThresholds
from ehrqa_cli.vqa.tables import TableVqa, reader_of
from ehrqa_cli.vqa.tables.rows import Graphs
from ehrqa_cli.vqa.tables.write import into_sqlite

from .test_image_by_image import Maker
from .test_images import AS_OF, CASES, EDEMA, PACER, PICC, STUDIES, Labels, make

# What is seen, and the studies without a graph.
SOURCES = {
    "all": Labels(),
    "some are missing": Labels(without=(502, 506)),
    "less is seen": Labels(seen=(EDEMA, PICC)),
    "both": Labels(seen=(PICC, PACER), without=(504,)),
}


def opened(folder: Path, source: Labels) -> tuple[SqliteDatabase, TableVqa]:
    path = folder / "ehr.sqlite"
    make(path)
    into_sqlite(path, Graphs(source, VqaThresholds(), sorted(STUDIES)))
    database = SqliteDatabase.open(path)
    reader = reader_of(database)
    assert reader is not None
    return database, reader


def outcome(sql: str, database: SqliteDatabase, graphs: ImageReader) -> object:
    """Rows, missing and undecided studies, evidence; or how it was declined."""
    try:
        done = neuralsql.execute(sql, database, as_of=AS_OF, graphs=graphs)
    except EhrqaError as error:
        return type(error).__name__, str(error)
    evidence = neuralsql.image_evidence(done, graphs)
    kept = [tuple(map(str, item.values())) for item in evidence]
    return sorted(done.result.rows, key=str), done.missing, done.undecided, sorted(kept)


@pytest.mark.parametrize("few", [1, 100])
@pytest.mark.parametrize("name", SOURCES)
def test_the_same_as_spliced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, few: int
) -> None:
    monkeypatch.setattr(joined, "FEW", few)
    database, tables = opened(tmp_path, SOURCES[name])
    labels = Vqa(SOURCES[name])
    answered = 0
    for sql in [*(sql for sql, _ in CASES), *(Maker(seed).query() for seed in range(30))]:
        expected = outcome(sql, database, labels)
        assert outcome(sql, database, tables) == expected, sql
        answered += not isinstance(expected, tuple) or len(expected) == 4
    assert answered > 15
    database.close()


def run(database: SqliteDatabase, tables: TableVqa, sql: str) -> Execution:
    return neuralsql.execute(sql, database, as_of=AS_OF, graphs=tables)


COUNT = "SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) = 1"


def test_the_database_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined, "FEW", 3)
    database, tables = opened(tmp_path, Labels())
    done = run(database, tables, COUNT)
    assert done.result.rows == ((2,),)
    assert "FROM cxr_relations" in done.sql and "505" not in done.sql
    assert (done.read, done.cached) == (0, 0)
    (step,) = done.explain()["steps"]
    assert (step["studies"], step["images_read"]) == (6, 0)
    assert "cxr_relations" in step["found_sql"]
    few = run(database, tables, f"{COUNT} AND subject_id = 1")
    assert few.result.rows == ((1,),)
    assert "r.study_id IN ( 501, 502, 503 )" in few.sql
    database.close()


def test_names_are_in_their_order(tmp_path: Path) -> None:
    database, tables = opened(tmp_path, Labels())
    sql = "SELECT FUNC_VQA('List all abnormalities.', 502)"
    assert run(database, tables, sql).result.rows == (("picc",), ("pulmonary edema/hazy opacity",))
    for question in ("Where is there a PICC or a pacemaker?", "List all abnormal places."):
        asked = f"SELECT FUNC_VQA('{question}', study_id) FROM tb_cxr WHERE study_id = 505"
        assert run(database, tables, asked).result.rows == (("left chest wall",), ("svc",))
    database.close()


def test_another_database_is_asked_image_by_image(tmp_path: Path) -> None:
    database, tables = opened(tmp_path, Labels())
    other = SqliteDatabase.open(tmp_path / "ehr.sqlite")
    done = run(other, tables, COUNT)
    assert done.result.rows == ((2,),) and "cxr_relations" not in done.sql
    assert done.cached == 6
    other.close()
    database.close()


def test_very_many_undecided_are_tried_by_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined, "FEW", 0)
    monkeypatch.setattr(joined, "_LISTED", 0)
    # An edema is seen in one lung only, so that its absence is not known.
    both = ("right lung", EDEMA[1])
    source = Labels(seen=(EDEMA, PICC))
    source.possible = frozenset((EDEMA, both, PICC))
    database, tables = opened(tmp_path, source)
    edema = "FUNC_VQA('Is there pulmonary edema?', study_id) = 1"
    with pytest.raises(NotAnswered):
        run(database, tables, f"SELECT COUNT(*) FROM tb_cxr WHERE {edema}")
    done = run(database, tables, f"SELECT COUNT(*) FROM tb_cxr WHERE {edema} OR study_id > 500")
    assert done.result.rows == ((6,),)
    # No half of them, but some other subset would give another count: none and all are tried.
    assert done.undecided == (503, 504, 505, 506)
    database.close()
