"""Lines taken together: a line alone often does not say whom or what it speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from ehrqa_cli.contracts.notes import Line

MOST_WORDS = 90  # fitted on models/corpus/notes


def passages(lines: Sequence[Line]) -> list[range]:
    """The lines of one note in runs of at most MOST_WORDS words, as ranges of positions."""
    found: list[range] = []
    start = count = 0
    for at, line in enumerate(lines):
        size = len(line.text.split())
        if at > start and count + size > MOST_WORDS:
            found.append(range(start, at))
            start, count = at, 0
        count += size
    if lines:
        found.append(range(start, len(lines)))
    return found


def texts_of(lines: Sequence[Line]) -> list[str]:
    """What is embedded of a note, in this order: its passages, then its lines."""
    together = [" ".join(lines[k].text for k in run) for run in passages(lines)]
    return [*together, *(line.text for line in lines)]
