"""A small made-up tree of every benchmark, in the data set's own layout.

``TREES[name](folder)`` writes one and returns the arguments of ``ehrqa eval`` that measure it.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ehrqa_cli.ehr import schema

Args = list[str]
SCOLIOSIS = 'select study_id from tb_cxr where func_vqa("is there scoliosis?", study_id) = true'
NOTE = "Seen today.\nFurosemide 40 mg daily.\nHe smokes a pack a day.\n"


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def ehr(folder: Path) -> Path:
    """Two patients, three creatinine values of the first, who has two chest X-ray studies."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ehr.sqlite"
    with sqlite3.connect(path) as connection:
        for table in (*schema.TABLES, *schema.OPTIONAL_TABLES):
            connection.execute(table.ddl())
        connection.executemany(
            "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, ?)",
            [(0, 101, "f", "2050-01-02 00:00:00"), (1, 102, "m", "2040-03-04 00:00:00")],
        )
        connection.executemany(
            "INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum,"
            " valueuom) VALUES (?, 101, 1001, 50912, ?, ?, 'mg/dl')",
            [
                (0, "2100-02-02 08:00:00", 1.1),
                (1, "2100-02-03 08:00:00", 2.75),
                (2, "2100-02-04 08:00:00", 0.9),
            ],
        )
        connection.executemany(
            "INSERT INTO tb_cxr VALUES (?, 101, 1001, ?, ?, '2100-02-02 08:00:00', 'pa')",
            [(s, s, f"i{s}") for s in (501, 502)],
        )
    connection.close()
    return path


def labels(folder: Path) -> Path:
    """Study 501 has scoliosis, 502 has none."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{s}\tspine\tscoliosis\tanatomicalfinding\t{p}\n" for s, p in _PRESENT)
    head = "study_id\tobject\tattribute\tcategory\tpresent\n"
    with gzip.open(folder / "scene_graph.tsv.gz", "wt", encoding="utf-8") as file:
        file.write(head + rows)
    studies = "".join(f"{s}\ti{s}\tPA\tfemale\t0.5\t\n" for s, _ in _PRESENT)
    (folder / "studies.tsv").write_text("study_id\timage_id\tview\tgender\tctr\tmtr\n" + studies)
    return folder


_PRESENT = ((501, 1), (502, 0))


def ehrsql_2024(folder: Path) -> Args:
    """Six questions, of which two have no answer, in train and in valid."""
    golds = {
        "a": "SELECT COUNT(*) FROM patients",
        "b": "SELECT valuenum FROM labevents WHERE subject_id = 101",
        "c": "SELECT gender FROM patients WHERE subject_id = 102",
        "d": "SELECT AVG(valuenum) FROM labevents",
        "e": None,
        "f": None,
    }
    texts = {"e": "who is on call?", "f": "what is the phone number of patient 101?"}
    for split in ("train", "valid"):
        entries = [
            {"id": f"{split}{k}", "question": texts.get(k, f"question {k} of {split}")}
            for k in golds
        ]
        write_json(folder / split / "data.json", {"version": f"{split}_v1", "data": entries})
        said = {f"{split}{k}": sql or "null" for k, sql in golds.items()}
        write_json(folder / split / "label.json", said)
        noted = [{"id": f"{split}{k}", "template": f"template {k}"} for k in golds]
        write_json(folder / split / "annotated.json", noted)
    return ["ehrsql", "--data", str(folder), "--split", "valid", "--db", str(ehr(folder))]


def ehrsql_2022(folder: Path) -> Args:
    """As the repository lays it out: lower case throughout, the years' formats too."""
    queries = {
        "what is the intake method of aspirin?": (
            "select distinct prescriptions.route from prescriptions where"
            " prescriptions.drug = 'aspirin'"
        ),
        "how many patients were admitted in 2105?": (
            "select count( distinct admissions.subject_id ) from admissions where"
            " strftime('%y',admissions.admittime) = '2105'"
        ),
        "how many days have passed since patient 7 was admitted?": (
            "select 1 * ( strftime('%j',current_time) - strftime('%j',admissions.admittime) )"
            " from admissions where admissions.subject_id = 7"
        ),
        "what is the number of admissions this year?": (
            "select count(*) from admissions where datetime(admissions.admittime,'start of year')"
            " = datetime(current_time,'start of year','-0 year')"
        ),
        "who wrote this?": "nan",
    }
    rows = [
        {
            "db_id": "mimic_iii",
            "question": question,
            "template": question,
            "query": query,
            "value": {},
            "q_tag": f"tag {k}",
            "t_tag": ["", "", "", "", ""],
            "o_tag": [""] * 9,
            "tag": f"tag {k}",
            "department": "['critical care']",
            "importance": "medium",
            "para_type": "machine",
            "is_impossible": query == "nan",
            "split": "valid",
            "id": f"{k:024x}",
        }
        for k, (question, query) in enumerate(queries.items())
    ]
    for split in ("train", "valid", "test"):
        write_json(folder / "dataset" / "ehrsql" / "mimic_iii" / f"{split}.json", rows)
    path = folder / "mimic_iii.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE prescriptions (row_id INT, drug TEXT, route TEXT)")
        connection.execute("CREATE TABLE admissions (row_id INT, subject_id INT, admittime TEXT)")
        connection.execute("INSERT INTO prescriptions VALUES (1, 'aspirin', 'po')")
        connection.executemany(
            "INSERT INTO admissions VALUES (?, ?, ?)",
            [(1, 7, "2105-12-21 23:59:00"), (2, 8, "2104-03-01 10:00:00")],
        )
    connection.close()
    args = ["ehrsql", "--data", str(folder), "--split", "valid", "--db", str(path)]
    return [*args, "--as-of", "2105-12-31 23:59:00"]


