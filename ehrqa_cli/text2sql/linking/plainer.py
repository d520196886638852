"""The text that the model reads, in words that it has learnt (plain.tsv)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("plain.tsv")
_NAMES = {
    "{pat}": r"(?:patient )?<pat>#\d+",
    **{f"{{{kind}}}": rf"<{kind}>#\d+" for kind in ("drug", "lab", "vital", "dx")},
}


def plainer(text: str) -> str:
    """``text`` with the first way to ask that stands in the table in its other words."""
    for pattern, instead in _ways():
        said, times = pattern.subn(instead, text, count=1)
        if times:
            return said
    return text


@cache
def _ways() -> tuple[tuple[re.Pattern[str], str], ...]:
    found = []
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split("\t")
            for name, written in _NAMES.items():
                pattern = pattern.replace(name, written)
            found.append((re.compile(pattern), instead))
    return tuple(found)
