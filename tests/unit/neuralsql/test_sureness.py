"""How sure a query about images is: as its least certain answer about one."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.images import Coverage, ImageReader, SceneGraph
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.neuralsql import Execution, joined
from ehrqa_cli.vqa import Vqa, VqaThresholds
from ehrqa_cli.vqa.tables import TableVqa, reader_of
from ehrqa_cli.vqa.tables.rows import Graphs
from ehrqa_cli.vqa.tables.write import into_sqlite

from .test_image_by_image import Maker
from .test_images import AS_OF, CASES, EDEMA, PACER, PICC, STUDIES, Labels, make

CELLS = (EDEMA, PICC, PACER)
P: Mapping[int, tuple[float, float, float]] = {
    501: (0.97, 0.02, 0.0),
    502: (0.92, 0.99, 0.01),
    503: (0.06, 0.0, 0.0),
    504: (0.04, 0.01, 0.96),
    505: (0.12, 0.95, 0.91),
    506: (0.01, 0.03, 0.04),
}
LIMITS = VqaThresholds(default=0.5, relations={PICC: 0.7}, view=0.6)
EDEMA_OF = "FUNC_VQA('Is there pulmonary edema?', study_id)"
PICC_OF = "FUNC_VQA('Is there a PICC?', study_id)"


class Seen(Labels):
    """The same studies, as a model sees them."""

    def __init__(
        self, p: Mapping[int, Sequence[float]] = P, pa: float = 0.8, heart: float = 0.55
    ) -> None:
        super().__init__()
        self.p, self.pa, self.heart = p, pa, heart

    def coverage(self) -> Coverage:
        return replace(super().coverage(), heart=True)

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        return {
            study: replace(
                graph, probabilities=array("f", self.p[study]), pa=self.pa, heart=self.heart
            )
            for study, graph in super().read(studies).items()
        }

    def provenance(self) -> Mapping[str, str]:
        return {"model": "seen"}


def opened(folder: Path, source: Labels) -> tuple[SqliteDatabase, TableVqa]:
    path = folder / "ehr.sqlite"
    make(path)
    into_sqlite(path, Graphs(source, LIMITS, sorted(STUDIES)))
    database = SqliteDatabase.open(path)
    reader = reader_of(database)
    assert reader is not None
    return database, reader


def run(sql: str, database: SqliteDatabase, graphs: ImageReader) -> Execution:
    return neuralsql.execute(sql, database, as_of=AS_OF, graphs=graphs)


@pytest.mark.parametrize("kind", ["spliced", "few", "many"])
@pytest.mark.parametrize(
    ("sql", "least"),
    [
        ("SELECT FUNC_VQA('Is there pulmonary edema?', 501)", 0.97),
        ("SELECT FUNC_VQA('Is there pulmonary edema?', 503)", 0.94),
        (f"SELECT COUNT(*) FROM tb_cxr WHERE {EDEMA_OF} = 1", 0.88),
        (f"SELECT study_id FROM tb_cxr WHERE {EDEMA_OF} = 1 AND subject_id = 1", 0.92),
        (f"SELECT COUNT(*) FROM tb_cxr WHERE {PICC_OF} = 1", 0.95),
        (f"SELECT {EDEMA_OF}, {PICC_OF} FROM tb_cxr WHERE study_id = 501", 0.97),
        (f"SELECT {EDEMA_OF}, {PICC_OF} FROM tb_cxr WHERE study_id = 505", 0.88),
        ("SELECT FUNC_VQA('List all abnormalities.', study_id) FROM tb_cxr", 0.88),
        ("SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('Is it AP?', study_id) = 1", 0.8),
        (
            "SELECT COUNT(*) FROM tb_cxr "
            "WHERE FUNC_VQA('Is the cardiothoracic ratio above 1/2?', study_id) = 1",
            1 / (1 + math.exp(-0.05 * 40)),
        ),
        ("SELECT COUNT(*) FROM tb_cxr", None),
    ],
)
def test_the_least_certain_answer_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, sql: str, least: float | None
) -> None:
    # A study that is named in the query is always one of few.
    monkeypatch.setattr(joined, "FEW", 0 if kind == "many" and "FROM" in sql else 32)
    database, tables = opened(tmp_path, Seen())
    done = run(sql, database, Vqa(Seen(), LIMITS) if kind == "spliced" else tables)
    assert done.probability == (None if least is None else pytest.approx(least, abs=1e-4))
    database.close()


def test_what_people_say_is_not_less_sure(tmp_path: Path) -> None:
    class Said(Seen):
        def provenance(self) -> Mapping[str, str]:
            return {"scene_graphs": "labels"}

    database, tables = opened(tmp_path, Said())
    sql = f"SELECT COUNT(*) FROM tb_cxr WHERE {EDEMA_OF} = 1"
    for reader in (tables, Vqa(Said(), LIMITS)):
        assert run(sql, database, reader).probability is None
    database.close()


def test_what_is_undecided_does_not_count(tmp_path: Path) -> None:
    unsaid = {**P, 505: (float("nan"), 0.95, 0.91)}
    database, _ = opened(tmp_path, Seen(unsaid))
    sql = f"SELECT COUNT(*) FROM tb_cxr WHERE {EDEMA_OF} = 1 OR study_id = 505"
    done = run(sql, database, Vqa(Seen(unsaid), LIMITS))
    assert done.undecided == (505,) and done.probability == pytest.approx(0.92, abs=1e-4)
    database.close()


@pytest.mark.parametrize("few", [0, 32])
def test_never_more_than_the_reader_says_of_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Of many studies tables give a bound, of few the number itself."""
    monkeypatch.setattr(joined, "FEW", few)
    rng = random.Random(few)
    compared = exact = 0
    for turn in range(6):
        p = {study: [rng.choice((0.0, 0.1, 0.3, 0.6, 0.8, 1.0)) for _ in CELLS] for study in P}
        source = Seen(p, pa=rng.random())
        (tmp_path / str(turn)).mkdir()
        database, tables = opened(tmp_path / str(turn), source)
        plain = Vqa(source, LIMITS)
        queries = [*(sql for sql, _ in CASES), *(Maker(20 * turn + k).query() for k in range(20))]
        for sql in queries:
            try:
                spliced, found = run(sql, database, plain), run(sql, database, tables)
            except EhrqaError:
                continue
            told = [
                plain.detail(step.question, study).probability
                for step in spliced.steps
                for study in step.studies
            ]
            least = min((p for p in told if p is not None), default=None)
            assert spliced.probability == least, sql
            if least is None:
                assert found.probability in (None, 1.0), sql
                continue
            assert found.probability is not None and found.probability <= least + 1e-4, sql
            compared += 1
            exact += abs(found.probability - least) <= 1e-4
        database.close()
    assert compared > 100 and exact / compared > (0.99 if few else 0.5), (compared, exact)
