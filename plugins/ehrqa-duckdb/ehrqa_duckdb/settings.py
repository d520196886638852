"""How DuckDB is opened: read-only, within a bound of memory, and with no way out."""

from __future__ import annotations

import os
from collections.abc import Mapping

MEMORY = "EHRQA_DUCKDB_MEMORY"
THREADS = "EHRQA_DUCKDB_THREADS"
VARIABLES = {
    MEMORY: "the memory that a query may use, such as 2GB",
    THREADS: "how many threads work at a query",
}
_MOST_MEMORY = 4 << 30


def memory() -> str:
    """The memory that a query may use: EHRQA_DUCKDB_MEMORY ("2GB"), else half of this machine's,
    at most 4 GiB."""
    given = os.environ.get(MEMORY)
    if given:
        return given
    try:
        all_ = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        all_ = 2 * _MOST_MEMORY
    return f"{min(all_ // 2, _MOST_MEMORY) >> 20}MiB"


def opening() -> Mapping[str, str | bool | int | float | list[str]]:
    """What must be set before anything is read."""
    found: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory(),
        "temp_directory": "",  # no query may leave a patient's data in a file
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,  # a table is never a variable of this program
    }
    threads = os.environ.get(THREADS)
    if threads:
        found["threads"] = int(threads) if threads.isdigit() else 1
    return found


def closing(folder: str | None) -> list[str]:
    """Statements that shut the doors once the views are made; ``folder`` is the EHR's own."""
    allowed = "'" + folder.replace("'", "''") + "/'" if folder else ""
    return [
        *([f"SET allowed_directories = [{allowed}]"] if folder else []),
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]
