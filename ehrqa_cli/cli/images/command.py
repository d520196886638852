"""``ehrqa images``: make the chest X-rays of a folder known to an EHR."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.images.model import index, predict
from ehrqa_cli.cli.images.tables import tables
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option

if TYPE_CHECKING:
    from ehrqa_cli.vqa.imaging.enrol import Registration

_LISTED = 20  # lines about bad rows; --json has them all

# Fields of Registration that count what is left out, as a person reads them.
_LEFT_OUT = {
    "missing": "without an image file",
    "unreadable": "unreadable",
    "unknown_patients": "of patients that are not in the EHR",
    "invalid": "with a wrong field",
    "sideways": "without a frontal image",
    "beyond": "after the end of the database",
}


@click.group(short_help="Register chest X-rays and read them.")
def images() -> None:
    """Register chest X-rays and read them.

    \b
    Examples:
      ehrqa images add mimic-cxr-jpg --db ehr.sqlite
      ehrqa images index --db ehr.sqlite
      ehrqa images predict films --out seen.jsonl
      ehrqa images tables --db ehr.sqlite --scene-graphs labels
    """


images.add_command(index)
images.add_command(predict)
images.add_command(tables)


@images.command()
@click.argument("folder", type=FILE, metavar="DIR")
@db_option
@click.option(
    "--metadata",
    type=FILE,
    metavar="CSV",
    help="The list of the images [default: found in DIR, else their DICOM headers].",
)
@click.option(
    "--new-patients",
    is_flag=True,
    help="Add patients that the EHR lacks, where sex and date of birth or age are given.",
)
@click.option(
    "--mimic-iv",
    type=FILE,
    metavar="DIR",
    help="The release that an EHR with shifted times (--ehrsql) was imported from.",
)
@json_option
def add(
    folder: Path,
    db: Path | None,
    metadata: Path | None,
    new_patients: bool,
    mimic_iv: Path | None,
    as_json: bool,
) -> int:
    """Register the studies of the images in DIR in the EHR's table tb_cxr, and remember DIR.

    The list is MIMIC-CXR's mimic-cxr-2.0.0-metadata.csv[.gz], or a CSV file with the columns
    image and patient_id and, if known, study_id, time, view (and sex, dob or age for
    --new-patients). A study is represented by its earliest frontal image. Images are PNG, JPEG
    or DICOM. Adding again adds only what is new; an error adds nothing.

    \b
    Examples:
      ehrqa images add mimic-cxr-jpg --db ehr.sqlite
      ehrqa images add xrays --db ehr.sqlite --metadata list.csv --new-patients

    \b
    Exit codes: 0 done, 1 an error, or none of the studies could be registered, 2 usage.
    """
    from ehrqa_cli.vqa.register import register

    path = database_path(db)
    with diagnostics.progress() as advance:
        done = register(
            folder,
            path,
            metadata=metadata,
            new_patients=new_patients,
            mimic_iv=mimic_iv,
            progress=lambda count, of: advance(count, of, "studies"),
        )
    _narrate(done, new_patients)
    if as_json:
        output.json_line(_record(folder, path, done))
    else:
        output.line(f"{path}: {done.added:,} studies added, {done.present:,} there already")
        for name, words in _LEFT_OUT.items():
            if count := getattr(done, name):
                output.line(f"left out: {count:,} {words}")
    return 0 if done.added or done.present else 1


def _narrate(done: Registration, new_patients: bool) -> None:
    for where, why in done.bad[:_LISTED]:
        diagnostics.warn(f"{where}: {why}")
    if len(done.bad) > _LISTED:
        diagnostics.warn(f"and {len(done.bad) - _LISTED:,} more (--json lists them all)")
    if done.unknown_patients and not new_patients:
        diagnostics.note(
            "--new-patients adds patients, where sex and date of birth or age are given"
        )
    notes = {
        "new_patients": "new patients",
        "further": "further images of the same studies are not used",
        "undated": "studies without a time are dated to the EHR's 'now', in their order",
        "late": "studies are later than the EHR's 'now' (see --as-of)",
    }
    for name, words in notes.items():
        if count := getattr(done, name):
            diagnostics.note(f"{count:,} {words}")


def _record(folder: Path, path: Path, done: Registration) -> dict[str, Any]:
    record = asdict(done)
    bad = [{"where": where, "what": why} for where, why in record.pop("bad")]
    return {"db": str(path), "images": str(folder.resolve()), **record, "bad": bad}
