"""NeuralSQL over a small EHR with images: which studies are read, and what comes out."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.images import Coverage, NotAnswered, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.vqa import Vqa

AS_OF = "2100-12-31 23:59:00"
EDEMA: Relation = ("left lung", "pulmonary edema/hazy opacity")
PICC: Relation = ("svc", "picc")
PACER: Relation = ("left chest wall", "cardiac pacer and wires")
# study: patient, day of 2100-05, what is seen
STUDIES: dict[int, tuple[int, int, tuple[Relation, ...]]] = {
    501: (1, 1, (EDEMA,)),
    502: (1, 2, (EDEMA, PICC)),
    503: (1, 3, ()),
    504: (2, 1, (PACER,)),
    505: (2, 9, (PACER, PICC)),
    506: (3, 4, ()),
}


class Labels(SceneGraphSource):
    """The studies above; every batch is noted."""

    name: ClassVar[str] = "labels"

    def __init__(
        self, seen: Sequence[Relation] = (EDEMA, PICC, PACER), without: Sequence[int] = ()
    ) -> None:
        self.seen, self.without = tuple(seen), without
        self.possible = frozenset((EDEMA, PICC, PACER))
        self.batches: list[list[int]] = []

    def coverage(self) -> Coverage:
        """All three relations, or fewer."""
        return Coverage(self.seen, view=True, heart=True, possible=self.possible)

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """As asked."""
        self.batches.append(list(studies))
        return {
            s: SceneGraph(
                s,
                array("f", [float(r in STUDIES[s][2]) for r in self.seen]),
                pa=1.0,
                heart=(s - 450) / 100,
            )
            for s in studies
            if s in STUDIES and s not in self.without
        }

    def provenance(self) -> Mapping[str, str]:
        """None to speak of."""
        return {}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    path = tmp_path_factory.mktemp("ehr") / "ehr.sqlite"
    make(path)
    found = SqliteDatabase.open(path)
    yield found
    found.close()


def make(path: Path) -> None:
    connection = sqlite3.connect(path)
    for table in (*schema.TABLES, *schema.OPTIONAL_TABLES):
        connection.execute(table.ddl())
    connection.executemany(
        "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, 'f', '2050-01-01')",
        [(n, n) for n in (1, 2, 3, 4)],
    )
    connection.executemany(
        "INSERT INTO tb_cxr VALUES (?, ?, NULL, ?, ?, ?, 'pa')",
        [
            (s, who, s, f"i{s}", f"2100-05-{day:02d} 10:00:00")
            for s, (who, day, _) in STUDIES.items()
        ],
    )
    connection.commit()
    connection.close()


def rows(database: SqliteDatabase, sql: str, source: Labels | None = None) -> list[object]:
    result, _ = neuralsql.run(sql, database, as_of=AS_OF, graphs=Vqa(source or Labels()))
    return [row[0] if len(row) == 1 else row for row in result.rows]


RATIO = "CAST( FUNC_VQA('What is the cardiothoracic ratio?', study_id) AS REAL )"
EDEMA_OF = "FUNC_VQA('Is there pulmonary edema?', {})"
CASES: list[tuple[str, list[object]]] = [
    ("SELECT COUNT(*) FROM tb_cxr WHERE func_vqa(\"Is there a PICC?\", study_id) = 'yes'", [2]),
    ("SELECT COUNT(*) FROM tb_cxr WHERE NOT FUNC_VQA('Is there a PICC?', study_id)", [4]),
    ("SELECT FUNC_VQA('Is there a PICC?', 505) + FUNC_VQA('Is there a PICC?', 506)", [1]),
    ("SELECT FUNC_VQA('List all abnormalities.', 502)", ["picc", "pulmonary edema/hazy opacity"]),
    (
        "SELECT FUNC_VQA('List all abnormalities.', t.study_id) FROM tb_cxr t WHERE "
        "t.subject_id = 1 AND t.studydatetime < '2100-05-03' ORDER BY t.studydatetime DESC LIMIT 1",
        ["picc", "pulmonary edema/hazy opacity"],
    ),
    (
        "SELECT name FROM ( SELECT name, COUNT( DISTINCT study ) AS v FROM ( SELECT "
        "FUNC_VQA('List all abnormalities.', study_id) AS name, study_id AS study FROM tb_cxr "
        "WHERE subject_id = 2 ) AS seen GROUP BY name ) WHERE v = 2",
        [PACER[1]],
    ),
    ("SELECT FUNC_VQA('What is the cardiothoracic ratio?', 505)", ["0.55"]),
    (f"SELECT study_id FROM tb_cxr WHERE {RATIO} = ( SELECT MAX({RATIO}) FROM tb_cxr )", [506]),
    (f"SELECT ROUND(AVG({RATIO}), 3) FROM tb_cxr WHERE subject_id = 1", [0.52]),
    (f"SELECT {RATIO} FROM tb_cxr WHERE {RATIO} BETWEEN 0.515 AND 0.525", [0.52]),
    (
        "SELECT FUNC_VQA('List all abnormalities.', 505) INTERSECT "
        "SELECT FUNC_VQA('List all abnormalities.', 502)",
        ["picc"],
    ),
    (
        "SELECT CASE WHEN FUNC_VQA('Is there a device?', study_id) THEN 'd' ELSE '-' END "
        "FROM tb_cxr ORDER BY study_id",
        ["-", "-", "-", "d", "d", "-"],
    ),
    (  # an answer decides which study the next question is about
        "SELECT FUNC_VQA('Is there a PICC?', x.study_id) FROM ( SELECT study_id FROM tb_cxr WHERE "
        "FUNC_VQA('Is there pulmonary edema?', study_id) = 1 ORDER BY studydatetime LIMIT 1 ) AS x",
        [0],
    ),
    (
        "WITH wet AS ( SELECT subject_id, study_id FROM tb_cxr WHERE "
        "FUNC_VQA('Is there pulmonary edema?', study_id) ) SELECT COUNT(*), "
        "SUM(FUNC_VQA('Is there a PICC?', wet.study_id)) FROM wet",
        [(2, 1)],
    ),
    (
        "SELECT p.subject_id FROM patients p WHERE EXISTS ( SELECT 1 FROM tb_cxr t WHERE "
        "t.subject_id = p.subject_id AND FUNC_VQA('Is there a PICC?', t.study_id) = 1 )",
        [1, 2],
    ),
    (  # the study is one of the outer query, inside the inner one
        "SELECT t.study_id FROM tb_cxr t WHERE EXISTS ( SELECT 1 FROM patients p WHERE "
        "p.subject_id = t.subject_id AND FUNC_VQA('Is there a PICC?', t.study_id) = 1 )",
        [502, 505],
    ),
    (  # a column of the outer query, without saying whose
        "SELECT p.subject_id FROM patients p WHERE ( SELECT FUNC_VQA('Is there a PICC?', "
        "study_id) FROM tb_cxr WHERE tb_cxr.subject_id = p.subject_id AND dob IS NOT NULL "
        "ORDER BY studydatetime DESC LIMIT 1 ) = 1",
        [2],
    ),
    (
        "SELECT a.study_id FROM tb_cxr a JOIN tb_cxr b ON b.subject_id = a.subject_id AND "
        "FUNC_VQA('Is there a PICC?', a.study_id) AND FUNC_VQA('Is there pulmonary edema?', "
        "b.study_id) WHERE b.studydatetime < a.studydatetime",
        [502],
    ),
    (
        "SELECT subject_id, FUNC_VQA('Is there a PICC?', MAX(study_id)) AS p FROM tb_cxr "
        "GROUP BY subject_id HAVING p = 1",
        [(2, 1)],
    ),
    (
        "SELECT FUNC_VQA('List all devices.', t.study_id) AS d, COUNT(*) FROM tb_cxr t "
        "GROUP BY FUNC_VQA('List all devices.', t.study_id)",
        [("cardiac pacer and wires", 2)],
    ),
    ("SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('What is the view?', study_id) <> 'ap'", [6]),
    (
        "SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('List all tubes/lines.', study_id) IN ('picc')",
        [2],
    ),
    ("SELECT FUNC_VQA('List all devices.', 504) || '!' AS x", ["cardiac pacer and wires!"]),
    (
        "SELECT FUNC_VQA('Is there a PICC?', ( SELECT MAX(study_id) FROM tb_cxr WHERE "
        "subject_id = 2 ))",
        [1],
    ),
    ("SELECT study_id FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) AND 0", []),
    (
        "SELECT subject_id FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) UNION SELECT "
        "subject_id FROM tb_cxr WHERE FUNC_VQA('Is there a device?', study_id) ORDER BY 1 LIMIT 1",
        [1],
    ),
]


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_rows(database: SqliteDatabase, sql: str, expected: list[object]) -> None:
    found = rows(database, sql)
    assert (found if "ORDER BY study_id" in sql else sorted(found, key=str)) == expected


def test_each_image_is_read_once_and_only_where_it_is_needed(database: SqliteDatabase) -> None:
    source = Labels()
    reader = Vqa(source, batch=2)
    sql = (
        "SELECT FUNC_VQA('List all abnormalities.', study_id) FROM tb_cxr WHERE subject_id = 1 "
        "AND FUNC_VQA('Is there pulmonary edema?', study_id) AND FUNC_VQA('Is there a PICC?', "
        "study_id)"
    )
    done = neuralsql.execute(sql, database, as_of=AS_OF, graphs=reader)
    assert source.batches == [[501, 502], [503]]
    assert (done.read, done.cached) == (3, 2 + 1)
    plan = done.explain()
    assert [s["studies"] for s in plan["steps"]] == [1, 3, 2]
    assert sum(s["batches"] for s in plan["steps"]) == 2
    again = neuralsql.execute(sql, database, as_of=AS_OF, graphs=reader)
    assert again.read == 0 and len(source.batches) == 2
    assert again.result.rows == done.result.rows


def test_a_query_without_calls_reads_nothing(database: SqliteDatabase) -> None:
    source = Labels()
    result, sql = neuralsql.run(
        "SELECT COUNT(*) FROM tb_cxr", database, as_of=AS_OF, graphs=Vqa(source)
    )
    assert result.rows == ((6,),) and sql == "SELECT COUNT(*) FROM tb_cxr"
    assert source.batches == []


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT FUNC_VQA('Is there a PICC?') FROM tb_cxr", Refused),
        ("SELECT FUNC_VQA(image_id, study_id) FROM tb_cxr", Refused),
        ("SELECT FUNC_VQA('Is there a PICC?', study_id, 1) FROM tb_cxr", Refused),
        ("SELECT FUNC_VQA('Is there a PICC?', nothing) FROM tb_cxr", DatabaseError),
        ("SELECT FUNC_VQA('Is there a PICC?', study_id) FROM nowhere", DatabaseError),
        ("DELETE FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id)", Refused),
        (
            "SELECT FUNC_VQA('Is there a PICC?', study_id) FROM tb_cxr; DROP TABLE tb_cxr",
            Refused,
        ),
        (
            "SELECT FUNC_VQA('Is there a PICC?', (SELECT rootpage FROM sqlite_master LIMIT 1))",
            Refused,
        ),
        ("SELECT " + " + ".join(["FUNC_VQA('Is it AP?', 501)"] * 65), Refused),
    ],
)
def test_wrong_queries(database: SqliteDatabase, sql: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        rows(database, sql)


def test_a_question_cannot_break_out_of_its_quotes(database: SqliteDatabase) -> None:
    with pytest.raises(NotAnswered):
        rows(database, 'SELECT FUNC_VQA("x\') FROM tb_cxr; DROP TABLE tb_cxr; --", 501)')


def test_limits_hold(database: SqliteDatabase) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS ( SELECT 1 UNION ALL SELECT i + 1 FROM n ) SELECT i FROM n "
        "WHERE FUNC_VQA('Is there a PICC?', i)"
    )
    with pytest.raises(LimitExceeded):
        neuralsql.run(
            endless, database, as_of=AS_OF, limits=Limits(seconds=0.3), graphs=Vqa(Labels())
        )


def test_what_cannot_be_seen_is_declined_before_any_image(database: SqliteDatabase) -> None:
    source = Labels(seen=(EDEMA,))
    for question, kind in (
        ("Is there a PICC?", "not_covered"),
        ("Is there an air bronchogram?", "unknown_finding"),
        ("List all abnormalities.", "partly_covered"),
    ):
        with pytest.raises(NotAnswered) as caught:
            rows(database, f"SELECT FUNC_VQA('{question}', study_id) FROM tb_cxr", source)
        assert caught.value.reason.kind == kind
    assert source.batches == []


def test_partly_seen_a_yes_stands_and_a_no_does_not(database: SqliteDatabase) -> None:
    source = Labels(seen=(EDEMA,))
    abnormal = (
        "SELECT {} FROM tb_cxr WHERE subject_id = {} AND FUNC_VQA('Is it abnormal?', study_id)"
    )
    assert rows(database, abnormal.format("COUNT(*) > 0", 1), source) == [1]
    for what, patient in (("COUNT(*)", 1), ("COUNT(*) > 0", 2), ("COUNT(*) = 0", 3)):
        with pytest.raises(NotAnswered) as caught:
            rows(database, abnormal.format(what, patient), source)
        assert caught.value.reason.kind == "partly_covered"


def test_undecided_answers_that_hide_each_other_are_found(database: SqliteDatabase) -> None:
    """Both as no, or both as yes, this is 0; one of each, it is 1."""
    sql = "SELECT FUNC_VQA('Is it abnormal?', 504) AND NOT FUNC_VQA('Is it abnormal?', 506)"
    with pytest.raises(NotAnswered):
        rows(database, sql, Labels(seen=(EDEMA,)))


def test_a_study_without_an_image_is_reported_and_the_rest_answered(
    database: SqliteDatabase,
) -> None:
    source = Labels(without=(502,))
    sql = "SELECT study_id FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) = {}"
    for answer, expected in ((1, [505]), (0, [501, 503, 504, 506])):
        done = neuralsql.execute(sql.format(answer), database, as_of=AS_OF, graphs=Vqa(source))
        assert [row[0] for row in done.result.rows] == expected
        assert done.missing == (502,)
    with pytest.raises(NotAnswered) as caught:
        rows(database, "SELECT FUNC_VQA('Is there a PICC?', 502)", source)
    assert caught.value.reason.kind == "no_image"


def test_evidence_names_studies_findings_and_places(database: SqliteDatabase) -> None:
    reader = Vqa(Labels())
    sql = "SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) = 1"
    done = neuralsql.execute(sql, database, as_of=AS_OF, graphs=reader)
    found = neuralsql.image_evidence(done, reader)
    assert found[0] == {
        "kind": "image",
        "study_id": 502,
        "finding": "picc",
        "location": "svc",
        "probability": 1.0,
    }
    assert [item["study_id"] for item in found[:2]] == [502, 505]
    assert len(neuralsql.image_evidence(done, reader, most=1)) == 1


@pytest.mark.parametrize(
    "study",
    ["'x'", "1e30", "1e400", "2.5", "9" * 30, "9" * 5000, "datetime('2100-01-01')", "'\u00b2'"],
)
def test_what_is_no_study_is_refused_and_is_no_no(database: SqliteDatabase, study: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        rows(database, f"SELECT FUNC_VQA('Is there a PICC?', {study})")
    assert "\n" not in str(raised.value)
    assert rows(database, "SELECT FUNC_VQA('Is there a PICC?', NULL)") == [None]


def test_a_call_is_no_table(database: SqliteDatabase) -> None:
    for sql in (
        "SELECT study_id FROM tb_cxr FUNC_VQA('Is there a PICC?', study_id)",
        "SELECT * FROM FUNC_VQA('Is there a PICC?', 501)",
    ):
        with pytest.raises(DatabaseError):
            rows(database, sql)