def ehrxqa(folder: Path) -> Args:
    known = [
        (
            "how many patients are there?",
            "Count the number of current patients.",
            "SELECT COUNT(DISTINCT patients.subject_id) FROM patients",
            [2],
        ),
        (
            "which studies have scoliosis?",
            "List the IDs of studies indicating ${attribute}.",
            SCOLIOSIS,
            [501],
        ),
        (
            "has study 501 scoliosis?",
            "Given the {study_id} study, is there ${attribute}?",
            'select func_vqa("is there scoliosis?", study_id) = true from tb_cxr'
            " where study_id = 501",
            ["yes"],
        ),
    ]
    rows: list[dict[str, Any]] = [
        {
            "db_id": "mimic_iv_cxr",
            "split": "test",
            "id": k,
            "question": question,
            "template": template,
            "query": query,
            "value": {},
            "q_tag": template,
            "is_impossible": False,
            "answer": answer,
        }
        for k, (question, template, query, answer) in enumerate(known)
    ]
    none = {"question": "who wrote this?", "template": "x", "q_tag": "x", "query": "nan"}
    rows.append({"id": 3, **none, "is_impossible": True, "answer": None})
    write_json(folder / "dataset" / "mimic_iv_cxr" / "test.json", rows)
    write_json(folder / "dataset" / "mimic_iv_cxr" / "train.json", _training(rows))
    args = ["ehrxqa", "--data", str(folder), "--split", "test", "--db", str(ehr(folder))]
    return [*args, "--scene-graphs", str(labels(folder / "labels"))]


def _training(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "id": 100 + row["id"], "question": f"{row['question']} now"} for row in rows]


def mimic_cxr_vqa(folder: Path) -> Args:
    asked = [
        ("Is there scoliosis in the spine?", ["yes"], "i501", "verify"),
        ("Is there scoliosis in the spine?", ["no"], "i502", "verify"),
        ("List all anatomical findings.", ["scoliosis"], "i501", "query"),
    ]
    rows = [
        {
            "split": "test",
            "idx": k,
            "subject_id": 101,
            "study_id": int(image[1:]),
            "image_id": image,
            "image_path": f"p10/p101/s{image[1:]}/{image}.jpg",
            "question": question,
            "answer": answer,
            "content_type": "presence",
            "semantic_type": kind,
            "template": "Is there ${attribute} in the ${object}?",
            "template_program": f"program_{2 + (kind == 'query')}",
            "template_arguments": {"object": {"0": "spine"}, "attribute": {"0": "scoliosis"}},
        }
        for k, (question, answer, image, kind) in enumerate(asked)
    ]
    write_json(folder / "test.json", rows)
    write_json(folder / "train.json", [{**row, "answer": ["yes"]} for row in rows[:2]])
    args = ["mimic-cxr-vqa", "--data", str(folder), "--split", "test", "--db", str(ehr(folder))]
    return [*args, "--scene-graphs", str(labels(folder / "labels"))]


