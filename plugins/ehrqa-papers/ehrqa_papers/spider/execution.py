"""Execution accuracy: do two queries give the same rows?

Rows are compared as a multiset; their order counts only where gold has an ORDER BY of its own.
Columns may come in another order, the same for all rows (Zhong et al. 2020, the test suites that
Spider is measured with today; arXiv:2010.02840, section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import Limits, Row, Scalar
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_papers.spider.query import Query

LIMITS = Limits(seconds=30.0, rows=200_000, length=2_000_000)


class Databases:
    """The SQLite files under a folder, ``DB/DB.sqlite`` as Spider ships them or ``DB.sqlite``;
    one is open at a time, read-only."""

    def __init__(self, folder: Path) -> None:
        """Raises EvaluationError when there is no such folder."""
        if not folder.is_dir():
            kind = "is a file, not a folder" if folder.exists() else "does not exist"
            raise EvaluationError(
                f"{folder} {kind}", "expected Spider's folder of databases: DB/DB.sqlite in it"
            )
        self.folder = folder
        self._open: tuple[str, SqliteDatabase] | None = None

    def close(self) -> None:
        """Close the one that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def find(self, db_id: str) -> Path | None:
        """The file of a database, None where there is none."""
        if Path(db_id).name != db_id:
            return None  # a name out of a file must not lead out of the folder
        places = (self.folder / db_id / f"{db_id}.sqlite", self.folder / f"{db_id}.sqlite")
        return next((path for path in places if path.is_file()), None)

    def fingerprint(self, db_id: str) -> str:
        """What names the content of a database that ``find`` finds. Raises DatabaseError."""
        return self._database(db_id).fingerprint()

    def rows(self, db_id: str, sql: str) -> tuple[Row, ...]:
        """All rows of a query. Raises DatabaseError, also when they are more than the limits
        allow."""
        result = self._database(db_id).execute(sql.rstrip().rstrip(";"), LIMITS)
        if result.truncated:
            raise DatabaseError(f"it gives more than {LIMITS.rows:,} rows", "ask for less at once")
        return result.rows

    def _database(self, db_id: str) -> SqliteDatabase:
        if self._open is not None and self._open[0] == db_id:
            return self._open[1]
        path = self.find(db_id)
        if path is None:
            raise DatabaseError(f"there is no database {db_id} in {self.folder}", "fetch it")
        self.close()
        database = SqliteDatabase.open_any(path)
        self._open = (db_id, database)
        return database


def same_rows_when_run(
    databases: Databases, db_id: str, gold: str, prediction: str, ordered: bool
) -> tuple[bool, str | None]:
    """Does ``prediction`` give gold's rows? With a word on why not, where it does not run.

    Raises EvaluationError when gold does not run, and Cancelled.
    """
    try:
        wanted = databases.rows(db_id, gold)
    except Cancelled:
        raise
    except DatabaseError as error:
        raise EvaluationError(
            f"the gold query `{gold[:100]}` does not run on {databases.find(db_id)}:"
            f" {error.message}",
            "check that --databases and --gold are of the same version",
        ) from None
    try:
        given = databases.rows(db_id, prediction)
    except Cancelled:
        raise
    except DatabaseError as error:
        return False, error.message
    return same_rows(given, wanted, ordered), None


def is_ordered(gold: Query) -> bool:
    """Is the order of its rows part of what a query asks for?"""
    while gold.combined is not None:
        gold = gold.combined[1]
    return bool(gold.order)


def same_rows(given: Sequence[Row], wanted: Sequence[Row], ordered: bool) -> bool:
    """Equal but for the order of columns and, unless ``ordered``, of rows."""
    if len(given) != len(wanted):
        return False
    if not wanted:
        return True
    if len(given[0]) != len(wanted[0]):
        return False
    return _arranged(list(zip(*given, strict=True)), list(zip(*wanted, strict=True)), (), ordered)


def _arranged(
    given: list[tuple[Scalar, ...]],
    wanted: list[tuple[Scalar, ...]],
    chosen: tuple[int, ...],
    ordered: bool,
) -> bool:
    """Can the columns of ``given`` that are not ``chosen`` yet be put in the order of ``wanted``?
    Each choice must agree with all rows so far, which leaves few to try."""
    if len(chosen) == len(wanted):
        return True
    target = _rows(wanted[: len(chosen) + 1], ordered)
    tried = set()
    for index, column in enumerate(given):
        if index in chosen or column in tried:
            continue
        tried.add(column)
        if _rows([given[i] for i in (*chosen, index)], ordered) != target:
            continue
        if _arranged(given, wanted, (*chosen, index), ordered):
            return True
    return False


def _rows(
    columns: Sequence[tuple[Scalar, ...]], ordered: bool
) -> list[tuple[Scalar, ...]] | Counter[tuple[Scalar, ...]]:
    rows = list(zip(*columns, strict=True))
    return rows if ordered else Counter(rows)
