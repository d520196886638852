"""``ehrqa db map``: the mappings of databases of other layouts, and whether one is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, target_of
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.contracts.plugins import Database
    from ehrqa_cli.ehr.mapping.check import Report
    from ehrqa_cli.ehr.mapping.fit import Fitted


@click.command("map", short_help="Mappings of databases that have other tables than ours.")
@click.option("--list", "listed", is_flag=True, help="List the mappings that come with ehrqa.")
@click.option("--show", metavar="NAME|FILE", help="Print a mapping's TOML.")
@click.option(
    "--check",
    "checked",
    is_flag=False,
    flag_value="",
    metavar="[NAME|FILE]",
    help="Check a mapping on --db [default: the one that is set, or that it is known by].",
)
@click.option("--new", type=FILE, metavar="OUT.toml", help="Write a mapping to fill in, for --db.")
@db_option
@json_option
def map_command(
    listed: bool,
    show: str | None,
    checked: str | None,
    new: Path | None,
    db: Path | None,
    as_json: bool,
) -> int:
    """Mappings: which SQL over a database's own tables gives ours, as one TOML file each.

    A database of a layout that ehrqa knows needs nothing. For another, write a mapping (--new
    begins one), check it, and name it: schema in the settings file, or EHRQA_SCHEMA.

    \b
    Examples:
      ehrqa db map --list
      ehrqa db map --check --db mimic-iv-2.2/
      ehrqa db map --new ward-7.toml --db ward-7.duckdb
      ehrqa db map --check ward-7.toml --db ward-7.duckdb

    \b
    Exit codes: 0 done or usable, 1 not usable, 2 usage, or a mapping that cannot be read.
    """
    wanted = [listed, show is not None, checked is not None, new is not None]
    if sum(wanted) != 1:
        raise UsageError(
            "say one thing to do", "add --list, --show NAME, --check [FILE] or --new OUT.toml"
        )
    if listed:
        return _list(as_json)
    if show is not None:
        return _show(show, as_json)
    if new is not None:
        return _new(new, db)
    return _check(checked or None, database_path(db), as_json)


def _list(as_json: bool) -> int:
    from ehrqa_cli.ehr.mapping import document as mapping

    found = [mapping.load(name) for name in mapping.shipped()]
    if as_json:
        output.json_line([{"name": m.name, "about": m.about, "sha256": m.sha256} for m in found])
    else:
        output.table(("mapping", "of"), [(m.name, m.about) for m in found])
    return 0


def _show(named: str, as_json: bool) -> int:
    from ehrqa_cli.ehr.mapping import document as mapping

    found = mapping.load(named)
    if as_json:
        output.json_line(asdict(found))
    else:
        output.write(found.text)
    return 0


def _new(out: Path, db: Path | None) -> int:
    from ehrqa_cli import config
    from ehrqa_cli.ehr.mapping import template as mapping_template
    from ehrqa_cli.ehr.open import open_as_it_is

    if out.exists():
        raise UsageError(f"{out} is there already", "name another file")
    target = db or (database_path(None) if config.load().db else None)
    schema: dict[str, Any] = {}
    if target is not None:
        opened = open_as_it_is(target)
        schema = dict(opened.schema())
        opened.close()
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in out.stem.lower())
    name = name if name[:1].isalpha() else f"ehr_{name}"
    text = mapping_template.text(name, str(out), str(target or "TARGET"), schema)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}", "name another file") from error
    diagnostics.note(f"{out}: fill it in, then `ehrqa db map --check {out}`")
    return 0


def _check(named: str | None, path: Path, as_json: bool) -> int:
    from ehrqa_cli.ehr.mapping import check as mapping_check
    from ehrqa_cli.ehr.open import open_as_it_is

    opened = open_as_it_is(path)
    try:
        fitted = _fitted(named, opened, path)
        with diagnostics.progress() as advance:
            done = iter(range(len(fitted.tables)))
            report = mapping_check.check(
                opened, fitted, lambda _table: advance(next(done), len(fitted.tables), "tables")
            )
    finally:
        opened.close()
    if as_json:
        record = asdict(report)
        output.json_line({"usable": report.usable, "database": str(path), **record})
    else:
        _print(report, path)
    return 0 if report.usable else 1


def _fitted(named: str | None, opened: Database, path: Path) -> Fitted:
    from ehrqa_cli.ehr.mapping import choice as mapping_choice
    from ehrqa_cli.ehr.mapping import document as mapping
    from ehrqa_cli.ehr.mapping.fit import fit

    if named is not None:
        return fit(mapping.load(named), opened.schema())
    fitted = mapping_choice.wanted(opened)
    if fitted is None:
        raise UsageError(
            f"no mapping is known for {target_of(path)}",
            "write one: `ehrqa db map --new OUT.toml`, or name one after --check",
        )
    return fitted


def _print(report: Report, path: Path) -> None:
    output.line(f"mapping {report.mapping} (sha256 {report.sha256[:16]}) over {target_of(path)}")
    rows = []
    for table in report.tables:
        if table.rows is None and not table.sources:
            told = f"none: {table.missing['']}"
        else:
            told = "; ".join(_without(table.missing))
        count = "" if table.rows is None else f"{table.rows:,}"
        rows.append((table.table, count, ", ".join(table.sources), told))
    output.table(("table", "rows", "from", "not there"), rows, numeric=(1,))
    for table in report.tables:
        for notice in table.notices:
            output.line(f"note: {table.table}: {notice}")
    for fault in report.faults:
        output.line(f"fault: {fault}")
    if report.declined:
        output.line(f"declined: questions about {'; '.join(report.declined)}")
    if report.unused:
        output.line(f"not used: {', '.join(report.unused)}")
    faults = len(report.faults)
    output.line("usable" if report.usable else f"not usable: {faults} faults")


def _without(missing: Mapping[str, str]) -> list[str]:
    """What a table lacks, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for column, why in missing.items():
        by_reason.setdefault(why, []).append(column)
    return [f"no {', '.join(columns)} ({why})" for why, columns in by_reason.items()]
