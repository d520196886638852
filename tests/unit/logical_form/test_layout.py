"""Concepts in forms: their members are read from the tables that have them, as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form import Layout, bind, compile_sql, evidence_queries, parse

_TABLES = """
CREATE TABLE admissions (row_id, subject_id, hadm_id, admittime, dischtime, race);
CREATE TABLE prescriptions (row_id, subject_id, hadm_id, starttime, stoptime, drug, dose_val_rx,
  dose_unit_rx, route);
CREATE TABLE emar (row_id, subject_id, hadm_id, emar_id, charttime, medication, event_txt);
CREATE TABLE emar_detail (row_id, emar_id, dose_given, dose_given_unit, route);
CREATE TABLE inputevents (row_id, subject_id, hadm_id, stay_id, starttime, endtime, itemid, amount,
  amountuom, totalamount, totalamountuom);
CREATE TABLE d_items (row_id, itemid, label, linksto);
CREATE TABLE labevents (row_id, subject_id, hadm_id, itemid, charttime, value, valuenum, valueuom);
CREATE TABLE microbiologyevents (row_id, subject_id, hadm_id, charttime, spec_type_desc, test_name,
  org_name, micro_specimen_id, ab_name, interpretation);
INSERT INTO admissions VALUES (1, 1, 11, '2100-01-01 00:00:00', NULL, 'white'),
  (2, 2, 12, '2100-01-01 00:00:00', NULL, 'asian'),
  (3, 3, 13, '2100-01-01 00:00:00', NULL, 'asian');
INSERT INTO prescriptions VALUES
  (1, 1, 11, '2100-01-01 08:00:00', NULL, 'heparin', '5000', 'unit', 'sc'),
  (2, 1, 11, '2100-01-01 09:00:00', NULL, 'aspirin', '81', 'mg', 'po');
INSERT INTO emar VALUES
  (1, 2, 12, 'a', '2100-01-02 08:00:00', 'Heparin Sodium', 'Administered'),
  (2, 3, 13, 'b', '2100-01-02 08:00:00', 'Heparin Sodium', 'Not Given');
INSERT INTO emar_detail VALUES (1, 'a', NULL, NULL, NULL), (2, 'a', '5000', 'UNIT', 'SC');
INSERT INTO d_items VALUES (1, 225152, 'heparin sodium (prophylaxis)', 'inputevents');
INSERT INTO inputevents VALUES
  (1, 1, 11, 91, '2100-01-01 07:00:00', '2100-01-01 07:30:00', 225152, 1.5, 'dose', 500, 'ml');
INSERT INTO labevents VALUES (1, 1, 11, 50931, '2100-01-01 06:00:00', '110', 110, 'mg/dl'),
  (2, 1, NULL, 50931, '2100-01-03 06:00:00', NULL, NULL, 'mg/dl'),
  (3, 1, 11, 51478, '2100-01-02 06:00:00', 'NEG', NULL, 'mg/dl');
INSERT INTO microbiologyevents VALUES
  (1, 1, 11, '2100-01-01', 'blood culture', 'culture', 'e. coli', 7, 'cefepime', 'R'),
  (2, 1, 11, '2100-01-01', 'blood culture', 'culture', 'e. coli', 7, 'amikacin', 'S'),
  (3, 1, 11, '2100-01-01', 'blood culture', 'culture', NULL, 8, NULL, NULL),
  (4, 2, 12, '2100-01-01', 'blood culture', 'culture', 'CANCELLED', 9, NULL, NULL);
