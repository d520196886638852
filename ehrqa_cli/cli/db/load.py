"""``ehrqa db import --to``: an EHR into a server, a DuckDB file or a folder of Parquet files.

MIMIC-IV's files are first read into a SQLite file of this command's own, so that whatever is wrong
with them is known before the server is touched; the file is gone when the command ends.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.cli import diagnostics

if TYPE_CHECKING:
    from ehrqa_cli.contracts.loading import Loaded
    from ehrqa_cli.ehr.mimic.options import ImportOptions, ImportReport


def load(
    source: Path, to: str, options: ImportOptions, beside: Path | None = None
) -> tuple[ImportReport | None, Loaded, float]:
    """Write ``source`` (a folder of MIMIC-IV, or a SQLite EHR) to what ``to`` names.

    The SQLite file on the way stands in ``beside``, where there is room, or among the temporary
    files. Returns what was imported (None of a SQLite EHR), what was written, and the seconds that
    the writing took. Raises UsageError, PluginError, ImportFailed, DatabaseError.
    """
    from ehrqa_cli.ehr.loading import check_room, load_sqlite, writer_of
    from ehrqa_cli.ehr.mimic.importer import import_mimic

    writer_of(to)
    if not options.force:
        check_room(to)
    with tempfile.TemporaryDirectory(prefix=".ehrqa-import-", dir=beside) as folder:
        report = None
        made = source
        if not source.is_file():
            made = Path(folder) / "ehr.sqlite"
            with diagnostics.progress("share") as advance:
                report = import_mimic(
                    source, made, replace(options, force=False),
                    lambda what, done, of: advance(done, of, what), indexed=False,
                )  # fmt: skip
        started = time.monotonic()
        with diagnostics.progress("rate") as advance:
            loaded = load_sqlite(
                made, to, replace=options.force,
                note=lambda table, done, of: advance(done, of, table),
            )  # fmt: skip
        return report, loaded, time.monotonic() - started
