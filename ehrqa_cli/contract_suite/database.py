"""What every database plugin must do. The answers it is held to are SQLite's, on the same rows."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ehrqa_cli.contract_suite import queries
from ehrqa_cli.contract_suite.checking import Check, demand, refusal
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Row, Scalar
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.backend.translated import Translated
from ehrqa_cli.ehr.demo.make import build_demo

PATIENTS, SEED = 25, 11
_KINDS = frozenset({"integer", "real", "text", "timestamp", "boolean"})
_SOON = 1.0  # seconds within which a cancelled query must have ended
_LONG = Limits(seconds=60.0)
# Rows that no machine counts in a minute, whatever indexes it has.
_ENDLESS = (
    "SELECT COUNT(*) FROM chartevents AS a, chartevents AS b, chartevents AS c, chartevents AS d "
    "WHERE a.row_id + b.row_id * c.row_id < d.row_id - a.itemid + length(b.charttime)"
)


@dataclass(frozen=True)
class Opened:
    """A plugin's class, what it opens, the database, and the same rows in SQLite."""

    plugin: type[Database]
    target: str
    database: Database
    reference: Database


def wrapped(database: Database) -> Database:
    """The database as the program sees it."""
    return database if database.dialect == "sqlite" else Translated(database)


@contextmanager
def opened(plugin: type[Database], folder: Path) -> Iterator[Opened | None]:
    """A sample EHR in ``plugin`` and in SQLite; None where the plugin can make none here."""
    from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

    made = folder / "reference.sqlite"
    build_demo(made, seed=SEED, patients=PATIENTS, force=True)
    target = str(made)
    if not issubclass(plugin, SqliteDatabase):
        told = plugin.sample(folder, sample_tables(made))
        if told is None:
            yield None
            return
        target = told
    reference = SqliteDatabase.open(made)
    database = wrapped(plugin.open(target))
    try:
        yield Opened(plugin, target, database, reference)
    finally:
        database.close()
        reference.close()


def sample_tables(path: Path) -> list[SampleTable]:
    """The tables of a SQLite EHR as plain values."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
        ).fetchall()
        out: list[SampleTable] = []
        for (name,) in names:
            columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            rows = connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall()
            kinds = tuple((str(c[1]), _kind(str(c[2]))) for c in columns)
            out.append(SampleTable(str(name), kinds, tuple(tuple(row) for row in rows)))
        return out
    finally:
        connection.close()


def _kind(type_: str) -> str:
    for word, kind in (("INT", "integer"), ("DOUBLE", "real"), ("TIMESTAMP", "timestamp")):
        if word in type_.upper():
            return kind
    return "text"


def tells_its_tables(at: Opened) -> None:
    """It tells the tables and columns of an EHR, and what they hold."""
    lacking = ehr_schema.missing(at.database.schema())
    demand(not lacking, f"schema() lacks {', '.join(lacking[:5])}")
    if at.database.dialect == "sqlite":
        return
    types = at.database.types()
    for table, columns in at.database.schema().items():
        kinds = {types.get(table, {}).get(column, "") for column in columns}
        demand(kinds <= _KINDS, f"types() of {table} has {sorted(kinds - _KINDS)}")


def gives_plain_values(at: Opened) -> None:
    """Values are plain: text, numbers or NULL, and times are text."""
    for table in at.database.schema():
        rows = at.database.execute(f"SELECT * FROM {table}", Limits(rows=20)).rows
        wrong = {type(v).__name__ for row in rows for v in row if not _is_plain(v)}
        demand(not wrong, f"{table} gives values of {sorted(wrong)}")
    (admitted,) = at.database.execute("SELECT MIN(admittime) FROM admissions").rows[0]
    same = at.reference.execute("SELECT MIN(admittime) FROM admissions").rows[0][0]
    demand(admitted == same, f"a time is {admitted!r} instead of {same!r}")


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (str, int, float)


def _answers(at: Opened, sql: str) -> None:
    wanted = at.reference.execute(sql, _LONG)
    found = at.database.execute(sql, _LONG)
    ordered = " ORDER BY " in sql.rsplit(")", 1)[-1]
    demand(
        len(found.columns) == len(wanted.columns),
        f"{len(found.columns)} columns instead of {len(wanted.columns)}: {sql[:100]}",
    )
    same = same_rows(found.rows, wanted.rows, ordered=ordered)
    shown = f"{list(found.rows[:2])} instead of {list(wanted.rows[:2])}"
    demand(same, f"{shown}: {sql[:120]}")


def same_rows(found: tuple[Row, ...], wanted: tuple[Row, ...], *, ordered: bool) -> bool:
    """Are two results one? Real numbers may differ in the ninth digit, as sums in another order do;
    rows in their order only where the query gives one."""
    if len(found) != len(wanted):
        return False
    pairs = zip(found, wanted, strict=True)
    if all(_same_row(one, other) for one, other in pairs):
        return True
    if ordered:
        return False
    left, right = (sorted(rows, key=_sorting) for rows in (found, wanted))
    return all(_same_row(one, other) for one, other in zip(left, right, strict=True))


def _same_row(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one: Scalar, other: Scalar) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def _sorting(row: Row) -> list[tuple[str, str | float]]:
    return [
        ("number", round(v, 6)) if isinstance(v, int | float) else (type(v).__name__, str(v))
        for v in row
    ]


def says_the_same_twice(at: Opened) -> None:
    """The same query gives the same rows in the same order every time."""
    for sql in queries.UNORDERED:
        first = at.database.execute(sql).rows
        for _ in range(4):
            demand(at.database.execute(sql).rows == first, f"other rows the next time: {sql}")


def refuses(at: Opened) -> None:
    """Everything but one SELECT of the EHR's tables is refused, and nothing is changed."""
    before = at.database.execute("SELECT COUNT(*) FROM patients").rows
    for sql in queries.REFUSED:
        _refused(at.database, sql)
    demand(at.database.execute("SELECT COUNT(*) FROM patients").rows == before, "rows changed")


