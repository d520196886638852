"""``ehrqa doctor``: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.options import db_option, json_option


@click.command(short_help="Check the installation and say how to mend it.")
@db_option
@json_option
def doctor(db: Path | None, as_json: bool) -> int:
    """Check Python, packages, models, llama.cpp, folders and the database.

    Each line says ok, warn or fail, and how to mend what is wrong.

    \b
    Examples:
      ehrqa doctor
      ehrqa doctor --db ehr.sqlite --json

    \b
    Exit codes: 0 nothing failed (there may be warnings), 1 something failed.
    """
    from ehrqa_cli.cli.checks import FAIL, run_all

    found = []
    for finding in run_all(db):
        found.append(finding)
        if not as_json:
            output.line(f"{finding.status:<5} {finding.check}: {finding.detail}")
            if finding.hint:
                output.line(f"      to mend it: {finding.hint}")
    if as_json:
        output.json_line([asdict(finding) for finding in found])
    return int(any(finding.status == FAIL for finding in found))
