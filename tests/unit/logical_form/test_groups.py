"""Groups, columns side by side, shares, intervals: right answers on a small made-up EHR."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form import (
    EOS,
    Machine,
    compile_sql,
    describe,
    evidence_queries,
    parse,
    print_form,
)

_TABLES = """
CREATE TABLE patients (row_id, subject_id, gender, dob, dod);
CREATE TABLE admissions (row_id, subject_id, hadm_id, admittime, dischtime, admission_type,
  admission_location, discharge_location, insurance, language, marital_status, age);
CREATE TABLE icustays (row_id, subject_id, hadm_id, stay_id, first_careunit, intime, outtime);
CREATE TABLE d_labitems (row_id, itemid, label);
CREATE TABLE labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum, valueuom);
CREATE TABLE prescriptions (row_id, subject_id, hadm_id, starttime, drug, route);
CREATE TABLE cost (row_id, subject_id, hadm_id, event_type, event_id, chargetime, cost);
INSERT INTO patients VALUES (1,1,'m','2040-01-01',NULL),(2,2,'f','2050-01-01','2100-03-09');
INSERT INTO admissions VALUES
 (1,1,11,'2100-01-01 00:00:00','2100-01-05 00:00:00','elective','x','home','medicare',
  'e','single',60),
 (2,1,12,'2100-02-01 00:00:00','2100-02-03 00:00:00','urgent','x','home','medicare','e',NULL,60),
 (3,2,13,'2100-03-01 00:00:00','2100-03-09 00:00:00','urgent','x','died','other',
  'e','married',50),
 (4,2,14,'2100-04-01 00:00:00',NULL,'urgent','x',NULL,'other','e','married',50);
INSERT INTO icustays VALUES
 (1,1,11,91,'micu','2100-01-01 12:00:00','2100-01-02 12:00:00'),
 (2,2,13,92,'sicu','2100-03-02 00:00:00','2100-03-04 00:00:00');
INSERT INTO d_labitems VALUES (1,5,'sodium');
INSERT INTO labevents VALUES
 (1,1,11,5,'2100-01-02 00:00:00',140,'meq'),(2,1,11,5,'2100-01-03 00:00:00',130,'meq'),
 (3,1,12,5,'2100-02-02 00:00:00',150,'meq'),(4,2,13,5,'2100-03-05 00:00:00',120,'meq');
INSERT INTO prescriptions VALUES
 (1,1,11,'2100-01-01 01:00:00','aspirin','po'),(2,1,11,'2100-01-02 01:00:00','heparin','iv'),
 (3,1,12,'2100-02-01 01:00:00','aspirin','po'),(4,2,13,'2100-03-01 01:00:00','aspirin','po');
INSERT INTO cost VALUES (1,1,11,'labevents',1,'2100-01-02',10.0),
 (2,1,11,'prescriptions',1,'2100-01-01',2.5),(3,2,13,'labevents',4,'2100-03-05',20.0);
