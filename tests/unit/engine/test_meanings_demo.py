"""What clinical words mean in the MIMIC-IV demo: gold by SQL of its own over the raw files."""

from __future__ import annotations

import csv
import gzip
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli import Answer, Session, Status, open_session
from ehrqa_cli.ehr.mimic.importer import import_mimic

FILES = (
    "hosp/diagnoses_icd", "hosp/d_icd_diagnoses", "hosp/labevents", "hosp/d_labitems",
    "hosp/emar", "icu/inputevents", "icu/outputevents", "icu/d_items",
)  # fmt: skip
# Events of the emar by which the drug reached the patient.
GIVEN = (
    "(event_txt LIKE '%Administered%' OR event_txt LIKE 'Started%' OR event_txt LIKE 'Restarted%'"
    " OR event_txt LIKE 'Applied%') AND event_txt NOT LIKE 'Not %'"
)
TITLED = (
    "SELECT COUNT(DISTINCT subject_id) FROM diagnoses_icd"
    " JOIN d_icd_diagnoses USING (icd_code, icd_version) WHERE "
)
URINE = "'Foley', 'Void', 'Condom Cath', 'Straight Cath', 'OR Urine', 'PACU Urine'"
POTASSIUM = "'Potassium Chloride', 'KCL (Bolus)', 'KCl (CRRT)', 'K Phos'"


def _of_patient(patient: int, fluid: str) -> str:
    return (
        "SELECT CAST(valuenum AS REAL) FROM labevents JOIN d_labitems USING (itemid)"
        f" WHERE label = 'pH' AND fluid = '{fluid}' AND subject_id = '{patient}'"
        " ORDER BY charttime DESC LIMIT 1"
    )


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> Iterator[sqlite3.Connection]:
    """The files that the gold needs, each a table of texts."""
    with sqlite3.connect(":memory:") as connection:
        for path in FILES:
            _load(connection, shared_data / "mimic-iv-demo" / path)
        yield connection
    connection.close()


def _load(connection: sqlite3.Connection, path: Path) -> None:
    (source,) = path.parent.glob(f"{path.name}.csv*")
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    connection.execute(f"CREATE TABLE {path.name} ({', '.join(head)})")
    connection.executemany(f"INSERT INTO {path.name} VALUES ({', '.join('?' * len(head))})", rows)


@pytest.fixture(scope="module")
def demo(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The demo with all that its import keeps, opened."""
    pytest.importorskip("llama_cpp")
    out = tmp_path_factory.mktemp("demo") / "ehr.sqlite"
    import_mimic(shared_data / "mimic-iv-demo", out)
    with open_session(str(out), log=False) as session:
        yield session


def _asked(demo: Session, question: str) -> Answer:
    answer = demo.ask(question)
    assert answer.status is Status.ANSWERED, answer.reason or answer.error
    return answer


@pytest.mark.parametrize(
    ("question", "gold", "counted"),
    [
        ("How many patients had sepsis?",
         TITLED + "long_title LIKE '%sepsis%' OR long_title LIKE '%septicemia%'", 17),
        ("How many patients had respiratory failure?",
         TITLED + "long_title LIKE '%respiratory failure%'", 31),
        ("How many patients had a potassium test?",
         "SELECT COUNT(DISTINCT subject_id) FROM labevents JOIN d_labitems USING (itemid)"
         " WHERE label = 'Potassium'", 100),
        ("How many patients were given potassium?",
         "SELECT COUNT(*) FROM (SELECT subject_id FROM emar WHERE"
         f" (medication LIKE 'potassium %' OR medication = 'Neutra-Phos') AND {GIVEN} UNION"
         " SELECT subject_id FROM inputevents JOIN d_items USING (itemid)"
         f" WHERE label IN ({POTASSIUM}))", 73),
        ("What was the last pH of patient 10018081?", _of_patient(10018081, "Blood"), 7.5),
        ("What was the last urine pH of patient 10018081?", _of_patient(10018081, "Urine"), 6.0),
        ("What was the total urine output of patient 10005817?",
         "SELECT SUM(CAST(value AS REAL)) FROM outputevents JOIN d_items USING (itemid)"
         f" WHERE subject_id = '10005817' AND label IN ({URINE})", None),
        ("How much intake did patient 10020740 have on 03/12/2150?",
         "SELECT SUM(CAST(amount AS REAL)) FROM inputevents WHERE subject_id = '10020740'"
         " AND amountuom = 'ml' AND starttime LIKE '2150-03-12%'", 3981.03),
    ],
)  # fmt: skip
def test_the_answer_is_what_the_raw_files_have(
    demo: Session, raw: sqlite3.Connection, question: str, gold: str, counted: float | None
) -> None:
    ((wanted,),) = raw.execute(gold).fetchall()
    assert counted is None or wanted == pytest.approx(counted, abs=0.01)
    ((found,),) = _asked(demo, question).rows
    assert found == pytest.approx(wanted)


def test_what_is_in_several_units_is_not_added_up(demo: Session) -> None:
    answer = demo.ask("how much input did patient 10020740 get on 03/12/2150?")
    assert answer.status is Status.ABSTAINED
    assert "several units" in answer.reason


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many patients had sepsis?", "Sepsis: 17 codes ("),
        ("What was the last pH of patient 10018081?", "PH: ph (blood, blood gas)."),
        ("What was the total urine output of patient 10005817?", "Urine output: 6 items ("),
        ("How many patients were given potassium chloride?", "infused or administered."),
    ],
)
def test_the_answer_says_what_was_counted(demo: Session, question: str, said: str) -> None:
    answer = _asked(demo, question)
    assert said in answer.text
    assert [concept["members"] > 0 for concept in answer.concepts] == [True]
