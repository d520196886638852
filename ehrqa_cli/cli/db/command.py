"""``ehrqa db``: make an EHR database, or describe one."""

from __future__ import annotations

import click

from ehrqa_cli.cli.db.demo import demo
from ehrqa_cli.cli.db.importing import import_command
from ehrqa_cli.cli.db.info import info
from ehrqa_cli.cli.db.mapping import map_command


@click.group(short_help="Import MIMIC-IV files, build the demo EHR, describe a database.")
def db() -> None:
    """Make an EHR database, or describe one.

    \b
    Examples:
      ehrqa db demo --out demo.sqlite
      ehrqa db import mimic-iv-2.2 --out ehr.sqlite
      ehrqa db info ehr.sqlite
    """


db.add_command(demo)
db.add_command(import_command)
db.add_command(info)
db.add_command(map_command)
