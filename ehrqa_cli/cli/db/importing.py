"""``ehrqa db import``: MIMIC-IV's files into a file or a server, every row accounted for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.ehr.mimic.options import ColumnReport, ImportOptions, ImportReport

Command = TypeVar("Command", bound=Callable[..., Any])

# What --to may name beside a server, and the address under which its plugin makes it.
_FILES = {"duckdb": "duckdb:{}", "parquet": "duckdb:{}/"}
# Fields of ImportOptions that are flags, each with its help; none is on by default.
FLAGS: dict[str, str] = {
    "drop_ambiguous_names": "Drop items that have the name of another kind of thing.",
    "drop_duplicate_titles": "Keep one ICD code of those with the same title.",
    "whole_doses": "Keep only whole-number doses, in the drug's commonest unit.",
    "drop_labs_without_unit": "Drop labs whose unit is missing (INR is one).",
    "procedures_at_discharge": "Date procedures of the day of admission to the discharge.",
    "drop_without_number": "Drop labs and events of the ICU that have no numeric value.",
    "drop_outside_visits": "Drop labs, cultures, transfers and patients of no hospital visit.",
    "drop_other_items": "List only chart, intake and output items in d_items.",
}


def _import_options(command: Command) -> Command:
    flags = [
        click.option("--" + name.replace("_", "-"), is_flag=True, help=about)
        for name, about in FLAGS.items()
    ]
    others = [
        click.option("--ehrsql", is_flag=True, help="Switch every convention of EHRSQL-2024 on."),
        click.option(
            "--time-shift",
            type=click.Choice(["none", "ehrsql"]),
            default="none",
            show_default=True,
            help="ehrsql moves each patient's first visit to 2100 and keeps that year.",
        ),
        click.option("--keep-case", is_flag=True, help="Keep capitals (default: lower case)."),
        click.option(
            "--chart-item",
            "chart_items",
            type=int,
            multiple=True,
            metavar="ID",
            help="Keep these items of chartevents only.",
        ),
        click.option(
            "--vital-signs",
            is_flag=True,
            help="Keep EHRSQL's nine vital signs of chartevents only: a tenth of its rows.",
        ),
        click.option(
            "--patient",
            "patients",
            type=int,
            multiple=True,
            metavar="ID",
            help="Import only these patients.",
        ),
        click.option(
            "--synthetic-costs",
            type=int,
            metavar="SEED",
            help="Fill cost with made-up prices; MIMIC-IV has none [default: left empty].",
        ),
        click.option("--force", is_flag=True, help="Replace FILE, or the tables, if they exist."),
    ]
    for option in reversed([*others[:-1], *flags, others[-1]]):
        command = option(command)
    return command


@click.command("import")
@click.argument("source", type=FILE, metavar="DIR")
@click.option("--out", type=FILE, metavar="FILE", help="The database to make.")
@click.option(
    "--to", metavar="KIND", help="Not SQLite but duckdb, parquet (a folder), or postgresql://..."
)
@_import_options
@click.option("--explain", is_flag=True, help="Say what becomes of every column of the files.")
@json_option
def import_command(
    source: Path, out: Path | None, to: str | None, explain: bool, as_json: bool, **flags: Any
) -> int:
    """Import MIMIC-IV from DIR, with hosp/ and icu/ as PhysioNet ships them (.csv or .csv.gz).

    All is kept unless an option drops it; what is dropped is counted with the reason. Each option
    is one convention of EHRSQL-2024. An import that fails leaves no FILE. With --to, DIR may also
    be a SQLite EHR. A server gets all tables in one transaction, and a role that may only read
    them. --explain without a place to write to imports nothing.

    \b
    Examples:
      ehrqa db import mimic-iv-2.2 --out ehr.sqlite
      ehrqa db import mimic-iv-2.2 --to duckdb --out ehr.duckdb
      ehrqa db import mimic-iv-2.2 --to postgresql://loader@dbhost/ehr
      ehrqa db import mimic-iv-demo --out ehr.sqlite --ehrsql --synthetic-costs 1
      ehrqa db import mimic-iv-2.2 --explain

    \b
    Exit codes: 0 imported, 1 a file is missing or wrong (with line and column), 2 usage.
    """
    from ehrqa_cli.ehr.mimic.importer import import_mimic
    from ehrqa_cli.ehr.mimic.large import advice

    if explain and out is None and to is None:
        return _explain(source, as_json)
    if (out is None) == (to is None or to in _FILES):
        raise UsageError("name one place to import to", "add --out FILE, or --to ADDRESS")
    options = _options(flags)
    if to is not None:
        return _written(source, to, out, options, as_json, explain)
    assert out is not None
    if advised := advice(source):
        diagnostics.note(advised)
    with diagnostics.progress("share") as advance:
        report = import_mimic(source, out, options, lambda what, done, of: advance(done, of, what))
    if as_json:
        output.json_line(_record(report))
    else:
        _print(report, explain=explain)
    return 0


def _explain(source: Path, as_json: bool) -> int:
    """What would become of every column, from the headers of the files."""
    from ehrqa_cli.ehr.mimic.accounting import explain

    found = explain(source)
    if as_json:
        from dataclasses import asdict

        output.json_line({"columns": [asdict(column) for column in found]})
    else:
        _columns(found)
    return 0


def _columns(found: tuple[ColumnReport, ...]) -> None:
    rows = [(c.file, c.column, c.what, c.to or c.why) for c in found]
    output.table(("file", "column", "is", "as, or why"), rows)


def _written(
    source: Path, to: str, out: Path | None, options: ImportOptions, as_json: bool, explain: bool
) -> int:
    """The import into a server, or into files that are not SQLite's."""
    from ehrqa_cli.cli.db.load import load

    target, beside = to, None
    if out is not None:
        target, to, beside = _FILES[to].format(out), str(out), out.absolute().parent
    report, loaded, seconds = load(source, target, options, beside)
    if as_json:
        said = {"to": to, "loaded": {"tables": loaded.tables, "rows": loaded.rows}}
        known = {k: v for k, v in _record(report).items() if k != "out"} if report else {}
        output.json_line({**known, **said, "notes": list(loaded.notes), "seconds": seconds})
        return 0
    if report is not None:
        _print(report, to, explain)
    speed = loaded.rows / seconds if seconds else 0
    what = f"{loaded.tables} tables, {loaded.rows:,} rows"
    output.line(f"{to}: {what} written in {seconds:.1f} s ({speed:,.0f} rows/s)")
    for note in loaded.notes:
        diagnostics.note(note)
    return 0


