"""``ehrqa notes``: clinical notes read in beside the EHR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.notes.find import index_command, search_command
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option

if TYPE_CHECKING:
    from ehrqa_cli.notes.importing import NotesReport, Problem

_SHOWN = 20  # problems told one by one


@click.group(short_help="Import clinical notes and find lines in them.")
def notes() -> None:
    """Clinical notes, kept beside the EHR in FILE.notes.sqlite; nobody else can read it.

    \b
    Examples:
      ehrqa notes import discharge.csv.gz --db ehr.sqlite
      ehrqa notes import notes.jsonl --db ehr.sqlite
      ehrqa notes index --db ehr.sqlite
      ehrqa notes search "pleural drain" --db ehr.sqlite
    """


@notes.command("import")
@click.argument("source", type=FILE, metavar="FILE")
@db_option
@click.option(
    "--patient",
    type=click.IntRange(min=0),
    metavar="ID",
    help="Whose notes they are: of text files, and of records that name no patient.",
)
@click.option(
    "--encoding",
    metavar="NAME",
    help="The encoding of FILE [default: Unicode as it is found, else cp1252].",
)
@click.option("--replace", is_flag=True, help="Take the new text of a note that is there already.")
@json_option
def import_command(
    source: Path,
    db: Path | None,
    patient: int | None,
    encoding: str | None,
    replace: bool,
    as_json: bool,
) -> int:
    """Import the notes of FILE beside the EHR of --db.

    FILE is MIMIC-IV-Note's discharge.csv or discharge.csv.gz, JSON Lines with note_id, patient_id
    and text, a text file, or a folder of text files named by patient (10000032-DS-21.txt or
    10000032/note.txt). Notes that are there already are skipped, so an import that was broken off
    is finished by the same command.

    \b
    Examples:
      ehrqa notes import note/discharge.csv.gz --db ehr.sqlite
      ehrqa notes import letters --patient 10000032 --db ehr.sqlite

    \b
    Exit codes: 0 every note is in, 1 a note was left out (each is named), 2 usage.
    """
    from ehrqa_cli.notes.importing import import_notes

    path = database_path(db)
    if not path.exists():
        diagnostics.note(f"there is no EHR at {path} yet; the notes are kept beside it")
    told = _Teller()
    with diagnostics.progress("bytes" if source.is_file() else "count") as advance:
        report = import_notes(
            source,
            path,
            patient=patient,
            encoding=encoding,
            replace=replace,
            on_problem=told,
            advance=lambda done, total: advance(done, total, source.name),
        )
    _conclude(report)
    if as_json:
        output.json_line(_record(report))
    else:
        _print(report)
    return 0 if report.complete else 1


class _Teller:
    """Tells the first problems as they are met; the rest are counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, problem: Problem) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            diagnostics.warn(f"{problem.where}: {problem.message}; {problem.hint}")


def _conclude(report: NotesReport) -> None:
    if report.left_out > _SHOWN:
        diagnostics.warn(f"and {report.left_out - _SHOWN:,} more like these (--json names them)")
    if report.stray_bytes:
        diagnostics.warn(
            f"{report.stray_bytes:,} bytes are not UTF-8 and were read as cp1252; "
            "if letters look wrong, import again with --encoding NAME --replace"
        )
    if report.left_out:
        diagnostics.error(
            f"{report.left_out:,} of {report.read:,} notes were left out",
            "mend them and run the same command again; what is in stays in",
        )


def _print(report: NotesReport) -> None:
    counts = [f"{count:,} {outcome}" for outcome, count in report.outcomes.items() if count]
    output.line(f"{report.source}: {report.read:,} notes read: {', '.join(counts) or 'none added'}")
    output.line(
        f"{report.store}: {report.notes:,} notes of {report.patients:,} patients,"
        f" {report.lines:,} lines"
    )


def _record(report: NotesReport) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "source": str(report.source),
        "store": str(report.store),
        "read": report.read,
        "left_out": report.left_out,
        "outcomes": {outcome.name.lower(): count for outcome, count in report.outcomes.items()},
        "problems": [asdict(problem) for problem in report.problems],
        "notes": report.notes,
        "patients": report.patients,
        "lines": report.lines,
    }


notes.add_command(index_command)
notes.add_command(search_command)
