"""``ehrqa build prepare``: an EHR made ready for question sets, as EHRXQA's was."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.build.options import seed_option, shown
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, open_database
from ehrqa_cli.contracts.errors import UsageError

_COUNT = click.IntRange(min=0)
_RANGE = re.compile(r"(\d+)\s*(?:-|:|to)\s*(\d+)")


def _range(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    del context
    found = _RANGE.fullmatch(value.strip())
    if found is None:
        raise UsageError(f"--{option.name} must be a range, not {value}", "write it as 18-89")
    return int(found[1]), int(found[2])


@click.command()
@db_option
@click.option("--mimic", type=FILE, metavar="DIR", help="Or MIMIC-IV's files (hosp/, icu/).")
@click.option("--ehrsql", is_flag=True, help="With --mimic: EHRSQL's conventions of the import.")
@click.option("--metadata", type=FILE, metavar="FILE", help="MIMIC-CXR's metadata (CSV).")
@click.option("--imagenome", type=FILE, metavar="DIR", help="Labels: Chest ImaGenome.")
@click.option("--scene-graphs", type=FILE, metavar="DIR", help="Or scene_graph.tsv, studies.tsv.")
@click.option("--gold", "checked", type=FILE, metavar="FILE", help="Labels that people checked.")
@click.option("--relations", type=FILE, metavar="FILE", help="Relations that can be (object, "
              "attribute) [default: our 435, or those of --scene-graphs].")  # fmt: skip
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="DIR",
    help="A new folder; one that was broken off goes on.",
)
@shown("--patients silver", 800, "Patients of the silver database, at most.", _COUNT, metavar="N")
@shown("--gold-patients gold", 400, "Patients of the gold database, at most.", _COUNT, metavar="N")
@shown("--age ages", "11-89", "Ages at every visit.", callback=_range, metavar="MIN-MAX")
@click.option("--even-ages", is_flag=True, help="As many of one age group as of another.")
@shown("--min-studies studies", 1, "X-ray studies of a patient, where there are images.", _COUNT,
       metavar="N")  # fmt: skip
@shown("--years", "2100-2105", "The time frame; now is its end.", callback=_range,
       metavar="FROM-TO")  # fmt: skip
@shown("--current", 0.1, "Of the patients, in hospital now.", click.FloatRange(0, 1),
       metavar="SHARE")  # fmt: skip
@click.option("--keep-units", is_flag=True, help="Keep values in any unit [default: commonest].")
@click.option("--keep-case", is_flag=True, help="Keep capitals [default: lower case].")
@click.option("--synthetic-costs", type=int, metavar="SEED", help="Made-up prices, if none are.")
@seed_option
@json_option
def prepare(**flags: Any) -> int:
    """Prepare an EHR for question sets, as EHRXQA does: draw patients by age and with X-rays, move
    each one's records into a common time frame, keep one unit of each item, and write a silver
    database and a gold one (of images whose labels people checked) with their labels and splits.

    \b
    Examples:
      ehrqa build prepare --db ehr.sqlite --scene-graphs labels --out ready
      ehrqa build prepare --mimic mimic-iv-2.2 --metadata mimic-cxr-2.0.0-metadata.csv.gz \\
        --imagenome chest-imagenome --gold gold.txt --out ready
    """
    from ehrqa_cli import config
    from ehrqa_cli.sets.prepare.options import Options
    from ehrqa_cli.sets.prepare.preparation import Order
    from ehrqa_cli.sets.prepare.preparation import prepare as run

    options = Options(
        first_year=flags["years"][0],
        last_year=flags["years"][1],
        one_unit=not flags["keep_units"],
        lower_case=not flags["keep_case"],
        **{n: flags[n] for n in _SAME},
    )
    named = flags["db"] or flags["mimic"]
    db = flags["db"] if named else database_path(None, config.load())
    database = open_database(db) if db else None
    try:
        order = Order(
            flags["out"], options, open_database, database, **{n: flags[n] for n in _WHERE}
        )
        with diagnostics.progress("share") as advance:
            card = run(order, lambda what, done, of: advance(done, of, what))
    finally:
        if database is not None:
            database.close()
    return _tell(card, flags["out"], flags["as_json"])


_SAME = ("seed", "silver", "gold", "ages", "studies", "even_ages", "current", "synthetic_costs")
_WHERE = ("mimic", "ehrsql", "metadata", "imagenome", "scene_graphs", "checked", "relations")


def _tell(card: dict[str, Any], out: Path, as_json: bool) -> int:
    if as_json:
        output.json_line(card)
        return 0
    for name, about in card["databases"].items():
        rows = sum(about["rows"].values())
        drawn, able = about["patients"]["drawn"], about["patients"]["eligible"]
        output.line(
            f"{name}  {drawn:,} of {able:,} patients, {about['in_hospital_now']:,} of them in "
            f"hospital now, {rows:,} rows"
        )
        if about["labels"]:
            output.line(f"{name}  {about['labels']['studies']:,} studies with labels")
        broken = about["checks"]["broken_references"]
        if broken:
            diagnostics.warn(f"{name}: {broken:,} rows refer to what the source does not have")
    splits = ", ".join(f"{n:,} {split}" for split, n in card["patients_by_split"].items())
    output.line(f"patients by split  {splits}")
    output.line(f"now  {card['now']}")
    output.line(f"written  {out}")
    return 0