def _options(flags: dict[str, Any]) -> ImportOptions:
    from ehrqa_cli.ehr.mimic.options import EHRSQL_CHART_ITEMS, ImportOptions

    chosen = frozenset(flags["chart_items"])
    chosen |= EHRSQL_CHART_ITEMS if flags["vital_signs"] else frozenset()
    options = ImportOptions(
        time_shift=flags["time_shift"],
        lower_case=not flags["keep_case"],
        chart_items=chosen or None,
        patients=frozenset(flags["patients"]) or None,
        synthetic_costs=flags["synthetic_costs"],
        force=flags["force"],
        **{name: flags[name] for name in FLAGS},
    )
    return options.as_ehrsql() if flags["ehrsql"] else options


def _print(report: ImportReport, to: str = "", explain: bool = False) -> None:
    if explain:
        _columns(report.columns)
    rows = []
    for table in report.tables:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in table.dropped.items())
        rows.append((table.table, f"{table.read:,}", f"{table.kept:,}", reasons))
    output.table(("table", "read", "kept", "dropped"), rows, numeric=(1, 2))
    if report.missing:
        diagnostics.note(f"optional files that were not there: {', '.join(report.missing)}")
    if report.ignored:
        diagnostics.note(f"{len(report.ignored)} files have no use here (--explain says why)")
    unknown = [f"{c.file}.{c.column}" for c in report.columns if c.what == "unknown"]
    if unknown:
        diagnostics.note(f"columns that this version does not know: {', '.join(unknown)}")
    place = "read" if to else str(report.out)
    output.line(f"{place}: {report.rows:,} rows in {report.seconds:.1f} s")
    output.line(f"'now' is {report.as_of} unless --as-of says otherwise")


def _record(report: ImportReport) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "out": str(report.out),
        "rows": report.rows,
        "as_of": report.as_of,
        "missing": list(report.missing),
        "ignored": list(report.ignored),
        "tables": [asdict(table) for table in report.tables],
        "columns": [asdict(column) for column in report.columns],
    }
