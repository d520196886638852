"""What occurs in a record, as items."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ehrqa_cli.concepts.catalog import KIND_OF, SOURCES, read_items
from ehrqa_cli.contracts.concepts import Item
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.schema import BY_NAME

ROWS = """
UPDATE d_labitems SET fluid = 'blood', category = 'chemistry';
INSERT INTO d_labitems (row_id, itemid, label) VALUES (1, 50999, 'never measured');
INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valueuom)
  VALUES (7, 101, NULL, 50912, '2100-01-01 00:00:00', 'umol/l'),
         (8, 101, NULL, 51111, NULL, NULL);
INSERT INTO prescriptions (row_id, subject_id, hadm_id, starttime, drug, route)
  VALUES (0, 101, 1001, '2100-02-02 00:00:00', 'heparin', 'iv'),
         (1, 101, 1001, '2100-02-03 00:00:00', 'heparin', 'sc');
"""


@pytest.fixture
def record(ehr: Path) -> Path:
    with sqlite3.connect(ehr) as connection:
        connection.executescript(ROWS)
    connection.close()
    return ehr


def _items(path: Path) -> list[Item]:
    database = SqliteDatabase.open(str(path))
    try:
        return read_items(database)
    finally:
        database.close()


def test_every_code_that_occurs_is_one_item(record: Path) -> None:
    items = _items(record)
    assert len({(item.table, item.column, item.code) for item in items}) == len(items)
    lab, bare = sorted((i for i in items if i.table == "labevents"), key=lambda item: item.code)
    assert lab == Item(
        "labevents", "itemid", 50912, "creatinine", "blood", "chemistry",
        "mg/dl", 4, "2100-01-01 00:00:00", "2100-02-04 08:00:00",
    )  # fmt: skip
    assert (bare.name, bare.rows, bare.first) == ("51111", 1, ""), (
        "without a name in the dictionary"
    )
    drugs = [(item.column, item.code, item.rows) for item in items if item.table == "prescriptions"]
    assert drugs == [("drug", "heparin", 2), ("route", "iv", 1), ("route", "sc", 1)]


def test_what_an_older_record_lacks_is_left_out(record: Path) -> None:
    with sqlite3.connect(record) as connection:
        connection.execute("ALTER TABLE d_labitems DROP COLUMN fluid")
        connection.execute("ALTER TABLE admissions DROP COLUMN race")
    connection.close()
    items = _items(record)
    assert [(i.name, i.specimen) for i in items if i.code == 50912] == [("creatinine", "")]
    assert "race" not in {item.column for item in items}


def test_sources_are_of_the_schema() -> None:
    for source in SOURCES:
        columns = BY_NAME[source.table].columns
        assert {source.column, *source.unit} & {c.name for c in columns}, source
    assert KIND_OF["labevents", "itemid"] == "lab"
