"""Import of MIMIC-IV as PhysioNet ships it into the schema of EHRSQL-2024 (docs/import.md).

Files are streamed: what is held in memory are the patients, their visits and the dictionaries,
never the events.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.mimic.accounting import account
from ehrqa_cli.ehr.mimic.costs import add_costs
from ehrqa_cli.ehr.mimic.events import Context, Units, converter, details
from ehrqa_cli.ehr.mimic.fields import Made, Makers, of_parent
from ehrqa_cli.ehr.mimic.files import Converter, MimicFile, find
from ehrqa_cli.ehr.mimic.names import Names
from ehrqa_cli.ehr.mimic.options import (
    EHRSQL_NOW,
    ImportOptions,
    ImportReport,
    Progress,
    TableReport,
)
from ehrqa_cli.ehr.mimic.values import Filling
from ehrqa_cli.ehr.mimic.visits import read_cohort
from ehrqa_cli.ehr.schema import BY_NAME, OPTIONAL_TABLES, TABLES, EhrTable

_FORMAT = "2"


def _silent(what: str, done: int, of: int) -> None:
    del what, done, of


class _Import:
    """One import under way."""

    def __init__(
        self, files: dict[str, MimicFile], connection: sqlite3.Connection, note: Progress
    ) -> None:
        self.files = files
        self.connection = connection
        self.note = note
        self.reports: list[TableReport] = []
        self.made: dict[str, Made] = {}

    def create(self, makers: Makers) -> None:
        """Make the tables, with the columns that the files have; optional ones with a file only."""
        for table in BY_NAME.values():
            source = self.files.get(table.file or "")
            if source is not None:
                self.made[table.name] = Made(table, source.header(), makers)
                self.connection.execute(self.made[table.name].table.ddl())
            elif not table.optional:
                self.connection.execute(table.ddl())

    def tables(self) -> list[EhrTable]:
        """Those of the new database."""
        made = {name: one.table for name, one in self.made.items()}
        return [made.get(t.name, t) for t in (*TABLES, *OPTIONAL_TABLES)
                if t.name in made or not t.optional]  # fmt: skip

    def load(self, name: str, make: Callable[[Made], Converter]) -> None:
        """Fill a table from its file, if it is there."""
        table = BY_NAME[name]
        report = TableReport(name, table.file or "")
        made = self.made.get(name)
        if made is not None or not table.optional:
            self.reports.append(report)
        if made is None:
            return
        reader = self.files[report.file].rows(made.columns, report, self.note)
        bulk.insert(self.connection, made.table, reader.converted(make(made)))

    def parents(self, made: Made) -> Filling[Any]:
        """What the rows of a table of details have from those of its parent, by their key."""
        assert made.table.parent is not None
        name, key = made.table.parent
        given = [c.name for c in made.made if of_parent(c)]
        bulk.index(self.connection, [replace(self.made[name].table, indexes=())])
        sql = f"SELECT {', '.join(given)} FROM {name} WHERE {key} = ?"
        return Filling(
            lambda text: self.connection.execute(sql, (text.strip().lower(),)).fetchone()
        )

    def units(self, context: Context) -> dict[str, str | None]:
        """Each drug's commonest unit, from a first reading of prescriptions."""
        source = self.files.get("hosp/prescriptions")
        if source is None:
            return {}
        units = Units(context)
        reader = source.rows(Units.columns, TableReport("", ""), self.note)
        for _ in reader.converted(units.count):
            pass
        return units.commonest()


def import_mimic(
    source: Path,
    out: Path,
    options: ImportOptions | None = None,
    progress: Progress | None = None,
    *,
    indexed: bool = True,
) -> ImportReport:
    """Read the release in ``source`` (``hosp/`` and ``icu/``, .csv or .csv.gz) into file ``out``.

    ``progress(what, done, of)`` is told the bytes read of each file, and then of the indexes how
    many are made: without ``indexed`` those only that find a row that stands twice. Raises
    ImportFailed, naming file, line and column, and then leaves no file.
    """
    options = options or ImportOptions()
    if options.time_shift not in ("none", "ehrsql"):
        raise ImportFailed(f"unknown time shift {options.time_shift!r}", "use none or ehrsql")
    note = progress or _silent
    started = time.monotonic()
    files, missing, ignored = find(source)
    columns = account(files, ignored)
    with bulk.new_database(out, options.force) as connection:
        work = _Import(files, connection, note)
        _read_all(work, options)
        if options.synthetic_costs is not None:
            work.reports.append(add_costs(connection, options.synthetic_costs))
        made = work.tables()
        wanted = made if indexed else [replace(table, indexes=()) for table in made]
        bulk.index(connection, wanted, lambda done, of: note("indexes", done, of))
        as_of = _as_of(connection, source, options, made)
        bulk.write_meta(connection, _meta(options, as_of))
    order = {t.name: i for i, t in enumerate((*TABLES, *OPTIONAL_TABLES))}
    reports = tuple(sorted(work.reports, key=lambda r: order[r.table]))
    seconds = time.monotonic() - started
    left = tuple(f"{file.path.parent.name}/{file.path.name}" for file in ignored)
    return ImportReport(out, reports, tuple(missing), left, as_of, seconds, columns)


def _read_all(work: _Import, options: ImportOptions) -> None:
    cohort = read_cohort(work.files, options, work.note)
    makers = Makers(options.lower_case, cohort.now, admitted=cohort.admitted)
    work.create(makers)
    work.load("admissions", cohort.stays)
    work.load("patients", cohort.people)
    names = Names(options, cohort.texts, makers.labels)
    for dictionary in ("d_icd_procedures", "d_icd_diagnoses", "d_labitems", "d_items"):
        work.load(dictionary, lambda made: names.converter(made, cohort.unshifted))
    context = Context(cohort, names)
    if options.whole_doses:
        context.units.update(work.units(context))
    done = {report.table for report in work.reports}
    for table in BY_NAME.values():
        if table.file and table.name not in done:
            work.load(table.name, lambda made: _converter(work, context, made))


def _converter(work: _Import, context: Context, made: Made) -> Converter:
    if made.table.parent:
        return details(context, made, work.parents(made))
    return converter(context, made)


def _as_of(
    connection: sqlite3.Connection, source: Path, options: ImportOptions, made: list[EhrTable]
) -> str:
    if options.time_shift == "ehrsql":
        return EHRSQL_NOW
    year = bulk.last_event(connection, made)[:4]
    if not year:
        raise ImportFailed(f"{source} holds no hospital visit to import", "check the patients")
    return f"{year}-12-31 23:59:00"


def _meta(options: ImportOptions, as_of: str) -> dict[str, str]:
    said = asdict(options)
    said.pop("force")
    for name in ("chart_items", "patients"):
        said[name] = sorted(said[name]) if said[name] is not None else None
    chosen = json.dumps(said, sort_keys=True)
    return {"as_of": as_of, "source": "mimic-iv", "format": _FORMAT, "options": chosen}
