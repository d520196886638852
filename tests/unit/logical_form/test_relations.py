"""Relations between two events: what they mean, pair by pair, and that their cost grows with the
rows and not with the pairs."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from ehrqa_cli.ehr.schema import TABLES
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import Context, bind

NOW = Context("2100-12-31 23:59:00")
Row = tuple[int, int, datetime]  # patient, visit, time

ORDERS: dict[str, Callable[[datetime, datetime], bool]] = {
    "after": lambda other, main: other < main,
    "before": lambda other, main: main < other,
    "with": lambda other, main: True,
    "without": lambda other, main: True,
    "notfollowed": lambda other, main: main < other,
}
SPAN = timedelta(hours=30)
WINDOWS: dict[str, Callable[[Row, Row], bool]] = {
    "": lambda a, b: True,
    "sameperiod": lambda a, b: True,
    "samevisit": lambda a, b: a[1] == b[1],
    "sameday": lambda a, b: a[2].date() == b[2].date(),
    "samemonth": lambda a, b: (a[2].year, a[2].month) == (b[2].year, b[2].month),
    "sametime": lambda a, b: a[2] == b[2],
    'within "30 hour"': lambda a, b: abs(a[2] - b[2]) <= SPAN,
    'within "30 hour" samevisit': lambda a, b: abs(a[2] - b[2]) <= SPAN and a[1] == b[1],
    'beyond "30 hour"': lambda a, b: abs(a[2] - b[2]) > SPAN,
    'beyond "30 hour" samevisit': lambda a, b: abs(a[2] - b[2]) > SPAN and a[1] == b[1],
}


def database(diagnoses: list[Row], drugs: list[Row]) -> sqlite3.Connection:
    """An EHR with one diagnosis and one drug, of these patients, visits and times."""
    connection = sqlite3.connect(":memory:")
    for table in TABLES:
        connection.execute(table.ddl())
    connection.execute("INSERT INTO d_icd_diagnoses VALUES (1, 'icd10|a', 'sepsis')")
    for n, (patient, visit, time) in enumerate(diagnoses):
        values = (n, patient, visit, "icd10|a", str(time))
        connection.execute(
            "INSERT INTO diagnoses_icd (row_id, subject_id, hadm_id, icd_code, charttime)"
            " VALUES (?, ?, ?, ?, ?)", values,
        )  # fmt: skip
    for n, (patient, visit, time) in enumerate(drugs):
        values = (n, patient, visit, str(time), "aspirin")
        connection.execute(
            "INSERT INTO prescriptions (row_id, subject_id, hadm_id, starttime, drug)"
            " VALUES (?, ?, ?, ?, ?)", values,
        )  # fmt: skip
    return connection


def drawn(seed: int, rows: int, patients: int) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for _ in range(rows):
        visit = rng.randrange(2 * patients)
        hours = rng.choice((0, 1, 12, 29, 30, 31, 24 * 40))
        found.append((visit // 2, visit, datetime(2100, 1, 30, 12) + timedelta(hours=hours)))
    return found


def related(main: Row, others: list[Row], name: str, window: str) -> bool:
    return any(
        o[0] == main[0] and ORDERS[name](o[2], main[2]) and WINDOWS[window](o, main)
        for o in others
    )  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ORDERS)
def test_a_relation_means_that_there_is_such_a_pair(name: str, window: str) -> None:
    sql = bind(compile_sql(parse(f'count rx "aspirin" {name} ( dx "sepsis" ) {window}')), NOW)
    told = set()
    for seed in range(12):
        others, mains = drawn(seed, 9, 6), drawn(100 + seed, 12, 6)
        found = [m for m in mains if related(m, others, name, window)]
        if name == "without":
            found = [m for m in mains if m not in found]
        if name == "notfollowed":  # whoever came back once is not counted at all
            back = {m[0] for m in found}
            found = [m for m in mains if m[0] not in back]
        with database(others, mains) as connection:
            assert connection.execute(sql).fetchone() == (len(found),)
        connection.close()
        told.add(len(found))
    assert len(told) > 1 or window == "sametime"  # nothing is before and at the same time


@pytest.mark.parametrize(
    "window", ["", "samevisit", "sameday", 'within "30 hour"', 'within "30 hour" samevisit']
)
def test_ranks_count_pairs(window: str) -> None:
    sql = bind(compile_sql(parse(f'top 1 rx after ( dx "sepsis" ) {window}')), NOW)
    others, mains = drawn(1, 30, 3), drawn(2, 30, 3)
    connection = database(others, mains)
    aspirin = sum(
        o[0] == m[0] and o[2] < m[2] and WINDOWS[window](o, m) for m in mains for o in others
    )
    heparin = next(row for row in mains if related(row, others, "after", window))
    pairs = sum(
        o[0] == heparin[0] and o[2] < heparin[2] and WINDOWS[window](o, heparin) for o in others
    )

    def add(n: int) -> None:
        connection.executemany(
            "INSERT INTO prescriptions (subject_id, hadm_id, starttime, drug)"
            " VALUES (?, ?, ?, 'heparin')", [(*heparin[:2], str(heparin[2]))] * n,
        )  # fmt: skip

    add(aspirin // pairs)
    first = {drug for (drug,) in connection.execute(sql)}
    assert "aspirin" in first and (len(first) == 2) == (aspirin % pairs == 0)
    add(1)
    assert connection.execute(sql).fetchall() == [("heparin",)]
    connection.close()


def steps(form: str, patients: int) -> int:
    """What the query costs SQLite, in steps of its machine, where every patient has both and there
    is an index by code, such as every import has had."""
    start = datetime(2100, 1, 1)
    rows = [(p, p, start + timedelta(days=d, seconds=p)) for p in range(patients) for d in range(3)]
    connection = database(rows, [(p, v, t + timedelta(hours=1)) for p, v, t in rows])
    connection.execute("CREATE INDEX d ON diagnoses_icd (icd_code, charttime)")
    connection.execute("CREATE INDEX p ON prescriptions (drug, starttime)")
    sql = bind(compile_sql(parse(form)), NOW)
    done = 0

    def tick() -> int:
        nonlocal done
        done += 1
        return 0

    connection.set_progress_handler(tick, 100)
    assert connection.execute(sql).fetchone() is not None
    connection.close()
    return done


@pytest.mark.parametrize(
    "form",
    [
        f'count_patients rx "aspirin" {name} ( dx "sepsis" ) {window}'
        for name in ("after", "without")
        for window in ("", "samevisit", "sameday", 'within "2 month"')
    ],
)
def test_twice_the_patients_cost_about_twice_as_much(form: str) -> None:
    assert steps(form, 800) < 3 * steps(form, 400)
