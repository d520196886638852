"""Forms about chest X-rays compiled, and run with labels in place of a vision model."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.images import NotAnswered, Relation
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES
from ehrqa_cli.evaluate.ehrxqa.forms import form_of
from ehrqa_cli.evaluate.rows import same_answer
from ehrqa_cli.logical_form import compile_sql, evidence_queries, parse
from ehrqa_cli.neuralsql import execute, run
from ehrqa_cli.vqa import OracleGraphs, Vqa

AS_OF = "2100-12-31 23:59:00"
EDEMA: Relation = ("left lung", "pulmonary edema/hazy opacity")
PICC: Relation = ("svc", "picc")
PNEUMONIA: Relation = ("left lung", "pneumonia")
OTHER_SIDE: Relation = ("right lung", "pneumonia")
ALL = (EDEMA, PICC, PNEUMONIA, OTHER_SIDE)
# study: patient, hospital visit, time, what is seen
STUDIES: dict[int, tuple[int, int | None, str, tuple[Relation, ...]]] = {
    501: (1, 11, "2100-05-01 10:00:00", (EDEMA,)),
    502: (1, 11, "2100-05-02 10:00:00", (EDEMA, PICC)),
    503: (1, None, "2100-06-03 10:00:00", (PICC,)),
    504: (2, 12, "2100-05-01 10:00:00", (PNEUMONIA, OTHER_SIDE)),
}
CASES: list[tuple[str, list[object]]] = [
    ('exists finding "picc" of ( study 502 )', [1]),
    ('none finding "picc" of ( study 502 )', [0]),
    ('exists finding "picc" of ( study 999 )', [None]),
    ('exists finding "picc" and "pneumonia" of ( study 502 )', [0]),
    ('exists finding "picc" or "pneumonia" at "svc" or "neck" of ( study 502 )', [1]),
    ('exists finding abnormality at "left lung" and "svc" of ( study 502 )', [1]),
    ('name finding "tubesandlines" or "disease" of ( study 504 )', ["pneumonia"]),
    ('name finding "picc" or "pneumonia" of ( study 502 )', ["picc"]),
    ('name finding abnormality at "svc" not "left lung" of ( last study patient 1 )', ["picc"]),
    ('place finding "picc" of ( last study patient 1 visit first )', ["svc"]),
    ('place finding abnormality at "svc" or "neck" of ( study 502 )', ["svc"]),
    ('place finding "picc" not "pneumonia" of ( study 502 )', ["svc"]),
    ("view last study patient 1", ["PA"]),
    ("sex study 501", ["female"]),
    ("exists wide_heart of ( study 501 )", [1]),
    ("exists wide_mediastinum of ( study 501 )", [0]),
    ('exists finding "picc" new of ( study 502 ) than previous', [1]),
    ('exists finding "picc" new of ( study 503 ) than previous', [0]),
    ('exists finding "picc" still_present of ( study 503 ) than ( study 502 )', [1]),
    ('exists finding "pneumonia" still_absent of ( study 502 ) than previous', [1]),
    ('exists finding "anatomicalfinding" resolved of ( last study patient 1 ) than previous', [1]),
    ('exists finding abnormality new of ( study 501 ) than previous', []),
    ('name finding abnormality new of ( study 501 ) than previous', []),
    ('name finding abnormality new of ( study 502 ) than previous', ["picc"]),
    (
        'name finding abnormality at "left lung" still_absent of ( study 502 ) than previous',
        ["pneumonia"],
    ),
    (
        'place finding "anatomicalfinding" resolved of ( study 503 ) than ( study 502 )',
        ["left lung"],
    ),
    ('count study showing ( "picc" ) patient 1', [2]),
    ('time first study showing ( "picc" at "svc" ) patient 1', ["2100-05-02 10:00:00"]),
    ('exists study showing ( "pneumonia" ) patient 1', [0]),
    ("patients study showing ( abnormality ) in \"2100-05\"", [1, 2]),
    ('count_patients study showing ( "picc" or "pneumonia" )', [2]),
    ('patients study showing ( "picc" ) visit last', [1]),
    ('count_patients study showing ( abnormality ) visit current', [0]),
    ('count_patients study showing ( abnormality ) female aged "50-59"', [1]),
    ('exists dx patient 1 with ( study showing ( "picc" ) ) samevisit', [1]),
    ('exists study showing ( "picc" ) patient 1 after ( dx ) within "2 day"', [1]),
    ("top 1 finding abnormality of ( study )", ["lung opacity"]),  # it is seen with either
    ('top 2 finding "tubesandlines" or "disease" of ( study )', ["picc", "pneumonia"]),
    ('top 1 finding abnormality at "left lung" of ( study )', ["pulmonary edema/hazy opacity"]),
    ('top 3 finding "picc" or "pneumonia" of ( study female )', ["picc"]),
    ('count finding "tubesandlines" or "disease" of ( study ) by name most 1 keys', ["picc"]),
    ('count finding abnormality at "left lung" of ( study ) by name most 1 values', [2]),
    ('count finding abnormality of ( study patient 2 ) by name values', [1, 1, 1]),
    ('avg_age study showing ( "picc" )', [50.0]),
    ('count_patients study showing ( "picc" ) by age_band keys', ["50-59"]),
    ('exists dx patient 1 after ( study showing ( "picc" ) ) samevisit', [0]),
    ("value heart 501", [0.51]),
    ("value heart 999", []),
    ("value last heart patient 1", [0.53]),
    ("value last mediastinum patient 1", [0.3]),
    ("( value heart 503 ) minus ( value heart 501 )", [pytest.approx(0.02)]),
    ("change heart patient 1", [pytest.approx(0.02)]),
    ("name highest heart", [504]),
    ("name also value also view heart most 2", [503, 504]),
    ("( count heart over 0.52 pa ) percent ( count study pa )", [pytest.approx(100 * 2 / 3)]),
    ("count heart over 0.52 under 0.54 female", [1]),
    ("avg heart by gender values", [pytest.approx(0.52), 0.54]),
    ("max heart by view keys", ["AP", "PA"]),
    ("count study by view values", [1, 3]),
    ("exists dx patient 1 with ( heart over 0.515 ) samevisit", [1]),
    ('side finding "pneumonia" of ( study 504 )', ["left", "right"]),
    ('side finding "pulmonary edema/hazy opacity" of ( study 501 )', ["left"]),
    ('side finding "picc" of ( study 502 )', []),
    ('name study bilateral ( "pneumonia" )', [504]),
    ('count study bilateral ( "pneumonia" or "pulmonary edema/hazy opacity" ) visit 11', [0]),
    ('name study showing ( "picc" ) patient 1', [502, 503]),
    ('name also time study showing ( "picc" ) patient 1', [502, 503]),
    ("name last study patient 1", [503]),
    ("name study visit 11", [501, 502]),
    ("count study outside", [1]),
    ("count dx visit 11", [1]),
    ("exists dx during ( admission involving ( study 502 ) )", [1]),
    ("exists admission after_end ( admission involving ( study 501 ) ) within \"30 day\"", [0]),
    ("age study 501", [50]),
]  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    path = tmp_path_factory.mktemp("ehr") / "ehr.sqlite"
    connection = sqlite3.connect(path)
    for table in (*schema.TABLES, *schema.OPTIONAL_TABLES):
        connection.execute(table.ddl())
    connection.executemany(
        "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, '2050-01-01')",
        [(1, 1, "f"), (2, 2, "m")],
    )
    connection.executemany(
        "INSERT INTO admissions (row_id, subject_id, hadm_id, admittime, dischtime, admission_type,"
        " admission_location, discharge_location, insurance, language, marital_status, age)"
        " VALUES (?, ?, ?, ?, ?, 'urgent', 'emergency room', 'home',"
        " 'medicare', 'english', 'married', 50)",
        [
            (1, 1, 11, "2100-05-01 08:00:00", "2100-05-09 08:00:00"),
            (2, 2, 12, "2100-05-01 08:00:00", "2100-05-09 08:00:00"),
        ],
    )
    connection.execute(
        "INSERT INTO diagnoses_icd (row_id, subject_id, hadm_id, icd_code, charttime)"
        " VALUES (1, 1, 11, 'x', '2100-05-01 12:00:00')"
    )
    connection.executemany(
        "INSERT INTO tb_cxr VALUES (?, ?, ?, ?, ?, ?, 'pa')",
        [(s, who, visit, s, f"i{s}", at) for s, (who, visit, at, _) in STUDIES.items()],
    )
    connection.commit()
    connection.close()
    found = SqliteDatabase.open(path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Vqa:
    folder = tmp_path_factory.mktemp("labels")
    others = set(ATTRIBUTES) - {name for _, name in ALL}
    listed = [*ALL, *(("trachea", name) for name in sorted(others))]  # a small ontology, complete
    lines = ["study_id\tobject\tattribute\tcategory\tpresent"]
    for study, (*_, seen) in STUDIES.items():
        lines += [f"{study}\t{o}\t{a}\tx\t{int((o, a) in seen)}" for o, a in listed]
    (folder / "scene_graph.tsv").write_text("\n".join(lines) + "\n")
    more = [
        f"{s}\ti{s}\t{'AP' if s == 502 else 'PA'}\tfemale\t0.{s - 450}\t{(s - 500) / 10}"
        for s in STUDIES
    ]
    head = "study_id\timage_id\tview\tgender\tctr\tmtr"
    (folder / "studies.tsv").write_text("\n".join([head, *more]) + "\n")
    return Vqa(OracleGraphs.open(folder))


@pytest.mark.parametrize(("form", "expected"), CASES)
def test_form(form: str, expected: list[object], database: SqliteDatabase, reader: Vqa) -> None:
    result, _ = run(compile_sql(parse(form)), database, as_of=AS_OF, graphs=reader)
    assert sorted((row[0] for row in result.rows), key=str) == expected


def test_evidence_is_the_study_itself(database: SqliteDatabase, reader: Vqa) -> None:
    form = parse('exists finding "picc" of ( last study patient 1 )')
    ((table, sql),) = evidence_queries(form)
    result, _ = run(sql, database, as_of=AS_OF, graphs=reader)
    assert (table, result.rows) == ("tb_cxr", ((503,),))


@pytest.mark.parametrize(
    "form",
    [
        'exists finding "picc"',
        'exists finding "air bronchogram" of ( study 1 )',
        'exists finding "picc" at "knee" of ( study 1 )',
        'exists finding "picc" and "pneumonia" or "hernia" of ( study 1 )',
        "exists finding #1 of ( study 1 )",
    ],
)
def test_forms_without_a_query(form: str) -> None:
    with pytest.raises(FormError):
        compile_sql(parse(form))


def test_one_instance_of_every_template_is_right(shared_data: Path) -> None:
    """168 image and 75 image+table templates, the first question of each, with the labels."""
    folder = shared_data / "ehrxqa-open"
    reader = Vqa(OracleGraphs.open(folder))
    database = SqliteDatabase.open(folder / "mimic_iv_cxr.sqlite")
    text = (folder / "questions.jsonl").read_text(encoding="utf-8")
    first: dict[str, dict[str, object]] = {}
    for row in map(json.loads, text.splitlines()):
        if row["answerable"]:
            first.setdefault(row["template"], row)
    assert len(first) == 243
    wrong = []
    for template, row in first.items():
        form = form_of(template, row["template_text"])
        try:
            done = execute(compile_sql(parse(form)), database, as_of=AS_OF, graphs=reader)
        except NotAnswered:
            wrong.append(row["id"])
            continue
        gold = [value if isinstance(value, list) else [value] for value in row["answer"]]
        if not same_answer(done.result.rows, gold):
            wrong.append(row["id"])
    database.close()
    assert not wrong