def ehrnoteqa(folder: Path) -> Args:
    """PhysioNet's EHRNoteQA.jsonl beside MIMIC-IV-Note's discharge.csv.gz."""
    options = {
        f"choice_{x}": f"{d} mg" for x, d in zip("ABCDE", (20, 40, 60, 80, 100), strict=True)
    }
    rows = [
        {
            "id": k,
            "patient_id": 10000007 + k,
            "category": "treatment",
            "num_notes": 1,
            "note_1": f"{10000007 + k}-DS-1",
            "question": "What dose of furosemide does he take?",
            **options,
            "answer": "B",
            "clinician": "a",
        }
        for k in range(3)
    ]
    write_lines(folder / "EHRNoteQA.jsonl", rows)
    head = "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text\n"
    lines = [
        f'{10000007 + k}-DS-1,{10000007 + k},2000{k},DS,1,2180-01-0{k + 1} 00:00:00,,"{NOTE}"\n'
        for k in range(3)
    ]
    with gzip.open(folder / "discharge.csv.gz", "wt", encoding="utf-8") as file:
        file.write(head + "".join(lines))
    return ["ehrnoteqa", "--data", str(folder), "--notes", str(folder / "discharge.csv.gz")]


def emrqa(folder: Path) -> Args:
    def question(text: str, evidence: str, entity: str) -> dict[str, Any]:
        answer = {"answer_entity_type": "single", "text": entity, "evidence": evidence}
        answer["evidence_start"] = NOTE.index(evidence)  # type: ignore[assignment]
        return {"id": [[text, text]], "question": [text], "answers": [answer]}

    qas = [
        question("dose of furosemide ?", "Furosemide 40 mg daily.", "40 mg"),
        question("does he smoke ?", "He smokes a pack a day.", "pack"),
    ]
    paragraphs = [{"note_id": k, "context": NOTE, "qas": qas} for k in (1, 2)]
    write_json(folder / "data.json", {"data": [{"title": "medication", "paragraphs": paragraphs}]})
    return ["emrqa", "--data", str(folder), "--task", "evidence"]


def spider(folder: Path) -> Args:
    folder.mkdir(parents=True, exist_ok=True)
    golds = [
        "SELECT name FROM singer WHERE age > 35",
        "SELECT name , age FROM singer ORDER BY age",
        "SELECT count(*) FROM singer",
        "SELECT name FROM singer WHERE age = (SELECT max(age) FROM singer)",
    ]
    (folder / "gold.txt").write_text("".join(f"{sql}\tshows\n" for sql in golds))
    entry = {
        "db_id": "shows",
        "table_names_original": ["Singer"],
        "column_names_original": [[-1, "*"], [0, "Singer_ID"], [0, "Name"], [0, "Age"]],
        "foreign_keys": [],
    }
    write_json(folder / "tables.json", [entry])
    (folder / "database" / "shows").mkdir(parents=True)
    with sqlite3.connect(folder / "database" / "shows" / "shows.sqlite") as connection:
        connection.execute("CREATE TABLE singer (singer_id INTEGER, name TEXT, age INTEGER)")
        connection.executemany("INSERT INTO singer VALUES (?, ?, ?)", [(1, "A", 30), (2, "B", 40)])
    connection.close()
    args = ["spider", "--gold", str(folder / "gold.txt"), "--tables", str(folder / "tables.json")]
    return [*args, "--databases", str(folder / "database")]


def abstention(folder: Path) -> Args:
    args = ehrsql_2024(folder)
    data, db = args[args.index("--data") + 1], args[args.index("--db") + 1]
    return ["abstention", "--data", data, "--db", db, "--split", "4-4-1", "--tables", "2,3"]


TREES: dict[str, Callable[[Path], Args]] = {
    "spider": spider,
    "ehrsql-2022": ehrsql_2022,
    "ehrsql-2024": ehrsql_2024,
    "abstention": abstention,
    "ehrxqa": ehrxqa,
    "mimic-cxr-vqa": mimic_cxr_vqa,
    "ehrnoteqa": ehrnoteqa,
    "emrqa": emrqa,
}
