"""``ehrqa db demo``: synthetic patients, as a SQLite file or at any size as a folder of Parquet."""

from __future__ import annotations

from pathlib import Path

import click

from ehrqa_cli.cli import diagnostics, interrupt
from ehrqa_cli.cli.options import FILE
from ehrqa_cli.contracts.errors import UsageError

_MOST = {"sqlite": 100_000, "parquet": 100_000_000}


@click.command(short_help="Build the demo EHR of synthetic patients.")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="The database to make.")
@click.option("--seed", default=7, show_default=True, help="The same seed, the same EHR.")
@click.option(
    "--patients",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many patients: up to 100,000, or with --format parquet 100 million.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["sqlite", "parquet"]),
    default="sqlite",
    show_default=True,
    help="A SQLite file, or a folder of Parquet files for trying out large EHRs.",
)
@click.option(
    "--images",
    is_flag=True,
    help="With chest X-ray studies and their scene graphs as tables (Parquet).",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0, 1.0),
    default=1.0,
    show_default=True,
    help="How much to keep of what is observed again and again, such as labs (Parquet).",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists (SQLite).")
def demo(
    out: Path, seed: int, patients: int, kind: str, images: bool, share: float, force: bool
) -> int:
    """Build the demo EHR: synthetic patients, admissions, events and costs.

    A folder of Parquet is written in parts; an interrupted run goes on with the same command.
    Its first 2,000 patients are those of the SQLite file; the others are like them.

    \b
    Examples:
      ehrqa db demo --out demo.sqlite
      ehrqa db demo --out big.sqlite --patients 5000 --seed 1
      ehrqa db demo --out warehouse --format parquet --patients 100000 --images
    """
    if patients > _MOST[kind]:
        raise UsageError(
            f"{patients:,} patients are too many for {kind}",
            f"at most {_MOST[kind]:,}; --format parquet takes more than sqlite",
        )
    if kind == "sqlite":
        if images or share < 1.0:
            raise UsageError(
                "--images and --share are for a folder of Parquet", "add --format parquet"
            )
        from ehrqa_cli.ehr.demo.make import build_demo

        build_demo(out, seed=seed, patients=patients, force=force)
    else:
        if force:
            raise UsageError("--force replaces a SQLite file only", f"remove {out} yourself")
        _folder(out, seed, patients, images, share)
    diagnostics.note(f"{out}: {patients:,} synthetic patients from seed {seed}")
    return 0


def _folder(out: Path, seed: int, patients: int, images: bool, share: float) -> None:
    from ehrqa_cli.ehr.demo.folder import Size, build_folder
    from ehrqa_cli.vqa.tables.demo_films import dictionaries, films

    with diagnostics.progress() as advance:

        def progress(done: int, of: int) -> None:
            interrupt.check()
            advance(done, of, "parts")

        build_folder(
            out,
            Size(patients, seed, share, images),
            more=films if images else None,
            whole=dictionaries(seed) if images else None,
            progress=progress,
        )
