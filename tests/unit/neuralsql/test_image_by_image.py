"""The plan changes nothing: random queries give the rows of asking image by image."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.neuralsql import execute
from ehrqa_cli.vqa import Vqa

from .test_images import AS_OF, STUDIES, Labels, make

QUESTIONS = (
    "Is there pulmonary edema?",
    "Is there a PICC?",
    "Is there a device?",
    "Is it abnormal?",
    "Is there no PICC?",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("ehr") / "ehr.sqlite"
    make(found)
    return found


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[SqliteDatabase]:
    found = SqliteDatabase.open(path)
    yield found
    found.close()


class Maker:
    """Random queries over studies ``a``, and sometimes ``b`` of the same patient."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def call(self, table: str) -> str:
        return f"FUNC_VQA('{self.rng.choice(QUESTIONS)}', {table}.study_id)"

    def condition(self, tables: list[str], depth: int = 0) -> str:
        rng, table = self.rng, self.rng.choice(tables)
        kind = rng.choice(["call", "call", "not", "plain", "case", "and", "or", "exists", "in"])
        if depth > 2:
            kind = rng.choice(["call", "plain"])
        if kind == "call":
            return f"{self.call(table)} = {rng.choice([0, 1])}"
        if kind == "plain":
            return f"{table}.studydatetime > '2100-05-0{rng.randint(1, 9)}'"
        if kind == "not":
            return f"NOT ( {self.condition(tables, depth + 1)} )"
        if kind == "case":
            return f"CASE WHEN {self.call(table)} THEN {self.call(table)} ELSE {table}.hadm_id END"
        if kind == "exists":
            inner = self.condition(["c", table], depth + 1)
            same = f"c.subject_id = {table}.subject_id"
            return f"EXISTS ( SELECT 1 FROM tb_cxr AS c WHERE {same} AND {inner} )"
        if kind == "in":
            inner = self.condition(["d"], depth + 1)
            chosen = f"SELECT d.subject_id FROM tb_cxr AS d WHERE {inner}"
            return f"{table}.subject_id {rng.choice(['IN', 'NOT IN'])} ( {chosen} )"
        parts = [self.condition(tables, depth + 1) for _ in range(2)]
        return f"( {f' {kind.upper()} '.join(parts)} )"

    def source(self, tables: list[str]) -> str:
        rng = self.rng
        first = "tb_cxr AS a"
        if rng.random() < 0.3:
            inner = self.condition(["e"])
            order = rng.choice(["ASC", "DESC"])
            rows = f"SELECT * FROM tb_cxr AS e WHERE {inner} ORDER BY e.study_id {order} LIMIT 3"
            first = f"( {rows} ) AS a"
        if "b" not in tables:
            return first
        join = rng.choice(["JOIN", "LEFT JOIN"])
        more = f" AND {self.condition(tables)}" if rng.random() < 0.5 else ""
        return f"{first} {join} tb_cxr AS b ON b.subject_id = a.subject_id{more}"

    def query(self) -> str:
        rng = self.rng
        tables = rng.choice([["a"], ["a", "b"]])
        source = self.source(tables)
        shape = rng.choice(["rows", "group", "max", "union"])
        where = self.condition(tables)
        if shape == "rows":
            return f"SELECT a.study_id, {self.call(tables[-1])} FROM {source} WHERE {where}"
        if shape == "group":
            having = f"SUM({self.call('a')}) {rng.choice(['>', '='])} 1"
            return (
                f"SELECT a.subject_id, SUM({self.call('a')}) FROM {source} WHERE {where} "
                f"GROUP BY a.subject_id HAVING {having}"
            )
        if shape == "max":
            last = f"FUNC_VQA('{rng.choice(QUESTIONS)}', MAX(a.study_id))"
            return f"SELECT a.subject_id, {last} FROM {source} WHERE {where} GROUP BY a.subject_id"
        other = f"SELECT a.study_id FROM tb_cxr AS a WHERE {self.condition(['a'])}"
        op = rng.choice(["UNION", "INTERSECT", "EXCEPT"])
        return f"SELECT a.study_id FROM {source} WHERE {where} {op} {other}"


def test_rows_are_those_of_asking_image_by_image(path: Path, database: SqliteDatabase) -> None:
    reader = Vqa(Labels())

    def ask(question: str, study: int | None) -> int | None:
        return None if study not in STUDIES else int(reader.detail(question, study).values[0])

    plain = sqlite3.connect(path)
    plain.create_function("FUNC_VQA", 2, ask)
    filled = 0
    for seed in range(300):
        sql = Maker(seed).query()
        expected = sorted(plain.execute(sql).fetchall(), key=str)
        found = execute(sql, database, as_of=AS_OF, graphs=reader).result.rows
        assert sorted(found, key=str) == expected, sql
        filled += bool(expected)
    plain.close()
    assert filled > 150
