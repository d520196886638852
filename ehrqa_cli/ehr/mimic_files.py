"""MIMIC-IV's files as PhysioNet ships them: found, opened, read as checked rows.

Whatever is wrong with a file is an ImportFailed that names file, line and column.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.import_options import Progress, TableReport

Fields = tuple[str, ...]
Converted = tuple[Any, ...] | str  # the values of a row, or why it is dropped
Converter = Callable[[Fields], Converted]

REQUIRED = ("hosp/patients", "hosp/admissions")
OPTIONAL = (
    "hosp/d_icd_diagnoses",
    "hosp/d_icd_procedures",
    "hosp/d_labitems",
    "icu/d_items",
    "hosp/diagnoses_icd",
    "hosp/procedures_icd",
    "hosp/labevents",
    "hosp/prescriptions",
    "icu/chartevents",
    "icu/inputevents",
    "icu/outputevents",
    "hosp/microbiologyevents",
    "icu/icustays",
    "hosp/transfers",
)
# events can only be named by their dictionary
NEEDS = {
    "hosp/diagnoses_icd": "hosp/d_icd_diagnoses",
    "hosp/procedures_icd": "hosp/d_icd_procedures",
    "hosp/labevents": "hosp/d_labitems",
    "icu/chartevents": "icu/d_items",
    "icu/inputevents": "icu/d_items",
    "icu/outputevents": "icu/d_items",
}
_LAYOUT = "give the folder that holds MIMIC-IV's hosp/ and icu/ as PhysioNet ships them"
_BUFFER = 1 << 20
_REPORT_EVERY = 1 << 14  # rows


class BadField(ValueError):
    """A field of a row that cannot be read: its column and what is wrong."""

    def __init__(self, column: str, value: str, wanted: str) -> None:
        super().__init__(f"{column} is {value[:40]!r}, not {wanted}")
        self.column = column


@dataclass(frozen=True)
class Source:
    """One file of the release. ``name`` is as in the documentation, e.g. ``hosp/labevents``."""

    name: str
    path: Path

    def rows(self, columns: tuple[str, ...], report: TableReport, note: Progress) -> _Reader:
        """Its rows, each as the fields of ``columns``; counts them in ``report``."""
        return _Reader(self, columns, report, note)


def find(folder: Path) -> tuple[dict[str, Source], list[str], list[str]]:
    """The files of a release: those used, names of optional ones missing, files ignored.

    Raises ImportFailed when the folder is none, or a required file is missing.
    """
    if not folder.is_dir():
        raise ImportFailed(f"{folder} is not a folder", _LAYOUT)
    found: dict[str, Source] = {}
    for name in (*REQUIRED, *OPTIONAL):
        for ending in (".csv", ".csv.gz"):
            path = folder / f"{name}{ending}"
            if path.is_file():
                found[name] = Source(name, path)
                break
    for name in REQUIRED:
        if name not in found:
            raise ImportFailed(f"{folder / name}.csv.gz (or .csv) is missing", _LAYOUT)
    for name, dictionary in NEEDS.items():
        if name in found and dictionary not in found:
            raise ImportFailed(
                f"{folder / dictionary}.csv.gz (or .csv) is missing, and {name} needs it",
                "add it, or take the events away",
            )
    missing = [n for n in OPTIONAL if n not in found]
    used = {s.path for s in found.values()}
    every = sorted(p for part in ("hosp", "icu") for p in folder.glob(f"{part}/*.csv*"))
    ignored = [str(p.relative_to(folder)) for p in every if p not in used]
    return found, missing, ignored


def _open_gzip(raw: IO[bytes]) -> IO[bytes]:
    try:
        module = importlib.import_module("isal.igzip")  # optional, and faster
    except ImportError:
        module = gzip
    return io.BufferedReader(module.GzipFile(fileobj=raw, mode="rb"), _BUFFER)


class _Reader:
    """Iterates over the rows of a file and knows where it is."""

    def __init__(
        self, source: Source, columns: tuple[str, ...], report: TableReport, note: Progress
    ) -> None:
        self.source = source
        self.columns = columns
        self.report = report
        self.note = note
        self._csv: Any = None

    @property
    def line(self) -> int:
        """The line of the file that was read last, from 1."""
        return max(1, self._csv.line_num) if self._csv is not None else 1

    def fail(self, what: str, column: str | None = None, hint: str = "") -> ImportFailed:
        """The error for the current line."""
        where = f"{self.source.path} line {self.line}"
        where += f" column {column}" if column else ""
        return ImportFailed(f"{where}: {what}", hint or "mend the file or download it again")

    def converted(self, convert: Converter) -> Iterator[tuple[Any, ...]]:
        """What ``convert`` makes of each row; counts what it keeps, and drops by reason."""
        report = self.report
        dropped = report.dropped
        read = kept = 0
        try:
            for fields in self:
                read += 1
                row = convert(fields)
                if row.__class__ is str:
                    dropped[row] = dropped.get(row, 0) + 1
                else:
                    kept += 1
                    yield row  # type: ignore[misc]
        except BadField as error:
            raise self.fail(str(error), error.column) from error
        finally:
            report.read += read
            report.kept += kept

    def __iter__(self) -> Iterator[Fields]:
        path = self.source.path
        with ExitStack() as stack:
            try:
                raw = stack.enter_context(path.open("rb", buffering=_BUFFER))
                data = _open_gzip(raw) if path.suffix == ".gz" else raw
                text = io.TextIOWrapper(data, encoding="utf-8", newline="")
                stack.callback(text.detach)
                yield from self._records(raw, text)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise self.fail(f"broken gzip data ({error})") from error
            except UnicodeDecodeError as error:
                raise self.fail(f"not UTF-8 text at or after this line ({error.reason})") from error
            except csv.Error as error:
                raise self.fail(f"not CSV ({error})") from error
            except OSError as error:
                raise ImportFailed(f"cannot read {path}: {error}", "check the file") from error

    def _records(self, raw: IO[bytes], text: io.TextIOWrapper) -> Iterator[Fields]:
        self._csv = reader = csv.reader(text, strict=True)
        header = next(reader, None)
        if not header:
            raise self.fail("the file is empty")
        header[0] = header[0].removeprefix("\ufeff")
        pick = self._pick(header)
        width = len(header)
        total = self.source.path.stat().st_size
        for count, fields in enumerate(reader):
            if len(fields) != width:
                if not fields:
                    continue  # a blank line, as at the end of a file edited by hand
                raise self._width(header, len(fields))
            if not count & (_REPORT_EVERY - 1):
                self.note(self.source.name, raw.tell(), total)
            yield pick(fields)
        self.note(self.source.name, total, total)

    def _width(self, header: list[str], found: int) -> ImportFailed:
        column = header[found] if found < len(header) else header[-1]
        return self.fail(f"{found} fields where the header has {len(header)}", column)

    def _pick(self, header: list[str]) -> Callable[[list[str]], Fields]:
        lowered = [h.strip().lower() for h in header]
        for column in self.columns:
            if column not in lowered:
                shown = ", ".join(lowered[:8]) + (" ..." if len(lowered) > 8 else "")
                hint = f"expected MIMIC-IV's {self.source.name}; the header has {shown}"
                raise self.fail("the header lacks this column", column, hint)
        places = [lowered.index(c) for c in self.columns]
        if len(places) == 1:
            only = places[0]
            return lambda fields: (fields[only],)
        return itemgetter(*places)
