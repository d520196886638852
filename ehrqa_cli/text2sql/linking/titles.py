"""Shorter names of ICD titles, by rule: what a title says only for the coder is left out.

"gout, unspecified" is "gout", "calculus of kidney" is "kidney calculus", "nonalcoholic
steatohepatitis (nash)" is "nash", and "diverticulosis of colon (without mention of hemorrhage)" is
"diverticulosis of colon". What stays is the disease; a title of another's history, screening or
late effect keeps those words and so is never mistaken for the disease itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.text2sql.linking.tokens import WORDS
from ehrqa_cli.words.lists import word_list

HEAD = 50  # the penalty of the first words of a title: "diverticulosis"
_VAGUE = re.compile(
    r",? (?:unspecified|not elsewhere classified|not otherwise specified|not specified|nos|"
    r"site not specified|organism unspecified|unspecified organism|site unspecified|"
    r"unspecified site|unspecified type|cause unspecified|episode of care unspecified|"
    r"unspecified side)$|^unspecified "
)
_CLAUSE = re.compile(
    r",? (?:without (?:mention of )?[^,]+|not (?:intractable|of|stated|having|due)[^,]*|"
    r"(?:initial|subsequent) encounter[^,]*|uncomplicated|single episode|initial episode of care|"
    r"in situ|adult)$"
)
_OTHER = re.compile(r"^other (?:and unspecified |specified )?")
_PARENTHESIS = re.compile(r"\s*[(\[]([^)\]]*)[)\]]")
_OF = re.compile(r"^(\w+(?: \w+)?) of (?:the )?(\w+(?: \w+)?)$")
_HEAD = re.compile(r"^[^,(\[]+?(?=,| (?:of|with|without|due|in|to|and|or|for|by|as|following)\b)")
_HEAD_LETTERS = 7
_GENERIC = word_list(WORDS, "generic heads")


def title_aliases(title: str) -> Iterator[tuple[str, int]]:
    """(name, penalty) of one folded title."""
    bare = _PARENTHESIS.sub("", title).strip()
    if bare != title:
        yield from _orders(bare, 1)
        inside = _PARENTHESIS.findall(title)
        # an abbreviation, unless the name goes on after it
        if title.endswith((")", "]")) and re.fullmatch(r"[a-z]{3,6}", inside[-1]):
            yield inside[-1], 1
    core, penalty = bare, int(bare != title)
    for _ in range(6):
        for pattern in (_VAGUE, _CLAUSE):
            shorter = pattern.sub("", core, count=1).strip(" ,")
            if shorter != core:
                core, penalty = shorter, penalty + 1
                yield from _orders(core, penalty)
    yield from _orders(core, penalty)
    plain = _OTHER.sub("", core)
    if plain != core:
        yield from _orders(plain, penalty + 2)
    head = _HEAD.match(plain)
    if head and len(head.group()) >= _HEAD_LETTERS and head.group() not in _GENERIC:
        yield head.group(), HEAD


def _orders(name: str, penalty: int) -> Iterator[tuple[str, int]]:
    yield name, penalty
    turned = _OF.match(name)
    if turned:
        yield f"{turned[2]} {turned[1]}", penalty
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 2 and len(name.split()) <= 5:
        yield f"{parts[1]} {parts[0]}", penalty
