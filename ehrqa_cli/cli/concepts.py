"""``ehrqa concepts``: what a word means in this record, shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import (
    concepts_option,
    database_path,
    db_option,
    json_option,
    open_database,
)
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.concepts.meaning import Meanings
    from ehrqa_cli.contracts.concepts import Concept, Item

NOTHING = 3  # the exit code where no meaning is known, as of an abstention
_SHOWN = 20  # members of each meaning
_NEAR = 3
_COLUMNS = ("code", "name", "table", "rows")


@click.group(short_help="Show what a clinical word means in this record.")
def concepts() -> None:
    """A word such as "sepsis" or "antibiotics" stands for a set of coded things: a concept.

    \b
    Examples:
      ehrqa concepts find "respiratory failure" --db ehr.sqlite
      ehrqa concepts find dialysis --db ehr.sqlite --json
    """


@concepts.command("find")
@click.argument("words", nargs=-1, required=True, metavar="WORDS")
@db_option
@concepts_option
@json_option
def find_concepts(
    words: Sequence[str], db: Path | None, concepts: tuple[Path, ...], as_json: bool
) -> int:
    """Show each meaning of WORDS: its definition, and its members with how often each occurs.

    The most frequent members are shown; --json has all.

    \b
    Examples:
      ehrqa concepts find "respiratory failure" --db ehr.sqlite
      ehrqa concepts find intubated --db ehr.sqlite --json
      ehrqa concepts find "lung failure" --concepts own.toml --db ehr.sqlite

    \b
    Exit codes: 0 with a meaning, 1 the database cannot be read, 2 usage, 3 no such word.
    """
    from ehrqa_cli import config
    from ehrqa_cli.cli.answer_options import own_concepts

    phrase = phrase_of(words)
    meanings = meanings_of(db, own_concepts(concepts, config.resolve()))
    found = meanings.find(phrase)
    near = () if found else _near(phrase, meanings)
    if as_json:
        output.json_line(
            {"words": phrase, "concepts": [_record(one) for one in found], "near": list(near)}
        )
    for number, concept in enumerate(found if not as_json else ()):
        if number:
            output.line()
        _show(concept)
    return 0 if found else nothing(f"'{phrase}' means nothing here", near)


def phrase_of(words: Sequence[str]) -> str:
    """The words as one text. Raises UsageError when there is no letter in them."""
    phrase = " ".join(" ".join(words).split())
    if not any(map(str.isalnum, phrase)):
        raise UsageError("there is nothing to look for", "name it, for example: dialysis")
    return phrase


def meanings_of(db: Path | None, own: Iterable[Path] = ()) -> Meanings:
    """What words mean in the database of --db, with a user's ``own`` files. Raises UsageError and
    DatabaseError."""
    from ehrqa_cli.concepts.meaning import open_meanings
    from ehrqa_cli.concepts.own import files_for

    path = database_path(db)
    files = files_for(path, own)
    database = open_database(path)
    try:
        return open_meanings(database, files)
    finally:
        database.close()


def nothing(message: str, near: Iterable[str]) -> int:
    """Say in one line that nothing was found, with near names; returns the exit code."""
    names = " or ".join(f"'{name}'" for name in near)
    diagnostics.note(f"{message}; did you mean {names}?" if names else message)
    return NOTHING


def _near(phrase: str, meanings: Meanings) -> Sequence[str]:
    from difflib import get_close_matches

    return get_close_matches(phrase.lower(), list(meanings.phrases()), n=_NEAR, cutoff=0.75)


def _show(concept: Concept) -> None:
    from ehrqa_cli.concepts.told import KINDS

    kind = KINDS.get(concept.kind, concept.kind)
    codes, rows = len(concept.items), sum(item.rows for item in concept.items)
    many = f"{codes:,} code{'s' * (codes != 1)}, {rows:,} row{'s' * (rows != 1)}"
    output.line(f"{concept.name} ({kind}): {many if codes else 'none in this record'}")
    if concept.about:
        output.line(f"  is    {concept.about}")
    if concept.source:
        output.line(f"  from  {concept.source}")
    members = sorted(concept.items, key=lambda item: -item.rows)
    shown = [(item.code, item.name, item.table, item.rows) for item in members[:_SHOWN]]
    if shown:
        output.table(_COLUMNS, shown, numeric=(3,))
    if codes > _SHOWN:
        output.line(f"... and {codes - _SHOWN:,} more (see --json)")


def _record(concept: Concept) -> dict[str, Any]:
    return {
        "kind": concept.kind,
        "name": concept.name,
        "about": concept.about,
        "source": concept.source,
        "phrases": list(concept.phrases),
        "rows": sum(item.rows for item in concept.items),
        "members": [record_of(item) for item in concept.items],
    }


def record_of(item: Item) -> dict[str, Any]:
    """An item as JSON has it."""
    from dataclasses import asdict

    return asdict(item)
