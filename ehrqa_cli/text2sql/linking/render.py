"""The text the model reads: every link replaced by its types and its number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form.grammar import TYPES

ORDER = {kind: place for place, kind in enumerate(TYPES)}
# A visit that does not exist reads as a patient who does not.
_NOT_THERE = dict.fromkeys(("adm", "stay"), "<nopat>")
_QUOTES = "\"'`"
_SPACES = re.compile(r"\s+")
# Signs before a number, in the words of the questions that models learn from.
_SIGNS = {
    **dict.fromkeys((">=", "=>", "\u2265", "\u2a7e"), "at least"),
    **dict.fromkeys(("<=", "=<", "\u2264", "\u2a7d"), "at most"),
    **{">": "greater than", "<": "less than"},
}
# Not the ">" of "<drug><num>#1"
_SIGN = re.compile(rf"\s*(?<![a-z])({'|'.join(_SIGNS)})\s*(?=<(?:num|dur)>#)")


def placeholder(types: Sequence[str], number: int) -> str:
    """``<drug><intake>#2``."""
    return "".join(f"<{kind}>" for kind in types) + f"#{number}"


def render(
    folded: str,
    links: Iterable[Link],
    unknown: Iterable[tuple[int, int, str]] = (),
    said: Iterable[tuple[int, int, str]] = (),
) -> str:
    """Folded text with links (in order) and unknown ids replaced, other spans ``said`` in other
    words, and its spaces made single.

    Links beyond the end of the text (of the --patient and --study options) are appended.
    """
    spans: list[tuple[int, int, str]] = []
    added = ""
    for number, link in enumerate(links, 1):
        mark = placeholder(link.types, number)
        if link.how == "option":
            added += f" {'patient' if link.types == ('pat',) else 'study'} {mark}"
        else:
            spans.append((link.start, link.end, mark))
    spans.extend((start, end, _NOT_THERE.get(kind, f"<no{kind}>")) for start, end, kind in unknown)
    spans.extend(said)
    pieces, place = [], 0
    for start, end, mark in sorted(spans):
        quote = folded[start - 1] if start > place else ""
        if quote and quote in _QUOTES and folded[end : end + 1] == quote:
            start, end = start - 1, end + 1
        pieces += [folded[place:start], mark]
        place = end
    pieces += [folded[place:], added]
    return _SPACES.sub(" ", "".join(pieces)).strip()


def spelled(text: str) -> str:
    """``text`` with its signs in words: "> <num>#1" is "greater than <num>#1"."""
    return _SIGN.sub(lambda found: f" {_SIGNS[found[1]]} ", text).strip()
