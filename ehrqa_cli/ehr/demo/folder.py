"""The demo EHR at any size, as a folder of Parquet in parts.

A part is some thousands of patients with all that happened to them (``crowd``), written before the
next is begun: memory does not grow with the size, an interrupted run goes on with the part it was
at, and the same seed gives the same rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend import parquet
from ehrqa_cli.ehr.demo.crowd import NEVER, Coded, Column, Crowd, Pool, Rows
from ehrqa_cli.ehr.demo.make import DEMO_TABLES, dictionaries, meta
from ehrqa_cli.ehr.demo.vocabulary import vocabulary
from ehrqa_cli.ehr.mimic import costs
from ehrqa_cli.ehr.schema import EhrTable

if TYPE_CHECKING:
    import duckdb

PART = 25_000  # patients
_STRIDE = 100_000_000  # row_ids of a part
_SETTINGS, _PARTS = ".demo.json", ".parts"
_FORMAT = "1"
_MEMORY = "2GB"
# More tables of each part, and of the whole.
More = Callable[[Crowd], Iterator[tuple[str, Rows]]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Size:
    """What is to be made. ``share`` thins what is observed again and again (labs after the day of
    arrival, vital signs, what goes in and comes out): 1 is as dense as the SQLite file."""

    patients: int
    seed: int = 7
    share: float = 1.0
    images: bool = False
    part: int = PART

    @property
    def parts(self) -> int:
        """How many."""
        return -(-self.patients // self.part)


def build_folder(
    out: Path,
    size: Size,
    *,
    more: More | None = None,
    whole: Mapping[str, Sequence[Sequence[object]]] | None = None,
    progress: Progress = lambda _done, _of: None,
) -> None:
    """Write the demo EHR to the folder ``out``; take up one that was begun with the same size.

    ``more`` gives further tables of each part, ``whole`` rows (without ``row_id``) of further
    small tables. Raises ImportFailed where ``out`` is something else, or cannot be written;
    UsageError without DuckDB.
    """
    with parquet.connect(_MEMORY, threads=2) as connection:
        _begin(out, size)
        pool = Pool(size.seed, size.patients)
        try:
            for part in range(size.parts):
                progress(part, size.parts)
                marker = out / _PARTS / f"{part:05}"
                if not marker.exists():
                    _write_part(connection, out, size, pool, part, more)
                    marker.touch(mode=0o600)
            _finish(connection, out, size, whole or {})
            progress(size.parts, size.parts)
        except OSError as error:
            what = f"cannot write {out}: {error.strerror}"
            raise ImportFailed(what, "make room, and run it again: it goes on") from None


def _begin(out: Path, size: Size) -> None:
    path = out / _SETTINGS
    wanted = json.dumps({**asdict(size), "format": _FORMAT}, sort_keys=True)
    try:
        if path.exists():
            if path.read_text(encoding="utf-8") != wanted:
                raise ImportFailed(
                    f"{out} was begun with other settings", "choose another folder, or remove it"
                )
            if (out / "ehrqa_meta.parquet").exists():
                raise ImportFailed(f"{out} is complete already", "choose another folder")
            return
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ImportFailed(f"{out} exists already", "choose a new or empty folder")
        (out / _PARTS).mkdir(parents=True)
        path.write_text(wanted, encoding="utf-8")
    except OSError as error:
        raise ImportFailed(f"cannot write {out}: {error.strerror}", "choose another") from None


def _write_part(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    size: Size,
    pool: Pool,
    part: int,
    more: More | None,
) -> None:
    first = part * size.part
    crowd = Crowd(pool, part, first, min(size.part, size.patients - first), size.share)
    base, charged = part * _STRIDE, part * _STRIDE
    for name, rows in crowd.tables():
        _write(connection, out, part, DEMO_TABLES[name], rows, base)
        if name in costs.PRICED:
            bill = _bill(size.seed, name, rows, base)
            _write(connection, out, part, DEMO_TABLES["cost"], bill, charged, name)
            charged += _length(rows)
    for name, rows in more(crowd) if more is not None else ():
        _write(connection, out, part, DEMO_TABLES[name], rows, base)


def _bill(seed: int, name: str, rows: Rows, base: int) -> Rows:
    """A row of ``cost`` for each event, as ``costs.add_costs`` makes them."""
    kind, when = costs.PRICED[name]
    what = rows[kind]
    count = _length(rows)
    if isinstance(what, Coded):
        prices = np.array([costs.price(seed, name, n) for n in what.names])[what.codes]
    else:
        kinds, at = np.unique(what, return_inverse=True)
        prices = np.array([costs.price(seed, name, int(n)) for n in kinds])[at]
    return {
        "subject_id": rows["subject_id"],
        "hadm_id": rows["hadm_id"],
        "event_type": Coded(np.zeros(count, np.int32), (name,)),
        "event_id": base + np.arange(count),
        "chargetime": rows[when],
        "cost": prices,
    }


def _write(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    part: int,
    table: EhrTable,
    rows: Rows,
    base: int,
    suffix: str = "",
) -> None:
    """One file of a table: ``TABLE/part-00000.parquet``, numbered from ``base``."""
    folder = out / table.name
    folder.mkdir(exist_ok=True)
    arrays: dict[str, Any] = {}
    columns: list[str] = []
    for column in table.columns:
        if column.name == table.key:
            arrays[table.key] = base + np.arange(_length(rows))
            columns.append(table.key)
            continue
        expression = _expression(column, rows[column.name], arrays)
        columns.append(f"{expression} AS {column.name}")
    name = f"part-{part:05}{'-' + suffix if suffix else ''}.parquet"
    connection.register("rows_of_part", arrays)
    try:
        parquet.copy(connection, f"SELECT {', '.join(columns)} FROM rows_of_part", folder / name)
    finally:
        connection.unregister("rows_of_part")


def _expression(column: schema.Column, values: Column, arrays: dict[str, Any]) -> str:
    """Put a column's array among ``arrays`` and say how to read it."""
    name = column.name
    if isinstance(values, Coded):
        # NULL for code -1: a list has nothing at place 0.
        listed = ", ".join("'" + text.replace("'", "''") + "'" for text in values.names)
        arrays[name] = values.codes + 1
        return f"([{listed}])[{name}]" if values.names else "CAST(NULL AS VARCHAR)"
    if column.type == schema.TIME_TYPE:
        known = values != NEVER
        arrays[name] = np.ma.masked_array(np.where(known, values, 0), mask=~known)
        return f"make_timestamp({name} * 1000000)"
    arrays[name] = values
    return name


def _length(rows: Rows) -> int:
    return len(next(iter(rows.values())))


def _finish(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    size: Size,
    whole: Mapping[str, Sequence[Sequence[object]]],
) -> None:
    """The dictionaries, and last of all ``ehrqa_meta``: then the folder is complete."""
    for name, rows in {**dictionaries(vocabulary()), **whole}.items():
        table = DEMO_TABLES[name]
        columns = ", ".join(f"{c.name} {parquet.type_of(c.type)}" for c in table.columns)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE one ({columns})")
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(
            f"INSERT INTO one VALUES ({marks})", [(k, *row) for k, row in enumerate(rows)]
        )
        parquet.copy(connection, "SELECT * FROM one ORDER BY row_id", out / f"{name}.parquet")
    about = {**meta(size.seed, size.patients), "share": f"{size.share:g}"}
    connection.execute("CREATE OR REPLACE TEMP TABLE one (key VARCHAR, value VARCHAR)")
    connection.executemany("INSERT INTO one VALUES (?, ?)", sorted(about.items()))
    parquet.copy(connection, "SELECT * FROM one ORDER BY key", out / "ehrqa_meta.parquet")
    for marker in (out / _PARTS).iterdir():
        os.unlink(marker)
    (out / _PARTS).rmdir()
