"""``ehrqa find``: the coded things of a record whose names hold some words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.concepts import meanings_of, nothing, phrase_of, record_of
from ehrqa_cli.cli.options import db_option, json_option

if TYPE_CHECKING:
    from ehrqa_cli.concepts.meaning import Meanings

_SHOWN = 50
_COLUMNS = ("table", "code", "name", "specimen", "unit", "rows", "first", "last")
_DAY = 10  # characters of a date


@click.command(short_help="Find what occurs in this record by the words of its name.")
@click.argument("words", nargs=-1, required=True, metavar="WORDS")
@db_option
@json_option
def find(words: Sequence[str], db: Path | None, as_json: bool) -> int:
    """Find labs, drugs, diagnoses and all else that occurs, by WORDS that its name holds.

    Each is shown with its table, code, specimen, unit, how often it occurs and from when to when,
    the most frequent first; --json has all.

    \b
    Examples:
      ehrqa find glucose --db ehr.sqlite
      ehrqa find "chest tube" --db ehr.sqlite --json

    \b
    Exit codes: 0 found, 1 the database cannot be read, 2 usage, 3 nothing has such a name.
    """
    phrase = phrase_of(words)
    meanings = meanings_of(db)
    found = meanings.items(phrase)
    near = () if found else _near(phrase, meanings)
    if as_json:
        records = [record_of(item) for item in found]
        output.json_line({"words": phrase, "items": records, "near": list(near)})
    elif found:
        rows = [
            (i.table, i.code, i.name, i.specimen, i.unit, i.rows, i.first[:_DAY], i.last[:_DAY])
            for i in found[:_SHOWN]
        ]
        output.table(_COLUMNS, rows, numeric=(5,))
        if len(found) > _SHOWN:
            output.line(f"... and {len(found) - _SHOWN:,} more (see --json)")
    return 0 if found else nothing(f"nothing in this record is named '{phrase}'", near)


def _near(phrase: str, meanings: Meanings) -> Sequence[str]:
    """Words of names that are written nearly so."""
    from difflib import get_close_matches

    known = sorted({word for item in meanings.items("") for word in item.name.lower().split()})
    near = [get_close_matches(word, known, n=1) for word in phrase.lower().split()]
    return [" ".join(words[0] for words in near)] if all(near) else []
