"""An answer that hangs on a name which fits other items too says so, or is withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.engine import ask
from ehrqa_cli.text2sql.linking import Linker

from .fakes import MemoryDatabase, form, session

STROKE = "cerebral artery occlusion, unspecified with cerebral infarction"
TEXTS = ("admission_location", "admission_type", "discharge_location", "insurance", "language",
         "marital_status")  # fmt: skip
ROWS = """
CREATE TABLE d_icd_diagnoses (row_id, icd_code, long_title);
CREATE TABLE diagnoses_icd (row_id, subject_id, hadm_id, icd_code, charttime);
CREATE TABLE icustays
 (row_id, subject_id, hadm_id, stay_id, first_careunit, intime, outtime);
CREATE TABLE d_items (row_id, itemid, label, abbreviation, linksto);
CREATE TABLE inputevents (row_id, subject_id, hadm_id, stay_id, starttime, itemid, totalamount);
CREATE TABLE outputevents (row_id, subject_id, hadm_id, stay_id, charttime, itemid, value);
INSERT INTO patients VALUES (2, 8, 'm', '2040-01-01', NULL), (3, 9, 'm', '2040-01-01', NULL);
INSERT INTO admissions VALUES (2, 8, 80, '2100-02-01', '2100-02-05', 60),
 (3, 9, 90, '2100-02-01', '2100-02-05', 60);
INSERT INTO icustays VALUES (1, 8, 80, 800, 'micu', '2100-02-01', '2100-02-04'),
 (2, 9, 90, 900, 'micu', '2100-02-01', '2100-02-04');
INSERT INTO d_icd_diagnoses VALUES (1, 'a', 'sepsis'), (2, 'b', 'severe sepsis'),
 (3, 'c', 'personal history of gout'), (4, 'd', 'gout, unspecified'),
 (5, 'e', 'sepsis, unspecified organism'), (6, 'f', 'other abnormal glucose');
INSERT INTO diagnoses_icd VALUES (1, 7, 70, 'a', '2100-01-01'), (2, 8, 80, 'b', '2100-02-01'),
 (3, 9, 90, 'e', '2100-02-01'), (4, 8, 80, 'd', '2100-02-01'), (5, 9, 90, 'c', '2100-02-01'),
 (6, 9, 90, 'f', '2100-02-01');
INSERT INTO prescriptions VALUES (1, 7, 70, '2100-01-02', NULL, 'heparin', 'iv'),
 (2, 8, 80, '2100-02-02', NULL, 'heparin flush', 'iv'),
 (3, 8, 80, '2100-02-02', NULL, 'potassium chloride', 'iv'),
 (4, 7, 70, '2100-02-02', NULL, 'aspirin', 'po'),
 (5, 8, 80, '2100-02-02', NULL, 'potassium phosphate', 'iv');
INSERT INTO d_items VALUES (1, 1, 'heparin sodium', 'h', 'inputevents'),
 (2, 2, 'foley', 'f', 'outputevents'), (3, 3, 'void', 'v', 'outputevents');
INSERT INTO inputevents VALUES (1, 9, 90, 900, '2100-02-02', 1, 5.0);
INSERT INTO outputevents VALUES (1, 8, 80, 800, '2100-02-02', 2, 100.0),
 (2, 9, 90, 900, '2100-02-02', 2, 200.0), (3, 9, 90, 900, '2100-02-02', 3, 50.0);
INSERT INTO d_labitems VALUES (2, 501, 'ph'), (3, 502, 'ph'), (4, 503, 'potassium'),
 (5, 504, 'glucose');
INSERT INTO labevents VALUES (21, 8, 80, 501, '2100-02-02', 7.3, 'units'),
 (22, 9, 90, 501, '2100-02-02', 7.4, 'units'), (23, 9, 90, 502, '2100-02-03', 6.0, 'units'),
 (24, 7, 70, 503, '2100-01-03', 4.0, 'meq/l'), (25, 7, 70, 504, '2100-01-03', 90.0, 'mg/dl');