def refuses_by_itself(at: Opened) -> None:
    """The plugin alone, without the program before it, cannot be made to write."""
    backend = at.database.backend if isinstance(at.database, Translated) else at.database
    for sql in queries.WRITES:
        _refused(backend, sql)
    demand(bool(backend.execute("SELECT COUNT(*) FROM patients").rows[0][0]), "rows are gone")


def wrong_sql_is_an_error(at: Opened) -> None:
    """SQL that is wrong is a DatabaseError with a hint, and the next query runs."""
    for sql in queries.WRONG:
        _refused(at.database, sql)
        at.database.execute("SELECT 1")


def _refused(database: Database, sql: str) -> None:
    try:
        database.execute(sql)
    except DatabaseError as error:
        refusal(error)
    else:
        demand(False, f"it runs {sql}")


def limits_rows(at: Opened) -> None:
    """Rows over the limit are cut and said to be."""
    few = at.database.execute("SELECT row_id FROM chartevents", Limits(rows=3))
    demand(len(few.rows) == 3 and few.truncated, f"{len(few.rows)} rows, {few.truncated=}")
    count = int(at.database.execute("SELECT COUNT(*) FROM patients").rows[0][0] or 0)
    whole = at.database.execute("SELECT row_id FROM patients", Limits(rows=count))
    demand(len(whole.rows) == count and not whole.truncated, "exactly the limit is not too many")


def limits_length(at: Opened) -> None:
    """A statement or a text that is too long ends with LimitExceeded."""
    for sql in (
        "SELECT '" + "x" * 3000 + "'",
        "SELECT group_concat(label) FROM d_items, patients, admissions",
    ):
        try:
            at.database.execute(sql, Limits(length=2000))
        except LimitExceeded as error:
            refusal(error)
        else:
            demand(False, f"it runs {sql[:60]}")


def limits_time(at: Opened) -> None:
    """A query that takes too long ends with LimitExceeded soon after its time."""
    started = time.monotonic()
    try:
        at.database.execute(_ENDLESS, Limits(seconds=0.5))
    except LimitExceeded as error:
        refusal(error)
    else:
        demand(False, "it goes on")
    took = time.monotonic() - started
    demand(took < 0.5 + _SOON, f"it ended after {took:.1f} s with a limit of 0.5 s")
    at.database.execute("SELECT 1")


def cancels(at: Opened) -> None:
    """A running query ends within a second of cancel(), with Cancelled; the next one runs."""
    ended: list[tuple[float, BaseException | None]] = []

    def ask() -> None:
        try:
            at.database.execute(_ENDLESS, _LONG)
        except BaseException as error:
            ended.append((time.monotonic(), error))
        else:
            ended.append((time.monotonic(), None))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)
    pressed = time.monotonic()
    at.database.cancel()
    asking.join(_SOON + 10)
    demand(bool(ended), "the query goes on")
    when, error = ended[0]
    demand(isinstance(error, Cancelled), f"it ended with {error!r}")
    demand(when - pressed <= _SOON, f"it ended {when - pressed:.1f} s later")
    demand(at.database.execute("SELECT 1").rows == ((1,),), "the next query does not run")


def has_a_fingerprint(at: Opened) -> None:
    """Its fingerprint is short, and the same when it is opened again."""
    mark = at.database.fingerprint()
    demand(0 < len(mark) <= 100 and mark.isprintable(), f"fingerprint() is {mark!r}")
    again = at.plugin.open(at.target)
    try:
        demand(again.fingerprint() == mark, "opened again, it has another fingerprint")
    finally:
        again.close()


def knows_now(at: Opened) -> None:
    """What now means is what the same rows say in SQLite."""
    told, wanted = now_in(at.database), now_in(at.reference)
    demand(told == wanted, f"now is {told!r} instead of {wanted!r}")


def opens_nothing_else(at: Opened) -> None:
    """What is not there is a DatabaseError with a hint."""
    target = at.target + "-that-is-not-there"
    try:
        at.plugin.open(target).close()
    except EhrqaError as error:
        refusal(error)
        demand(isinstance(error, DatabaseError), f"it is a {type(error).__name__}")
    else:
        demand(False, f"it opens {target}")


def closes(at: Opened) -> None:
    """It closes, a second time too; then a query is a DatabaseError."""
    other = at.plugin.open(at.target)
    other.close()
    other.close()
    try:
        other.execute("SELECT 1")
    except DatabaseError as error:
        refusal(error)
    else:
        demand(False, "a closed database answers")


def _answering(name: str, statements: tuple[str, ...]) -> Check[Opened]:
    def check(at: Opened, each: Callable[[Opened, str], None] = _answers) -> None:
        for sql in statements:
            partial(each, at)(sql)

    check.__doc__ = f"It answers as SQLite does: {name}"
    return check


CHECKS: tuple[Check[Opened], ...] = (
    tells_its_tables,
    gives_plain_values,
    *(_answering(name, statements) for name, statements in queries.ANSWERED.items()),
    _answering("logical forms that compose", queries.composed()),
    says_the_same_twice,
    refuses,
    refuses_by_itself,
    wrong_sql_is_an_error,
    limits_rows,
    limits_length,
    limits_time,
    cancels,
    has_a_fingerprint,
    knows_now,
    opens_nothing_else,
    closes,
)
