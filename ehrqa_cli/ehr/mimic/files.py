"""MIMIC-IV's files as PhysioNet ships them: found, opened, read as checked rows.

Whatever is wrong with a file is an ImportFailed that names file, line and column.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.mimic.options import Progress, TableReport
from ehrqa_cli.ehr.schema import BY_NAME

Fields = tuple[str, ...]
Converted = tuple[Any, ...] | str  # the values of a row, or why it is dropped
Converter = Callable[[Fields], Converted]

REQUIRED = ("hosp/patients", "hosp/admissions")
OPTIONAL = tuple(t.file for t in BY_NAME.values() if t.file and t.file not in REQUIRED)
# events can only be named by their dictionary, and details dated by what they belong to
NEEDS = {
    "hosp/diagnoses_icd": "hosp/d_icd_diagnoses",
    "hosp/procedures_icd": "hosp/d_icd_procedures",
    "hosp/labevents": "hosp/d_labitems",
    "icu/chartevents": "icu/d_items",
    "icu/inputevents": "icu/d_items",
    "icu/outputevents": "icu/d_items",
    "hosp/emar_detail": "hosp/emar",
    "hosp/poe_detail": "hosp/poe",
}
_LAYOUT = "give the folder that holds MIMIC-IV's hosp/ and icu/ as PhysioNet ships them"
_BUFFER = 1 << 20
_REPORT_EVERY = 1 << 14  # rows


class BadRow(ValueError):
    """A row that cannot be read: the column at fault and what is wrong."""

    def __init__(self, column: str, what: str) -> None:
        super().__init__(what)
        self.column = column


class BadField(BadRow):
    """A field that is not what its column holds."""

    def __init__(self, column: str, value: str, wanted: str) -> None:
        super().__init__(column, f"{value[:40]!r} is not {wanted}")


@dataclass(frozen=True)
class MimicFile:
    """One file of the release. ``name`` is as in the documentation, e.g. ``hosp/labevents``."""

    name: str
    path: Path

    def rows(self, columns: tuple[str, ...], report: TableReport, note: Progress) -> _Reader:
        """Its rows, each as the fields of ``columns``; counts them in ``report``."""
        return _Reader(self, columns, report, note)

    def header(self) -> tuple[str, ...]:
        """Its columns, in lower case. Raises ImportFailed."""
        return _Reader(self, (), TableReport("", ""), lambda _what, _done, _of: None).header()


def find(folder: Path) -> tuple[dict[str, MimicFile], list[str], list[MimicFile]]:
    """The files of a release: those used, names of optional ones missing, files ignored.

    Raises ImportFailed when the folder is none, or a required file is missing.
    """
    if not folder.is_dir():
        raise ImportFailed(f"{folder} is not a folder", _LAYOUT)
    found: dict[str, MimicFile] = {}
    for name in (*REQUIRED, *OPTIONAL):
        for ending in (".csv", ".csv.gz"):
            path = folder / f"{name}{ending}"
            if path.is_file():
                found[name] = MimicFile(name, path)
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
    ignored = [
        MimicFile(f"{p.parent.name}/{p.name.partition('.')[0]}", p)
        for p in every
        if p not in used and p.name.endswith((".csv", ".csv.gz"))
    ]
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
        self, source: MimicFile, columns: tuple[str, ...], report: TableReport, note: Progress
    ) -> None:
        self.source = source
        self.columns = columns
        self.report = report
        self.note = note
        self.line = 1  # of the file, the one that was read last

    def fail(self, what: str, column: str | None = None, hint: str = "") -> ImportFailed:
        """The error for the current line."""
        where = f"{self.source.path} line {self.line}"
        where += f" column {column}" if column else ""
        return ImportFailed(f"{where}: {what}", hint or "mend the file or download it again")

    def converted(self, convert: Converter) -> Generator[tuple[Any, ...], None, None]:
        """What ``convert`` makes of each row; counts what it keeps, and drops by reason.

        Raises ImportFailed for whatever is wrong with the file.
        """
        with self._opened() as (raw, text):
            yield from self._rows(raw, text, convert)

    def header(self) -> tuple[str, ...]:
        """The file's columns, in lower case. Raises ImportFailed."""
        with self._opened() as (_, text):
            return tuple(name.strip().lower() for name in self._header(text))

    def _header(self, text: Iterable[str]) -> list[str]:
        header = next(csv.reader(text, strict=True), None)
        if not header:
            raise self.fail("the file is empty")
        header[0] = header[0].removeprefix("\ufeff")
        return header

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], io.TextIOWrapper]]:
        """The file's bytes and its text; whatever is wrong with it becomes an ImportFailed."""
        path = self.source.path
        with ExitStack() as stack:
            try:
                raw = stack.enter_context(path.open("rb", buffering=_BUFFER))
                data = _open_gzip(raw) if path.suffix == ".gz" else raw
                text = io.TextIOWrapper(data, encoding="utf-8", newline="")
                stack.callback(text.detach)
                yield raw, text
            except BadRow as error:
                raise self.fail(str(error), error.column) from error
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise self.fail(f"broken gzip data ({error})") from error
            except UnicodeDecodeError as error:
                raise self.fail(f"not UTF-8 text at or after this line ({error.reason})") from error
            except csv.Error as error:
                raise self.fail(f"not CSV ({error})") from error
            except OSError as error:
                raise ImportFailed(f"cannot read {path}: {error}", "check the file") from error

    def _rows(
        self, raw: IO[bytes], text: io.TextIOWrapper, convert: Converter
    ) -> Iterator[tuple[Any, ...]]:
        header = self._header(text)
        pick, width = self._pick(header), len(header)
        report, dropped = self.report, self.report.dropped
        total = self.source.path.stat().st_size
        # All in one loop: another generator in between costs a tenth of the import's time, and
        # letting csv split the lines that have no quotes in them, nearly all, another tenth.
        read = kept = extra = split = 0
        ahead: list[str] = []
        quoted = csv.reader(
            iter(lambda: ahead.pop() if ahead else next(text, None), None), strict=True
        )
        try:
            for line in text:
                read += 1
                if '"' in line:
                    ahead.append(line)
                    split += 1
                    fields = next(quoted)  # of more lines, if a quoted field holds line breaks
                else:
                    fields = line.rstrip("\r\n").split(",")
                if len(fields) != width:
                    if fields == [""]:  # a blank line, as at the end of a file edited by hand
                        extra += 1
                        read -= 1
                        continue
                    column = header[min(len(fields), width - 1)]
                    raise BadRow(column, f"{len(fields)} fields where the header has {width}")
                row = convert(pick(fields))
                if not read & (_REPORT_EVERY - 1):
                    self.note(self.source.name, raw.tell(), total)
                if isinstance(row, tuple):
                    kept += 1
                    yield row
                else:
                    dropped[row] = dropped.get(row, 0) + 1
        finally:
            self.line = 1 + read + extra + quoted.line_num - split
            report.read += read
            report.kept += kept
        self.note(self.source.name, total, total)

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
