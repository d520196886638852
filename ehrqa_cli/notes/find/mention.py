"""Where a line mentions what was asked, so that its stance towards that can be told."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ehrqa_cli.contracts.notes import Line, Stance
from ehrqa_cli.notes.find.lexical import Group
from ehrqa_cli.notes.find.stance import stance_of

_SHORT = 4  # letters of a word that is only found as it is
_ENDING = 2  # letters that a longer word may lack or have otherwise


def line_stance(line: Line, groups: Iterable[Group]) -> Stance:
    """How the line speaks of the first of ``groups`` that it mentions, most telling first.

    A line that mentions none is taken to state what it says.
    """
    for group in groups:
        place = find_mention(line.text, group)
        if place is not None:
            return stance_of(line.text, *place, section=line.section)
    return stance_of(line.text, 0, len(line.text), section=line.section)


def find_mention(text: str, group: Group) -> tuple[int, int] | None:
    """Where ``text`` has the best name of ``group``; None where it has none."""
    for name in sorted(group.names, key=lambda name: (-group.names[name], -len(name))):
        found = _pattern(name).search(text)
        if found:
            return found.span()
    return None


@lru_cache(maxsize=4096)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        r"(?<![^\W_])" + r"[\W_]+".join(map(_word, name.split())) + r"(?![^\W_])", re.I
    )


def _word(word: str) -> str:
    if len(word) <= _SHORT:
        return re.escape(word) + r"(?:e?s)?"
    return re.escape(word[:-_ENDING]) + r"[^\W_]{0,5}"
