"""``ehrqa notes index`` and ``ehrqa notes search``: the notes indexed, and lines found in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import database_path, db_option, json_option
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.notes import Stance

if TYPE_CHECKING:
    from ehrqa_cli.contracts.notes import FoundLine
    from ehrqa_cli.notes.find import IndexReport


@click.command("index")
@db_option
@click.option("--words-only", is_flag=True, help="Index the words now, the meaning another time.")
@click.option("--rebuild", is_flag=True, help="Delete the index and make it anew.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cores to use for the meaning [default: all].",
)
@json_option
def index_command(
    db: Path | None, words_only: bool, rebuild: bool, threads: int | None, as_json: bool
) -> int:
    """Index the notes beside the EHR of --db, so that questions are quick.

    Only notes that are not indexed yet are read, so an index that was broken off is finished by
    the same command. First the words of all notes (minutes for 100,000), then their meaning (about
    one note of 1,000 words a second and core). Notes can be asked about before that is done.

    \b
    Examples:
      ehrqa notes index --db ehr.sqlite
      ehrqa notes index --words-only --db ehr.sqlite

    \b
    Exit codes: 0 indexed, 1 it cannot be made, 2 usage.
    """
    from ehrqa_cli.notes.find import index_notes

    path = database_path(db)
    with diagnostics.progress("count") as advance:
        report = index_notes(
            path, words_only=words_only, rebuild=rebuild, threads=threads or 0, advance=advance
        )
    if as_json:
        output.json_line(_report_record(report))
    else:
        _print_report(report)
    return 0


@click.command("search")
@click.argument("query")
@db_option
@click.option(
    "--patient", type=click.IntRange(min=0), metavar="ID", help="Search this patient's notes only."
)
@click.option(
    "-k",
    "--most",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="How many patients, or lines of the patient, to show at most.",
)
@click.option(
    "--stance",
    "stances",
    type=click.Choice([stance.value for stance in Stance]),
    multiple=True,
    help="Keep only lines that speak of it so (may be repeated) [default: all].",
)
@json_option
def search_command(
    query: str,
    db: Path | None,
    patient: int | None,
    most: int,
    stances: tuple[str, ...],
    as_json: bool,
) -> int:
    """Find the lines of notes that mention QUERY: of each patient the best, or of --patient all.

    Abbreviations and synonyms are found too ("pleural drain" finds "chest tube"). Each line is
    shown with its stance: stated, negated, family, planned or unsure.

    \b
    Examples:
      ehrqa notes search "pleural drain" --db ehr.sqlite
      ehrqa notes search "heart failure" --patient 10018081 --stance stated --db ehr.sqlite

    \b
    Exit codes: 0 searched, also when nothing was found, 1 it cannot be searched, 2 usage.
    """
    from ehrqa_cli.notes.find import Finder

    if not query.strip():
        raise UsageError("there is nothing to search for", "name it between quotes")
    path = database_path(db)
    found: list[tuple[int, FoundLine]] = []
    nothing = f"no line of {'any patient' if patient is None else f'patient {patient}'} was found"
    with Finder.open(path) as finder:
        if patient is None:
            found = finder.cohort(query, most)
        elif patient not in (known := finder.store.patients()):
            nothing = f"patient {patient} has no notes here; {_some(known)}"
        else:
            found = [(patient, line) for line in finder.find(query, patient, most)]
    kept = [(whose, line) for whose, line in found if not stances or line.stance.value in stances]
    if as_json:
        output.json_line([_line_record(whose, line) for whose, line in kept])
    elif kept:
        columns = ("patient", "note", "line", "stance", "score", "text")
        output.table(columns, [_row(whose, line) for whose, line in kept], numeric=(2, 4))
    if not kept:
        diagnostics.note(nothing)
    return 0


def _some(patients: Sequence[int]) -> str:
    """The first few who have notes."""
    shown = ", ".join(map(str, patients[:3]))
    return f"there are some of {shown}{' and others' if len(patients) > 3 else ''}"


def _row(patient: int, found: FoundLine) -> tuple[Any, ...]:
    line = found.line
    text = " ".join(line.text.split())
    return (patient, line.note_id, line.number, found.stance.value, f"{found.score:.2f}", text)


def _line_record(patient: int, found: FoundLine) -> dict[str, Any]:
    line = found.line
    return {
        "patient_id": patient,
        "note_id": line.note_id,
        "line": line.number,
        "start": line.start,
        "end": line.end,
        "section": line.section,
        "stance": found.stance.value,
        "score": round(found.score, 4),
        "excerpt": line.text,
    }


def _print_report(report: IndexReport) -> None:
    output.line(f"{report.new_notes:,} notes and {report.new_vectors:,} vectors added")
    output.line(
        f"{report.notes:,} notes, {report.lines:,} lines, {report.vectors:,} vectors are indexed"
    )
    for name, size in report.sizes.items():
        output.line(f"  {name}  {size / 1e6:,.1f} MB")


def _report_record(report: IndexReport) -> dict[str, Any]:
    return {
        "new_notes": report.new_notes,
        "new_vectors": report.new_vectors,
        "notes": report.notes,
        "lines": report.lines,
        "vectors": report.vectors,
        "bytes": report.sizes,
    }
