"""Tables of plain values written to Parquet, by Spark itself, by way of JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_spark import engine as engines

_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "timestamp": "TIMESTAMP", "boolean": "BOOLEAN"}


def write(folder: Path, tables: Sequence[SampleTable]) -> Path:
    """Write ``tables`` to a new folder, a folder of parts for each, and return it.

    Raises DatabaseError when Spark cannot be started, and Spark's own errors.
    """
    session = engines.current().new_session()
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for table in tables:
            file = Path(scratch) / "rows.json"
            names = [name for name, _ in table.columns]
            with file.open("w", encoding="utf-8") as out:
                for row in table.rows:
                    held = {k: v for k, v in zip(names, row, strict=True) if v is not None}
                    out.write(json.dumps(held) + "\n")
            listed = ", ".join(
                f"`{name}` {_TYPES.get(kind, 'STRING')}" for name, kind in table.columns
            )
            reader = session.read().schema(listed).option("mode", "FAILFAST")
            reader = reader.option("timestampFormat", "yyyy-MM-dd HH:mm:ss")
            frame = reader.json(f"file:{file}").coalesce(1)
            frame.write().parquet(f"file:{folder / (table.name + '.parquet')}")
    return folder
