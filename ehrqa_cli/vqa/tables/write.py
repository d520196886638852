"""Where the rows of scene graphs go: into a SQLite EHR, or to files beside an EHR's others."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed, UsageError
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.backend import bulk, parquet
from ehrqa_cli.ehr.schema import BY_NAME, CXR_TABLES, EhrTable
from ehrqa_cli.sqlitefile import database
from ehrqa_cli.vqa.tables.rows import Graphs

PARQUET, CSV = "parquet", "csv"
# A question reads the relations that it is about; in a file they lie together.
_ORDER = {"cxr_relations": "relation, study_id"}


def into_sqlite(db: Path, graphs: Graphs) -> None:
    """Write the tables into a SQLite EHR, in the place of those that are there.

    One transaction: an error or Ctrl-C leaves the file as it was. Raises ImportFailed.
    """
    with bulk.changed(db) as connection:
        tables = database(connection)
        for table in reversed(CXR_TABLES):
            tables.table(table.name).drop(ignore=True)
        for table in CXR_TABLES:
            connection.execute(table.ddl())
        for name, rows in _tables(graphs):
            marks = ", ".join("?" * len(BY_NAME[name].columns))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        bulk.index(connection, CXR_TABLES)


def into_folder(out: Path, graphs: Graphs, kind: str) -> list[Path]:
    """Write TABLE.parquet or TABLE.csv.gz into ``out`` and return the files, which appear together
    when all is written.

    Raises UsageError for Parquet without DuckDB, and where the tables are there in another kind of
    file; ImportFailed when the place cannot be written.
    """
    if kind == PARQUET:
        parquet.connect().close()
    ending = ".parquet" if kind == PARQUET else ".csv.gz"
    _check_others(out, ending)
    finals = {table: out / f"{table.name}{ending}" for table in CXR_TABLES}
    made: list[tuple[Path, Path]] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".cxr-", dir=out) as name:
            plain = {table: Path(name) / f"{table.name}.csv" for table in CXR_TABLES}
            _write_csv(plain, graphs)
            for table, final in finals.items():
                part = Path(name) / final.name
                if kind == PARQUET:
                    parquet.from_csv(table, plain[table], part, _ORDER.get(table.name, "row_id"))
                else:
                    _pack(plain[table], part)
                made.append((part, final))
            for part, final in made:
                os.replace(part, final)
    except OSError as error:
        hint = "choose another place, or make room"
        raise ImportFailed(f"cannot write {out}: {error.strerror}", hint) from None
    return list(finals.values())


def _check_others(out: Path, ending: str) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", "name a folder with --out")
    for table in CXR_TABLES:
        for other in (".parquet", ".csv", ".csv.gz", ""):
            path = out / f"{table.name}{other}"
            if other != ending and path.exists():
                raise UsageError(f"{path} is there already", "remove it, or choose its --format")


def _write_csv(paths: Mapping[EhrTable, Path], graphs: Graphs) -> None:
    with ExitStack() as stack:
        writers = {}
        for table, path in paths.items():
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            file = stack.enter_context(open(handle, "w", encoding="utf-8", newline=""))
            writers[table.name] = csv.writer(file, lineterminator="\n")
            writers[table.name].writerow(table.names())
        for name, rows in _tables(graphs):
            writers[name].writerows(rows)  # None is an empty field


def _pack(plain: Path, out: Path) -> None:
    handle = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    # No name and no time in the header: the same rows are the same bytes.
    with (
        plain.open("rb") as source,
        open(handle, "wb") as raw,
        gzip.GzipFile("", "wb", 4, raw, mtime=0) as packed,
    ):
        shutil.copyfileobj(source, packed)


def _tables(graphs: Graphs) -> Iterator[tuple[str, Iterable[Row]]]:
    """Rows with their ``row_id``, table by table as they come; dictionaries last."""
    studies = relations = 0
    for some, more in graphs.batches():
        yield "cxr_studies", _numbered(some, studies)
        yield "cxr_relations", _numbered(more, relations)
        studies, relations = studies + len(some), relations + len(more)
    yield "d_cxr_relations", _numbered(graphs.dictionary(), 0)
    yield "cxr_source", _numbered(graphs.about(), 0)


def _numbered(rows: Sequence[Row], first: int) -> Iterator[Row]:
    return ((first + at, *row) for at, row in enumerate(rows))
