"""A thousand predictions whose outcome is known by how each was made.

The rules are those that EHRSQL-2024 states of its scoring: floats to 3 decimals, rows sorted, the
first 100 of them. Each prediction is the gold rows with one thing done to them, chosen so that the
rules leave no doubt what becomes of it; none of the scorer's code is used to say so.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.ehr import schema
from ehrqa_cli.evaluate.ehrsql import run_ehrsql
from ehrqa_cli.evaluate.systems import Chosen

Rows = list[tuple[Any, ...]]
RIGHT, WRONG, DECLINED = "right", "wrong", "declined"
FIRST = 100
LAST = "~~~~"  # sorts after every other text and number
PREDICTIONS = 1000


@dataclass(frozen=True)
class Change:
    """What is done to the gold rows; None where it cannot be done to these, or leaves a doubt."""

    name: str
    outcome: str
    make: Callable[[Rows, random.Random], Rows | None]


def shuffled(rows: Rows, rng: random.Random) -> Rows | None:
    return rng.sample(rows, len(rows))


def with_cell(
    rows: Rows, rng: random.Random, fits: Callable[[Any], bool], new: Callable[[Any], Any]
) -> Rows | None:
    """One cell of few rows changed: two different lists of rows, whatever the order."""
    places = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if fits(cell)]
    if not places or len(rows) > FIRST:
        return None
    i, j = rng.choice(places)
    row = [new(cell) if k == j else cell for k, cell in enumerate(rows[i])]
    return [*rows[:i], tuple(row), *rows[i + 1 :]]


def is_float(cell: Any) -> bool:
    return isinstance(cell, float) and abs(cell) < 1e6


def less_than_half(rows: Rows, _rng: random.Random) -> Rows | None:
    """Every float moved from its three decimals by 0.0004, which rounding takes away."""
    if not any(is_float(cell) for row in rows for cell in row):
        return None
    return [tuple(round(c, 3) + 0.0004 if is_float(c) else c for c in row) for row in rows]


def more_than_half(rows: Rows, rng: random.Random) -> Rows | None:
    return with_cell(rows, rng, is_float, lambda c: round(c, 3) + 0.0016)


def other_case(rows: Rows, rng: random.Random) -> Rows | None:
    fits = lambda c: isinstance(c, str) and any(x.isalpha() for x in c)  # noqa: E731
    return with_cell(rows, rng, fits, str.swapcase)


def emptied(rows: Rows, rng: random.Random) -> Rows | None:
    return with_cell(rows, rng, lambda c: c is not None, lambda _c: None)


def next_number(rows: Rows, rng: random.Random) -> Rows | None:
    return with_cell(rows, rng, lambda c: isinstance(c, int), lambda c: c + 1)


def dropped(rows: Rows, rng: random.Random) -> Rows | None:
    if not 0 < len(rows) <= FIRST:
        return None
    place = rng.randrange(len(rows))
    return rows[:place] + rows[place + 1 :]


def doubled(rows: Rows, rng: random.Random) -> Rows | None:
    return [*rows, rng.choice(rows)] if 0 < len(rows) < FIRST else None


def added(rows: Rows, _rng: random.Random) -> Rows | None:
    return [*rows, (LAST,) * len(rows[0])] if 0 < len(rows) < FIRST else None


def added_after_the_first_hundred(rows: Rows, rng: random.Random) -> Rows | None:
    if len(rows) < FIRST:
        return None
    return shuffled([*rows, (LAST,) * len(rows[0])], rng)


def changed_within_the_first_hundred(rows: Rows, rng: random.Random) -> Rows | None:
    """A row that sorts before all others is in the first hundred, and gold has none like it."""
    if len(rows) <= FIRST:
        return None
    return shuffled([*rows[1:], (" ",) * len(rows[0])], rng)


def hundredth_changed(rows: Rows, _rng: random.Random) -> Rows | None:
    """Of exactly a hundred rows the last one, which is the last that counts."""
    if len(rows) != FIRST:
        return None
    last = max(rows, key=lambda row: [str(cell) for cell in row])
    left = [row for row in rows if row is not last]
    return [*left, (LAST,) * len(rows[0])]


def one_more_column(rows: Rows, _rng: random.Random) -> Rows | None:
    return [(*row, 1) for row in rows] if rows else None


def columns_swapped(rows: Rows, _rng: random.Random) -> Rows | None:
    if not rows or len(rows[0]) != 2 or len(rows) > FIRST:
        return None
    swapped = [(b, a) for a, b in rows]
    firsts = {str(a) for a, _ in rows}
    return swapped if not firsts & {str(b) for _, b in rows} else None


CHANGES = (
    Change("shuffled", RIGHT, shuffled),
    Change("less than half a thousandth", RIGHT, less_than_half),
    Change("after the first hundred", RIGHT, added_after_the_first_hundred),
    Change("more than half a thousandth", WRONG, more_than_half),
    Change("other case", WRONG, other_case),
    Change("null for a value", WRONG, emptied),
    Change("the next number", WRONG, next_number),
    Change("a row dropped", WRONG, dropped),
    Change("a row doubled", WRONG, doubled),
    Change("a row added", WRONG, added),
    Change("within the first hundred", WRONG, changed_within_the_first_hundred),
    Change("the hundredth", WRONG, hundredth_changed),
    Change("a column more", WRONG, one_more_column),
    Change("columns swapped", WRONG, columns_swapped),
)
BROKEN = ("SELECT nothing FROM nowhere", "SELECT (", "DROP TABLE patients", "how many?")


def as_sql(rows: Rows, width: int) -> str:
    """A query that gives exactly these rows."""
    if not rows:
        return f"SELECT {', '.join(['1'] * width)} WHERE 0"
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return f"SELECT * FROM (VALUES {values})"


def literal(cell: Any) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return "'" + cell.replace("'", "''") + "'"
    return repr(cell)


@dataclass(frozen=True)
class Known:
    """A question with its gold query and rows (None: no answer)."""

    sql: str | None
    rows: Rows | None


def predictions(
    known: Sequence[Known], rng: random.Random
) -> list[tuple[Known, str | None, str, str]]:
    """(question, prediction, its outcome, how it was made), a thousand of them."""
    found = []
    while len(found) < PREDICTIONS:
        one = rng.choice(known)
        kind = rng.random()
        if kind < 0.15:
            found.append((one, None, DECLINED, "declined"))
        elif kind < 0.25:
            found.append((one, rng.choice(BROKEN), WRONG, "broken"))
        elif one.rows is None:
            found.append((one, "SELECT COUNT(*) FROM patients", WRONG, "answered all the same"))
        elif kind < 0.4:
            found.append((one, one.sql, RIGHT, "gold"))
        else:
            change = rng.choice(CHANGES)
            rows = change.make(one.rows, rng)
            if rows is not None and len(rows) <= 150:
                width = len(one.rows[0]) if one.rows else 1
                found.append((one, as_sql(rows, width), change.outcome, change.name))
    return found


def published(folder: Path, db: Path) -> list[Known]:
    """Each 23rd question of the published train set."""
    said = json.loads((folder / "train" / "label.json").read_text())
    return [known_of(sql, db) for sql in list(said.values())[::23]]


def known_of(sql: str, db: Path) -> Known:
    if sql == "null":
        return Known(None, None)
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        # Only the questions that ask for no vital sign's bounds; nor for the present, but where
        # it stands in the query as a word.
        text = sql.replace("current_time", "'2100-12-31 23:59:00'")
        try:
            rows = connection.execute(text).fetchall()
        except sqlite3.Error:
            return Known(None, None)
    connection.close()
    return Known(sql, rows)


def made_up(db: Path) -> list[Known]:
    with sqlite3.connect(db) as connection:
        for table in schema.TABLES:
            connection.execute(table.ddl())
        rng = random.Random(5)
        connection.executemany(
            "INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum,"
            " valueuom) VALUES (?, ?, 1, ?, ?, ?, ?)",
            [
                (
                    *(k, 100 + k % 7, k % 5, f"2100-01-{1 + k % 28:02d} 00:00:00"),
                    *(round(rng.uniform(0, 9), 4), rng.choice(["mg/dl", "mEq/l", None])),
                )
                for k in range(120)
            ],
        )
        connection.execute(
            "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (1, 100, 'f', '2050')"
        )
    connection.close()
    queries = [
        "SELECT COUNT(*) FROM labevents",
        "SELECT valuenum FROM labevents WHERE subject_id = 101",
        "SELECT DISTINCT valueuom FROM labevents",
        "SELECT subject_id, valuenum FROM labevents WHERE itemid = 3",
        "SELECT AVG(valuenum), MAX(valuenum) FROM labevents GROUP BY itemid",
        "SELECT valuenum FROM labevents",
        "SELECT subject_id, charttime FROM labevents",
        "SELECT row_id FROM labevents WHERE row_id < 100",
        "SELECT valueuom, subject_id FROM labevents WHERE valueuom IS NOT NULL",
        "null",
        "null",
    ]
    return [known_of(sql, db) for sql in queries]


@pytest.mark.parametrize("source", ["made up", "published"])
def test_a_thousand_predictions_score_as_the_rules_say(
    request: pytest.FixtureRequest, tmp_path: Path, source: str
) -> None:
    if source == "published":
        folder: Path = request.getfixturevalue("shared_data") / "ehrsql-2024"
        db = folder / "mimic_iv.sqlite"
        known = published(folder, db)
    else:
        db = tmp_path / "ehr.sqlite"
        known = made_up(db)
    made = predictions(known, random.Random(11))
    names = {name for *_, name in made}
    assert names >= {"gold", "declined", "broken", "after the first hundred", "a row dropped"}
    if source == "made up":
        assert names >= {change.name for change in CHANGES}
    split = tmp_path / "data" / "valid"
    split.mkdir(parents=True)
    ids = [f"q{k}" for k in range(PREDICTIONS)]
    entries = [{"id": key, "question": f"question {key}"} for key in ids]
    (split / "data.json").write_text(json.dumps({"version": "v", "data": entries}))
    gold = {key: one.sql or "null" for key, (one, *_) in zip(ids, made, strict=True)}
    (split / "label.json").write_text(json.dumps(gold))
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps({key: sql or "null" for key, (_, sql, *_) in zip(ids, made, strict=True)})
    )
    out = tmp_path / "out"
    given: Any = {"chosen": Chosen(None, path), "out": out, "as_of": "2100-12-31 23:59:00"}
    report = run_ehrsql(tmp_path / "data", "valid", db, **given)
    lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()][1:]
    differing = []
    points = {0: 0.0, 5: 0.0, 10: 0.0, PREDICTIONS: 0.0}
    right = answered = answerable = 0
    for line, (one, _, outcome, name) in zip(lines, made, strict=True):
        found = RIGHT if line["correct"] else DECLINED if line["status"] == "abstained" else WRONG
        if found != outcome:
            differing.append((name, outcome, found, line["gold"]))
        answerable += one.rows is not None
        answered += outcome != DECLINED
        right += outcome == RIGHT
        for penalty in points:
            if outcome == WRONG:
                points[penalty] -= penalty
            elif outcome == RIGHT or one.rows is None:
                points[penalty] += 1
    assert differing == []
    scores = report.overall
    expected = {penalty: 100 * total / PREDICTIONS for penalty, total in points.items()}
    assert {**scores.rs, PREDICTIONS: scores.rs_n} == pytest.approx(expected)
    assert scores.p_exe == pytest.approx(100 * right / answered)
    assert scores.r_exe == pytest.approx(100 * right / answerable)
    assert scores.f1_exe == pytest.approx(200 * right / (answered + answerable))
