"""How a linked question becomes tokens; the trainer and the run time share exactly this.

The text between references is split into word pieces (`ehrqa_cli.words.wordpieces`). References,
their types and ids that exist nowhere are single tokens found by this module alone, never by the
splitting: a question that spells ``[SEP]`` or ``#1`` is plain text to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ehrqa_cli.words.wordpieces import END, START, plain_ids

MAX_REFS = 16
MOST = 1024  # pieces of a part; more is more than any model reads
REFS = tuple(f"#{k}" for k in range(1, MAX_REFS + 1))

# Ids that exist nowhere, as the linker writes them.
UNKNOWN = ("<nopat>", "<nostudy>")
# Between the question before, as a whole question, and what is said next.
THEN = "<then>"

# A reference as the linker writes it: one or more types, then its number; or an unknown id.
_MARKS = "|".join((*UNKNOWN, THEN))
_REFERENCE = re.compile(rf"\s*(?:((?:<[a-z_]+>)+)(#(?:1[0-6]|[1-9]))(?!\d)|({_MARKS}))")
_TYPE = re.compile(r"<[a-z_]+>")


def special_tokens(types: Iterable[str]) -> list[str]:
    """All tokens outside of the word pieces, in the order in which they follow them."""
    return [*(f"<{t}>" for t in types), *REFS, *UNKNOWN]


def pieces(text: str, types: frozenset[str] | set[str]) -> list[tuple[bool, str]]:
    """Split into (is_special, text). Plain pieces start with one space, so that every word
    has the same tokens wherever it stands."""
    found: list[tuple[bool, str]] = []
    text = " ".join(text.lower().split())
    position = 0

    def plain(part: str) -> None:
        if part.strip():
            glued = found and not part.startswith(" ")
            found.append((False, part.rstrip() if glued else " " + part.strip()))

    for match in _REFERENCE.finditer(text):
        names = _TYPE.findall(match[1] or "")
        if not all(n[1:-1] in types for n in names):
            continue
        plain(text[position : match.start()])
        found += [(True, n) for n in (*names, match[2] or match[3])]
        position = match.end()
    plain(text[position:])
    return found


def encode_question(text: str, special: Mapping[str, int]) -> list[int]:
    """Token ids of a linked question between the start and end marks; ``special`` has the ids of
    `special_tokens`."""
    types = {name[1:-1] for name in special if name.startswith("<")}
    ids = [START]
    for is_special, part in pieces(text, types):
        if not is_special:
            ids.extend(plain_ids(part, MOST))
        else:
            ids.append(END if part == THEN else special[part])
    return [*ids, END]