"""
_ANSWERS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("count admission by marital", [("married", 2), ("single", 1)]),
    ("avg_total bill by insurance", [("medicare", 12.5), ("other", 20.0)]),
    (
        "( count discharge died by insurance ) percent ( count discharge by insurance )",
        [("medicare", 0.0), ("other", 100.0)],
    ),
    ("( min_age admission ) beside ( ( max_age admission ) beside ( count lab ) )", [(50, 60, 4)]),
    ('count admission type "elective" or "urgent" by admission_type most 1', [("urgent", 3)]),
    ("count admission by insurance percent", [("medicare", 50.0), ("other", 50.0)]),
    ("count rx by patients most 1", [(1, 3)]),
    ("count rx by patients least 1 keys", [(2,)]),
    ("count rx by name most 1 values", [(3,)]),
    ("count rx by visits avg", [(4 / 3,)]),
    ("count rx by visits over 1", [(11, 2)]),
    ("count admission by patients atleast 2 count", [(2,)]),
    ("avg lab by visits", [(11, 135.0), (12, 150.0), (13, 120.0)]),
    ("median lab", [(135.0,)]),
    ("median lab by patients", [(1, 140.0), (2, 120.0)]),
    ('min lab "sodium" patient 1 or 2 by patients least 1', [(2, 120)]),
    ("value last lab by patients", [(1, 150), (2, 120)]),
    ("value first lab by visits max", [(150,)]),
    ("sum bill by name", [("labevents", 30.0), ("prescriptions", 2.5)]),
    ("sum bill for_lab patient 2", [(20.0,)]),
    ("max_length admission by patients most 1", [(2, 8.0)]),
    ("avg_length in_hours icustay", [(36.0,)]),
    ("avg_age admission died", [(50.0,)]),
    ("max_age admission by patients most 1", [(1, 60)]),
    ('count admission longer "3 day"', [(2,)]),
    ("count admission alive", [(2,)]),
    ("visits admission died", [(13,)]),
    ("count admission aged_from 50 aged_to 59", [(2,)]),
    ("avg lab with ( discharge died ) samevisit", [(120.0,)]),
    ("avg_wait icustay after ( admission ) samevisit", [(0.75,)]),
    ("value also time last lab patient 1", [(150, "2100-02-02 00:00:00")]),
    ("patients also age admission", [(1, 60), (2, 50)]),
    ("name also route rx patient 2", [("aspirin", "po")]),
    ('count admission since "02-01"', [(3,)]),
    ("count admission in 3", [(1,)]),
    ('( count admission type "urgent" ) ratio ( count admission )', [(0.75,)]),
    ("( count admission died ) percent ( count admission )", [(25.0,)]),
    ("( count admission female ) plus ( count admission male )", [(4,)]),
    ("( time discharge died ) days_between ( time last lab patient 2 )", [(4.0,)]),
    ("( time discharge died ) hours_between ( time last lab patient 2 )", [(96.0,)]),
]


@pytest.fixture
def ehr() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(_TABLES)
    yield connection
    connection.close()


@pytest.mark.parametrize(("text", "rows"), _ANSWERS)
def test_answers(ehr: sqlite3.Connection, text: str, rows: list[tuple[Any, ...]]) -> None:
    form = parse(text)
    assert print_form(form) == text
    sql = compile_sql(form).replace("current_time", "'2100-12-31 23:59:00'")
    found = ehr.execute(sql).fetchall()
    assert sorted(map(repr, _round(found))) == sorted(map(repr, _round(rows)))
    assert "  " not in describe(form)


def _round(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [
        tuple(round(float(c), 6) if isinstance(c, (int, float)) else c for c in r) for r in rows
    ]


def test_the_machine_offers_groups_only_where_they_mean_something() -> None:
    machine = Machine([("lab",), ("pat",)])
    for word in ["sum", "per_month", "lab", "#1"]:
        machine.push(word)
    assert "by" not in machine.allowed()
    machine = Machine([("lab",), ("pat",)])
    for word in ["value", "last", "lab", "#1"]:
        machine.push(word)
    assert "by" in machine.allowed()
    for word in ["by", "patients"]:
        machine.push(word)
    assert EOS in machine.allowed()
    assert "most" in machine.allowed()


def test_a_wait_needs_the_event_it_is_counted_from() -> None:
    with pytest.raises(FormError, match="waiting time"):
        compile_sql(parse("avg_wait icustay"))


@pytest.mark.parametrize(("order", "expected"), [("last", [(3,)]), ("second_last", [])])
def test_the_only_time_is_not_the_second(order: str, expected: list[tuple[int]]) -> None:
    """SQLite (3.40) ignores OFFSET with DISTINCT where an index answers a scalar subquery."""
    ((_, sql),) = evidence_queries(parse(f"time {order} admission patient 1"))
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(
            """
            CREATE TABLE admissions (row_id, subject_id, hadm_id, admittime, dischtime);
            CREATE INDEX by_time ON admissions (subject_id, admittime);
            INSERT INTO admissions VALUES (3, 1, 10, '2100-01-01 00:00:00', '2100-01-02 00:00:00');
            """
        )
        assert db.execute(sql).fetchall() == expected