"""


class Hospital(MemoryDatabase):
    """Three patients; names that are parts of others, or stand in two tables."""

    def __init__(self) -> None:
        super().__init__()
        self.connection.executescript(ROWS)
        for column in TEXTS:
            self.connection.execute(f"ALTER TABLE admissions ADD {column}")
        self.connection.execute("INSERT INTO d_icd_diagnoses VALUES (9, 'z', ?)", (STROKE,))
        self.connection.execute("INSERT INTO diagnoses_icd VALUES (9, 8, 80, 'z', '2100-02-01')")

    def schema(self) -> Mapping[str, Sequence[str]]:
        names = self.connection.execute("SELECT name FROM sqlite_master").fetchall()
        columns = {}
        for (table,) in names:
            found = self.connection.execute(f"PRAGMA table_info({table})").fetchall()
            columns[table] = [row[1] for row in found]
        return columns


def asked(question: str, written: str) -> Answer:
    database = Hospital()
    linker = Linker(ValueIndex.build(database))
    query = form(written, max_entropy=0.1)
    return ask(Question(question), session(query, database=database, linker=linker))


def test_a_whole_name_says_what_was_counted_and_what_was_not() -> None:
    answer = asked("how many patients received heparin?", "count_patients rx #1")
    assert (answer.status, answer.value) == (Status.ANSWERED, 1)
    assert "Counted: only “heparin” (prescribed)." in answer.text
    assert "Not counted: heparin flush; heparin sodium (infused). With them it is 3." in answer.text


def test_what_was_prescribed_was_not_infused() -> None:
    answer = asked("how many patients were prescribed heparin?", "count_patients rx #1")
    assert "Not counted: heparin flush. With them it is 2." in answer.text


def test_nothing_is_said_where_it_makes_no_difference() -> None:
    answer = asked("how many patients received aspirin?", "count_patients rx #1")
    assert answer.value == 1 and "ounted" not in answer.text
    yes = asked("was patient 7 given heparin?", "exists rx #2 patient #1")
    assert yes.value == 1 and "ounted" not in yes.text


def test_a_no_that_other_names_make_a_yes_is_withheld() -> None:
    answer = asked("was patient 8 given heparin?", "exists rx #2 patient #1")
    assert answer.reason_kind == "ambiguous_name"
    assert "There is nothing under exactly “heparin”, but under heparin flush" in answer.text


def test_a_disease_that_is_part_of_other_titles_is_withheld() -> None:
    answer = asked("how many patients had sepsis?", "count_patients dx #1")
    assert (answer.status, answer.reason_public) == (Status.ABSTAINED, "ambiguous")
    assert "“sepsis” fits 3 diagnoses here: sepsis; sepsis, unspecified" in answer.text


def test_in_quotes_it_is_that_title() -> None:
    answer = asked('how many patients had "sepsis"?', "count_patients dx #1")
    assert answer.value == 1
    assert "Counted: only “sepsis”. Not counted: sepsis, unspecified organism" in answer.text


def test_a_whole_title_has_no_others() -> None:
    answer = asked("how many patients had sepsis, unspecified organism?", "count_patients dx #1")
    assert answer.value == 1 and "ounted" not in answer.text


def test_a_history_is_not_the_disease() -> None:
    answer = asked("how many patients had gout?", "count_patients dx #1")
    assert answer.value == 1 and "ounted" not in answer.text


def test_a_lab_of_that_name_is_not_what_was_given() -> None:
    answer = asked("which patients were given potassium?", "patients lab #1")
    assert answer.reason_kind == "ambiguous_name"
    assert "potassium; potassium chloride (prescribed)" in answer.text
    measured = asked("which patients had a potassium test?", "patients lab #1")
    assert measured.value == 7


def test_an_abnormal_result_is_no_diagnosis() -> None:
    answer = asked("how many patients had an abnormal glucose?", "count_patients dx #1")
    assert answer.reason_kind == "ambiguous_name"
    assert "glucose (lab test)" in answer.text


def test_none_under_the_title_that_a_lay_name_was_taken_for() -> None:
    answer = asked("did patient 7 have a stroke?", "exists dx #2 patient #1")
    assert answer.reason_kind == "ambiguous_name"
    assert "“stroke” may be recorded under other titles" in answer.text
    yes = asked("did patient 8 have a stroke?", "exists dx #2 patient #1")
    assert yes.value == 1


def test_a_result_of_another_specimen_is_withheld() -> None:
    answer = asked("last ph of patient 9", "value last lab #1 patient #2")
    assert answer.reason_kind == "ambiguous_name"
    assert "“ph” is the name of 2 lab items here" in answer.text
    other = asked("last ph of patient 8", "value last lab #1 patient #2")
    assert other.value == 7.3


def test_urine_is_all_its_outputs() -> None:
    answer = asked("total urine output of patient 9", "sum output #1 patient #2")
    assert answer.reason_kind == "ambiguous_name"
    assert "foley; void" in answer.text
    one = asked("total urine output of patient 8", "sum output #1 patient #2")
    assert one.value == 100.0
