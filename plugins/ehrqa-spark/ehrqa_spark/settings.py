"""How Spark is started: where it runs, within what bounds, and with which doors shut."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ehrqa_cli.contracts.errors import UsageError

MASTER = "EHRQA_SPARK_MASTER"
MEMORY = "EHRQA_SPARK_MEMORY"
THREADS = "EHRQA_SPARK_THREADS"
VARIABLES = {
    MASTER: "where Spark runs: a cluster's address, or threads of this machine",
    MEMORY: "the Java heap of the process here, such as 2GB",
    THREADS: "how many threads work at a query",
}
_MOST_MEMORY = 2 << 30
_SIZE = re.compile(r"([1-9][0-9]{0,6})\s*([kmgt])i?b?", re.I)
# What an answer may depend on, whatever the user's own configuration of Spark says.
_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.crossJoin.enabled": "true",
}
# What no statement may do, below the guard too.
_SHUT = {
    "spark.sql.runSQLOnFiles": "false",  # no parquet.`/some/file`
    "spark.sql.variable.substitute": "false",  # no ${env:HOME}
    "spark.sql.scripting.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",  # no Hive, no metastore_db
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_UNLESS_SET = {
    "spark.driver.maxResultSize": "256m",
    # A task that does not stop when its query is cancelled ends with its executor.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.pollingInterval": "1s",
    "spark.task.reaper.killTimeout": "5s",
}


def master() -> str:
    """Where Spark runs: EHRQA_SPARK_MASTER, else threads of this machine."""
    return os.environ.get(MASTER) or f"local[{_threads() or '*'}]"


def in_one_process(where: str) -> bool:
    """Does a master of this name run everything in the process that we start?"""
    return where == "local" or where.startswith("local[")


def memory() -> str:
    """The Java heap of the process here: EHRQA_SPARK_MEMORY ("2GB"), else half of this machine's
    memory, at most 2 GiB. Raises UsageError for what is no size."""
    given = os.environ.get(MEMORY)
    if given:
        found = _SIZE.fullmatch(given.strip())
        if found is None:
            raise UsageError(f"{MEMORY} is '{given}', which is no size", "give it as 2GB, say")
        return f"{found[1]}{found[2].lower()}"
    try:
        all_ = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        all_ = 2 * _MOST_MEMORY
    return f"{min(all_ // 2, _MOST_MEMORY) >> 20}m"


def _threads() -> int:
    """EHRQA_SPARK_THREADS, 0 for all cores. Raises UsageError for what is no number."""
    given = os.environ.get(THREADS, "").strip()
    if given and not (given.isdigit() and int(given) > 0):
        raise UsageError(f"{THREADS} is '{given}', which is no number", "give it as 2, say")
    return int(given) if given else 0


def starting(folder: Path) -> Mapping[str, str]:
    """What the Java process itself is started with; all else is said to it, not on its command
    line. ``folder`` is its own, for all that it leaves behind."""
    quiet = Path(__file__).with_name("quiet.properties").as_uri()
    options = (
        "-Duser.timezone=UTC",
        "-Dfile.encoding=UTF-8",
        f"-Dlog4j2.configurationFile={quiet}",
        f"-Djava.io.tmpdir={folder}",
        f"-Dderby.system.home={folder}",
        "-XX:+ExitOnOutOfMemoryError",  # half a process would answer nothing, and never end
        "-XX:-UsePerfData",
    )
    return {
        "spark.driver.memory": memory(),
        "spark.driver.extraJavaOptions": " ".join(options),
    }


def fixed(where: str, folder: Path) -> Mapping[str, str]:
    """Settings that hold whatever the user's configuration says."""
    found = {
        "spark.master": where,
        "spark.app.name": "ehrqa",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **_MEANING,
        **_SHUT,
    }
    if where.startswith("local"):
        loopback = "127.0.0.1"
        found |= {"spark.driver.host": loopback, "spark.driver.bindAddress": loopback}
        found |= {"spark.eventLog.enabled": "false", "spark.local.dir": str(folder)}
        # What does not fit into memory goes to files, which nobody else can read.
        found["spark.io.encryption.enabled"] = "true"
        count = _threads() or os.cpu_count() or 1
        found["spark.sql.shuffle.partitions"] = str(2 * count)
    return found


def unless_set() -> Mapping[str, str]:
    """Settings that the user's configuration of Spark may change."""
    return dict(_UNLESS_SET)