"""


def _items(*codes: tuple[str, str, str | int]) -> tuple[Item, ...]:
    return tuple(Item(table, column, code, str(code)) for table, column, code in codes)


_HEPARIN = Concept(
    "drug",
    "heparin",
    ("heparin",),
    _items(
        ("prescriptions", "drug", "heparin"),
        ("emar", "medication", "Heparin Sodium"),
        ("inputevents", "itemid", 225152),
    ),
)
_GLUCOSE = Concept("lab", "glucose", ("glucose",), _items(("labevents", "itemid", 50931)))
_URINE = Concept("lab", "urine glucose", (), _items(("labevents", "itemid", 51478)))
_BLOOD = Concept(
    "specimen",
    "blood culture",
    (),
    _items(("microbiologyevents", "spec_type_desc", "blood culture")),
)
_COLI = Concept("organism", "e. coli", (), _items(("microbiologyevents", "org_name", "e. coli")))


@pytest.fixture(scope="module")
def ehr() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        yield connection


def _layout(ehr: sqlite3.Connection) -> Layout:
    tables = [row[0] for row in ehr.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {
        t: frozenset(row[1] for row in ehr.execute(f"PRAGMA table_info({t})")) for t in tables
    }
    return Layout(columns, ehrsql=False)


def _rows(ehr: sqlite3.Connection, text: str, *concepts: Concept) -> list[tuple[Any, ...]]:
    links = [Link(0, 0, (c.kind,), c.name, concepts=(c,)) for c in concepts]
    return ehr.execute(compile_sql(bind(parse(text), links), _layout(ehr))).fetchall()


@pytest.mark.parametrize(
    ("form", "concepts", "rows"),
    [
        # ordered, administered and infused together; what was not given does not count
        ("patients rx #1", [_HEPARIN], [(1,), (2,)]),
        ("count_patients rx #1", [_HEPARIN], [(2,)]),
        ("time first rx #1 patient 1", [_HEPARIN], [("2100-01-01 07:00:00",)]),
        ("value rx #1 patient 2", [_HEPARIN], [("5000",)]),
        # the last result, not the last row; what has no number is told as it is written
        ("value last lab #1 patient 1", [_GLUCOSE], [(110.0,)]),
        ("value last lab #1 patient 1", [_URINE], [("NEG",)]),
        # a culture is one specimen, however many rows
        ("count specimen #1 patient 1", [_BLOOD], [(2,)]),
        ("count organism #1 patient 1", [_COLI], [(1,)]),
        ("count organism by name", [], [("e. coli", 1)]),
        ("count_patients organism of_specimen #1", [_BLOOD], [(1,)]),
    ],
)
def test_a_concept_is_read_from_its_tables(
    ehr: sqlite3.Connection, form: str, concepts: list[Concept], rows: list[tuple[Any, ...]]
) -> None:
    assert sorted(_rows(ehr, form, *concepts)) == rows


def test_what_was_given_of_a_bag_is_no_whole_bag(ehr: sqlite3.Connection) -> None:
    infused = Concept("intake", "heparin", (), _HEPARIN.items[2:])
    assert _rows(ehr, "sum intake #1 patient 1", infused) == [(1.5,)]


def test_a_concept_without_items_is_found_nowhere(ehr: sqlite3.Connection) -> None:
    nothing = Concept("drug", "rivaroxaban", ())
    assert _rows(ehr, "count_patients rx #1", nothing) == [(0,)]


def test_evidence_names_the_table_of_each_row(ehr: sqlite3.Connection) -> None:
    link = Link(0, 0, ("drug",), "heparin", concepts=(_HEPARIN,))
    queries = evidence_queries(bind(parse("patients rx #1"), [link]), _layout(ehr))
    found = {table: ehr.execute(sql).fetchall() for table, sql in queries}
    assert found == {"prescriptions": [(1,)], "emar": [(1,)], "inputevents": [(1,)]}


def test_a_database_without_a_table_is_asked_for_the_others(ehr: sqlite3.Connection) -> None:
    layout = _layout(ehr)
    less = Layout({t: c for t, c in layout.columns.items() if t != "emar"}, ehrsql=False)
    link = Link(0, 0, ("drug",), "heparin", concepts=(_HEPARIN,))
    sql = compile_sql(bind(parse("patients rx #1"), [link]), less)
    assert "emar" not in sql
    assert ehr.execute(sql).fetchall() == [(1,)]
