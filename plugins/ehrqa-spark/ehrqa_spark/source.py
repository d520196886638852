"""Where the tables are: Parquet in a folder of this machine, or of a file system Spark can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_spark import engine as engines
from ehrqa_spark import files
from ehrqa_spark.engine import Engine
from ehrqa_spark.told import told
from ehrqa_spark.values import fields

META = "ehrqa_meta"
_OURS = ("ehrqa_", "sqlite_")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.I)
_KINDS = (
    (("byte", "short", "integer", "long"), "integer"),
    (("float", "double", "decimal"), "real"),
    (("timestamp", "date"), "timestamp"),
    (("boolean",), "boolean"),
)
_CASTS = (
    (("byte", "short", "integer"), "CAST({} AS BIGINT)"),  # SQLite counts with 64 bits
    (("float", "decimal"), "CAST({} AS DOUBLE)"),
    (("timestamp_ntz", "date"), "CAST({} AS TIMESTAMP)"),
    (("binary",), "LOWER(HEX({}))"),
)
_PLAIN = ("long", "double", "timestamp", "boolean", "string")


@dataclass(frozen=True)
class SparkSource:
    """The tables of one EHR: the folder, its files, and by table its path from there."""

    place: str
    files: tuple[files.File, ...]
    tables: Mapping[str, str]
    # What each table's files hold, as Spark read it the first time (StructType as JSON).
    schemas: dict[str, str] = field(default_factory=dict)

    def session(self, engine: Engine) -> Any:
        """A session of ``engine`` in which the tables are views. Raises DatabaseError."""
        made = engine.new_session()
        for table, path in self.tables.items():
            where = f"{self.place}/{path}"
            try:
                # Not globbed: a folder may be called [1].
                reader = made.read().option("__globPaths__", "false")
                if table in self.schemas:
                    types = engine.jvm.org.apache.spark.sql.types.DataType
                    reader = reader.schema(types.fromJson(self.schemas[table]))
                frame = reader.parquet(where)
                schema = self.schemas.setdefault(table, str(frame.schema().json()))
                parts = engine.sequence([_cast(f["name"], f["type"]) for f in fields(schema)])
                frame.selectExpr(parts).createOrReplaceTempView(table)
            except Exception as error:
                if not engine.alive:
                    raise
                raise DatabaseError(f"cannot read {where}: {told(error)}", _hint(error)) from error
        return made

    def types(self) -> dict[str, dict[str, str]]:
        """Table to column to what it holds; our own tables are left out."""
        return {
            table: {f["name"]: _kind(f["type"]) for f in fields(self.schemas[table])}
            for table in self.tables
            if not table.startswith(_OURS)
        }

    def fingerprint(self) -> str:
        """16 hex digits of the files' names, sizes and times of change."""
        return files.fingerprint(self.files)


def find(target: str) -> SparkSource:
    """What ``spark:PLACE`` or ``PLACE`` names: a folder here, or hdfs://..., s3a://...

    Raises DatabaseError. A folder here is looked at without starting Spark.
    """
    place = target.removeprefix("spark:")
    if not _SCHEME.match(place) or place.startswith("file://"):
        folder = Path(place.removeprefix("file://"))
        if not folder.is_dir():
            raise DatabaseError(f"there is no folder {folder}", "name a folder of Parquet files")
        folder = folder.resolve()
        found = files.in_folder(folder)
        return SparkSource(f"file:{folder}", tuple(found), files.tables_in(found, str(folder)))
    if "@" in urlsplit(place).netloc and urlsplit(place).scheme.startswith("s3"):
        raise DatabaseError(
            "the address of the bucket has a key in it", "give keys in Spark's configuration"
        )
    place = place.rstrip("/")
    found = _remote(place, engines.current())
    return SparkSource(place, tuple(found), files.tables_in(found, place))


def _remote(place: str, engine: Engine) -> list[files.File]:
    """The Parquet files of a folder in a file system that Hadoop knows."""
    out: list[files.File] = []
    try:
        path = engine.jvm.org.apache.hadoop.fs.Path(place)
        system = path.getFileSystem(engine.hadoop())
        start = len(str(system.resolvePath(path)).rstrip("/")) + 1
        listed = system.listFiles(path, True)
        while listed.hasNext():
            one = listed.next()
            name = str(one.getPath())
            if name.lower().endswith(".parquet"):
                out.append(
                    files.File(name[start:], int(one.getLen()), int(one.getModificationTime()))
                )
    except Exception as error:
        raise DatabaseError(f"cannot read {place}: {told(error)}", _hint(error)) from error
    return sorted(out)


def _kind(type_: Any) -> str:
    for starts, kind in _KINDS:
        if isinstance(type_, str) and type_.startswith(starts):
            return kind
    return "text"


def _cast(name: str, type_: Any) -> str:
    """A column as the contract has it; most are as they are."""
    column = "`" + name.replace("`", "``") + "`"
    if type_ in _PLAIN:
        return column
    for starts, cast in _CASTS:
        if isinstance(type_, str) and type_.startswith(starts):
            return f"{cast.format(column)} AS {column}"
    return f"CAST({column} AS STRING) AS {column}"


def _hint(error: Exception) -> str:
    text = str(error)
    if "TIMESTAMP(NANOS" in text:
        return "Spark knows no nanoseconds: write its times in microseconds"
    if "ClassNotFoundException" in text or "UnsupportedFileSystem" in text:
        return "add the file system's package to Spark's configuration (docs/backends-spark.md)"
    return "is it Parquet, and may it be read? access is set in Spark's own configuration"
