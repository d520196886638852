"""How a linked question becomes numbers for the second reader; trainer and run time share this.

Plain words are split into the word pieces of BERT (Devlin et al. 2019; Wu et al. 2016): the
longest piece that fits, from the left. Placeholders are tokens of their own. An unknown patient
(``<nopat>``) reads exactly as a known one, so that whether an id exists cannot decide whether a
*kind* of question has an answer; that a patient is unknown is said elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.logical_form import REFS, TYPES
from ehrqa_cli.text2sql.tokens import pieces

PAD, UNKNOWN, START, END = "<pad>", "<unk>", "<s>", "</s>"
# The types that the shipped networks have learnt; a later one is an unknown word to them.
_LEARNT = TYPES[: TYPES.index("quarter")]
SPECIALS = (PAD, UNKNOWN, START, END, *(f"<{kind}>" for kind in _LEARNT), *REFS)
MOST_TOKENS = 96  # a longer question is cut
MOST_LETTERS = 40  # a longer word is unknown
_NOT_THERE = {"<nopat>": "<pat>", "<nostudy>": "<study>"}
_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_KINDS = frozenset(TYPES)


@dataclass(frozen=True)
class Read:
    """Token ids of a question, and the number here of each reference of the linked text."""

    ids: tuple[int, ...]
    numbers: Mapping[str, str]


class Pieces:
    """A vocabulary: the special tokens, then word pieces in their order."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: k for k, word in enumerate((*SPECIALS, *words))}

    def __len__(self) -> int:
        return len(self._ids)

    def read(self, text: str) -> Read:
        """Ids of a linked question, at most MOST_TOKENS.

        References are counted anew from ``#1`` with unknown ids among them, else a missing
        number would tell that an id is unknown.
        """
        ids: list[int] = [self._ids[START]]
        numbers: dict[str, str] = {}
        count = 0
        for special, part in pieces(text, _KINDS):
            if not special:
                ids.extend(self._plain(part))
                continue
            missing = part in _NOT_THERE
            if part.startswith("#") or missing:
                count = min(count + 1, len(REFS))
            if part.startswith("#"):
                numbers.setdefault(part, REFS[count - 1])
                ids.append(self._ids[REFS[count - 1]])
            elif missing:
                ids += [self._ids[_NOT_THERE[part]], self._ids[REFS[count - 1]]]
            else:
                ids.append(self._ids.get(part, self._ids[UNKNOWN]))
        return Read(tuple(ids[:MOST_TOKENS]), numbers)

    def _plain(self, text: str) -> list[int]:
        plain = unicodedata.normalize("NFKD", text.lower())
        plain = "".join(c for c in plain if not unicodedata.combining(c))
        return [k for word in _WORD.findall(plain) for k in self._word(word)]

    def _word(self, word: str) -> list[int]:
        found: list[int] = []
        start = 0
        while start < len(word) <= MOST_LETTERS:
            for end in range(len(word), start, -1):
                piece = self._ids.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                break
        return found if start == len(word) else [self._ids[UNKNOWN]]
