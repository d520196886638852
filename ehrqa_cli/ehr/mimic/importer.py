"""Import of MIMIC-IV as PhysioNet ships it into the schema of EHRSQL-2024 (docs/import.md).

Files are streamed: what is held in memory are the patients, their visits and the dictionaries,
never the events.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import asdict
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.mimic.costs import add_costs
from ehrqa_cli.ehr.mimic.events import EVENTS, Context, Units
from ehrqa_cli.ehr.mimic.files import Converter, MimicFile, find
from ehrqa_cli.ehr.mimic.names import ICD_COLUMNS, ITEM_COLUMNS, LAB_COLUMNS, Names
from ehrqa_cli.ehr.mimic.options import (
    EHRSQL_NOW,
    ImportOptions,
    ImportReport,
    Progress,
    TableReport,
)
from ehrqa_cli.ehr.mimic.visits import PATIENT_COLUMNS, VISIT_COLUMNS, read_cohort
from ehrqa_cli.ehr.schema import BY_NAME, TABLES

_FORMAT = "1"


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

    def load(self, file: str, columns: tuple[str, ...], convert: Converter) -> None:
        """Fill the table that has the name of ``file`` from it, if it is there."""
        name = file.rpartition("/")[2]
        report = TableReport(name, file)
        self.reports.append(report)
        source = self.files.get(file)
        if source is None:
            return
        reader = source.rows(columns, report, self.note)
        rows = reader.converted(convert)
        try:
            bulk.insert(self.connection, BY_NAME[name], rows)
        except sqlite3.IntegrityError as error:
            rows.close()  # only then does the reader know its line
            what, _, where = str(error).partition(": ")
            column = where.rpartition(".")[2] or None
            missing = "NOT NULL" in what
            raise reader.fail("the field is empty" if missing else str(error), column) from error
        except OverflowError as error:
            rows.close()
            raise reader.fail(f"a number is too large ({error})") from error

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
) -> ImportReport:
    """Read the release in ``source`` (``hosp/`` and ``icu/``, .csv or .csv.gz) into file ``out``.

    ``progress(what, done, of)`` is told the bytes read of each file, and then of the indexes how
    many are made. Raises ImportFailed, naming file, line and column, and then leaves no file.
    """
    options = options or ImportOptions()
    if options.time_shift not in ("none", "ehrsql"):
        raise ImportFailed(f"unknown time shift {options.time_shift!r}", "use none or ehrsql")
    note = progress or _silent
    started = time.monotonic()
    files, missing, ignored = find(source)
    with bulk.new_database(out, options.force) as connection:
        for table in TABLES:
            connection.execute(table.ddl())
        work = _Import(files, connection, note)
        _read_all(work, options)
        if options.synthetic_costs is not None:
            work.reports.append(add_costs(connection, options.synthetic_costs))
        bulk.index(connection, TABLES, lambda done, of: note("indexes", done, of))
        as_of = _as_of(connection, source, options)
        bulk.write_meta(connection, _meta(options, as_of))
    order = {t.name: i for i, t in enumerate(TABLES)}
    reports = tuple(sorted(work.reports, key=lambda r: order[r.table]))
    seconds = time.monotonic() - started
    return ImportReport(out, reports, tuple(missing), tuple(ignored), as_of, seconds)


def _read_all(work: _Import, options: ImportOptions) -> None:
    cohort = read_cohort(work.files, options, work.note)
    work.load("hosp/admissions", VISIT_COLUMNS, cohort.visit)
    work.load("hosp/patients", PATIENT_COLUMNS, cohort.patient)
    names = Names(options, cohort.texts)
    work.load("hosp/d_icd_procedures", ICD_COLUMNS, names.procedure)
    work.load("hosp/d_icd_diagnoses", ICD_COLUMNS, names.diagnosis)
    work.load("hosp/d_labitems", LAB_COLUMNS, names.lab)
    work.load("icu/d_items", ITEM_COLUMNS, names.item)
    names.finish()
    context = Context(cohort, names)
    if options.whole_doses:
        context.units.update(work.units(context))
    for event in EVENTS:
        work.load(event.file, event.columns, event.make(context))


def _as_of(connection: sqlite3.Connection, source: Path, options: ImportOptions) -> str:
    if options.time_shift == "ehrsql":
        return EHRSQL_NOW
    year = bulk.last_event(connection, TABLES)[:4]
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
