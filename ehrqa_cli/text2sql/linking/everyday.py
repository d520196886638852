"""Everyday names of vital signs and of the emergency room, which every question writer uses.

They are linked with or without ``fuzzy``, and only to strings that this database has. The names
are data, in ``everyday.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ehrqa_cli.words.lists import sections

_FILE = Path(__file__).with_name("everyday.txt")


def entries(strings: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    """(type, name, value) for the names whose value is among the database's ``strings``."""
    for kind, lines in sections(_FILE).items():
        present = {value.lower(): value for value in strings.get(kind, ())}
        for line in lines:
            candidates, _, names = line.partition(" = ")
            value = next((present[c] for c in candidates.split(" | ") if c in present), None)
            if value is not None:
                yield from ((kind, name, value) for name in names.split(" | "))
