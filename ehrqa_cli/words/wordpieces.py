"""Text as the word pieces of BERT, whose vocabulary lies beside this file (Apache-2.0).

The same splitting as the reference implementation of Devlin et al. 2019 ("uncased"): characters
cleaned, accents dropped, punctuation and CJK characters words of their own, then the longest
piece that fits from the left (Wu et al. 2016, section 4). Written here because the wheel of the
usual library brings an HTTP client and a model hub's client with it.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from pathlib import Path

PAD, UNKNOWN, START, END = 0, 100, 101, 102
MOST_TOKENS = 256  # what the sentence model was trained to read; a longer text is cut
_MOST_LETTERS = 100
_VOCABULARY = Path(__file__).with_name("bert_vocabulary.txt")
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def token_ids(text: str, most: int = MOST_TOKENS) -> list[int]:
    """The ids of ``text`` between start and end marks, at most ``most`` with them."""
    return [START, *plain_ids(text, most - 2), END]


def plain_ids(text: str, most: int = MOST_TOKENS) -> list[int]:
    """The ids of ``text`` alone, at most ``most``: no spelling of a text gives a mark."""
    ids: list[int] = []
    for word in _clean(text).split():
        ids.extend(_word_ids(word))
        if len(ids) >= most:
            break
    return ids[:most]


@lru_cache(maxsize=1 << 16)
def _word_ids(word: str) -> tuple[int, ...]:
    """Ids of what stands between two spaces; notes repeat their words, so it is remembered."""
    return tuple(k for part in _parts(word) for k in _piece_ids(part))


def _parts(word: str) -> list[str]:
    """Cleaned, lower case, without accents, cut at punctuation and CJK characters."""
    plain = unicodedata.normalize("NFD", word)
    parts: list[str] = []
    current = ""
    for char in plain:
        if unicodedata.category(char) == "Mn":
            continue
        if char.isspace() or _stands_alone(char):
            parts += [current, char] if not char.isspace() else [current]
            current = ""
        else:
            current += char.lower()
    return [part for part in (*parts, current) if part]


def _clean(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if c in "\t\n\r" else c for c in text if not _is_control(c))


def _is_control(char: str) -> bool:
    if char in "\t\n\r":
        return False
    return char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")


def _stands_alone(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P") or any(a <= code <= b for a, b in _CJK)


def _piece_ids(word: str) -> list[int]:
    known = _vocabulary()
    found: list[int] = []
    start = 0
    while start < len(word) <= _MOST_LETTERS:
        for end in range(len(word), start, -1):
            piece = known.get(("##" if start else "") + word[start:end])
            if piece is not None:
                found.append(piece)
                start = end
                break
        else:
            break
    return found if start == len(word) else [UNKNOWN]


@cache
def whole_words() -> frozenset[str]:
    """The vocabulary's whole words: common English, and the names that it has often read."""
    return frozenset(word for word in _vocabulary() if word.isalpha())


@cache
def _vocabulary() -> dict[str, int]:
    lines = _VOCABULARY.read_text(encoding="utf-8").split("\n")
    return {word: k for k, word in enumerate(lines) if word}
