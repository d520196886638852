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

# Signs before a number, in the words of the questions that models learn from.
_SIGNS = {
    **dict.fromkeys((">=", "=>", "\u2265", "\u2a7e"), "at least"),
    **dict.fromkeys(("<=", "=<", "\u2264", "\u2a7d"), "at most"),
    **{">": "greater than", "<": "less than"},
}
# Not the ">" of "<drug><num>#1"
_SIGN = re.compile(rf"\s*(?<![a-z])({'|'.join(_SIGNS)})\s*(?=<(?:num|dur)>#)")


def spelled(text: str) -> str:
    """``text`` with its signs in words: "> <num>#1" is "greater than <num>#1"."""
    return _SIGN.sub(lambda found: f" {_SIGNS[found[1]]} ", text).strip()


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
