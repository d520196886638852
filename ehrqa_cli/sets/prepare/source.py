"""The EHR that is prepared, read a window of rows at a time; it is never written to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row

_WINDOW = 200_000  # row_ids looked at by one query
_LIMITS = Limits(seconds=3600.0, rows=5_000_000, length=500_000_000)


class EhrSource:
    """Any database that is an EHR (``ehr.schema``), by its tables and columns."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._columns = {
            table.lower(): {c.lower() for c in columns}
            for table, columns in database.schema().items()
        }

    def has(self, table: str) -> bool:
        """Is there such a table?"""
        return table in self._columns

    def columns(self, table: str) -> set[str]:
        """Its columns, in lower case."""
        return self._columns.get(table, set())

    def query(self, sql: str) -> tuple[Row, ...]:
        """All rows of a query. Raises DatabaseError, and BuildError when they are too many."""
        found = self.database.execute(sql, _LIMITS)
        if found.truncated:
            raise BuildError(
                "a table of the EHR has more rows in one place than can be read at once",
                "import it with `ehrqa db import`, which numbers the rows",
            )
        return found.rows

    def rows(
        self, table: str, columns: Sequence[str], patients: Collection[int] | None
    ) -> Iterator[Row]:
        """``row_id`` and ``columns`` of a table's rows in the order of row_id: those of
        ``patients``, or with None all. What is held at once is one window of it."""
        named = ", ".join(("row_id", *columns))
        where = ""
        if patients is not None:
            if not patients:
                return
            where = f" AND subject_id IN ({', '.join(map(str, sorted(patients)))})"
        if "row_id" not in self.columns(table):  # a tb_cxr may have none
            order = ", ".join(columns)
            yield from self.query(
                f"SELECT 0 AS row_id, {order} FROM {table} WHERE 1 = 1{where} ORDER BY {order}"
            )
            return
        ((low, high, count),) = self.query(
            f"SELECT min(row_id), max(row_id), count(*) FROM {table}"
        )
        if low is None or high is None:
            return
        first, last, total = int(low), int(high), int(count or 0)
        # Rows numbered with wide gaps: windows of more numbers.
        step = max(_WINDOW, _WINDOW * (last - first + 1) // max(total, 1) // 2)
        for start in range(first, last + 1, step):
            yield from self.query(
                f"SELECT {named} FROM {table} WHERE row_id BETWEEN {start} AND {start + step - 1}"
                f"{where} ORDER BY row_id"
            )
