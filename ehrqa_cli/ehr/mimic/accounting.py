"""What becomes of every column of a release's files: none is lost without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ehrqa_cli.ehr.mimic.fields import release, sources
from ehrqa_cli.ehr.mimic.files import MimicFile, find
from ehrqa_cli.ehr.mimic.options import ColumnReport
from ehrqa_cli.ehr.schema import BY_NAME, EhrTable

_NO_TABLE = "no table is made of this file"


def explain(folder: Path) -> tuple[ColumnReport, ...]:
    """What an import would make of each column of the files in ``folder``, in their order.

    Reads the headers alone. Raises ImportFailed.
    """
    files, _, ignored = find(folder)
    return account(files, ignored)


def account(files: Mapping[str, MimicFile], ignored: list[MimicFile]) -> tuple[ColumnReport, ...]:
    """The same, of files that were found."""
    tables = {t.file: t for t in BY_NAME.values() if t.file}
    found = [r for name, file in files.items() for r in _columns(file, tables[name])]
    found += [r for file in ignored if file.name not in files for r in _ignored(file)]
    return tuple(found)


def _columns(file: MimicFile, table: EhrTable) -> Iterator[ColumnReport]:
    goes: dict[str, list[str]] = {}
    for column in table.columns:
        for source in sources(column):
            goes.setdefault(source, []).append(column.name)
    reasons = {c: why for why, columns in release()["left_out"].items() for c in columns}
    for name in file.header():
        if name in goes.get(name, ()):
            yield ColumnReport(file.name, name, "kept", name)
        elif name in goes:
            yield ColumnReport(file.name, name, "made into", ", ".join(goes[name]))
        elif name in reasons:
            yield ColumnReport(file.name, name, "left out", why=reasons[name])
        else:
            yield ColumnReport(file.name, name, "unknown", why="not of MIMIC-IV 2.2 or 3.1")


def _ignored(file: MimicFile) -> Iterator[ColumnReport]:
    why = release()["files"].get(file.name, _NO_TABLE)
    for name in file.header():
        yield ColumnReport(file.name, name, "ignored", why=why)
