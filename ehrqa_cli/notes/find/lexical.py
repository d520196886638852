"""Which words of a question stand in which lines, under their own name or another.

SQLite's FTS5 does the matching (its unicode61 tokenizer and Porter stemmer), over one patient's
lines in memory here and over all notes in ``cohort``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.notes.find import terms
from ehrqa_cli.words.lists import stop_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

TOKENIZER = "porter unicode61 remove_diacritics 2"
_SHORT = 4  # letters of a name that is no word to be stemmed
_MOST_GROUPS = 24  # words of a question that are looked up
_MOST_LETTERS = 2000  # characters of a question that are read


@dataclass(frozen=True)
class Group:
    """One thing that a question mentions: its names in `terms.words` form, each with a weight."""

    phrase: str
    names: dict[str, float]


def groups(question: str) -> list[Group]:
    """What ``question`` mentions, in its order, without words that say nothing."""
    text = terms.words(question[:_MOST_LETTERS])
    found: dict[str, Group] = {}
    for start, end in terms.phrases(text):
        phrase = " ".join(text[start:end])
        if phrase in stop_words("find") or (len(phrase) == 1 and not phrase.isdigit()):
            continue
        names = {
            name: weight
            for name, weight in terms.names_of(phrase).items()
            if name not in terms.plain() or name == phrase
        }
        found.setdefault(phrase, Group(phrase, names))
    return list(found.values())[:_MOST_GROUPS]


def match_query(names: Sequence[str]) -> str:
    """FTS5's expression for any of ``names``, each as a phrase."""
    return " OR ".join(f'"{name}"' for name in names)


def matches(wanted: Sequence[Group], texts: Sequence[str]) -> Matrix:
    """How well each text names each group: shape (groups, texts), 0 to 1."""
    import numpy as np

    found = np.zeros((len(wanted), len(texts)), dtype=np.float32)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            f"CREATE VIRTUAL TABLE t USING fts5(text, content='', tokenize='{TOKENIZER}')"
        )
        connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))
        for row, group in enumerate(wanted):
            for weight in sorted(set(group.names.values())):
                names = [name for name, its in group.names.items() if its == weight]
                hits = connection.execute(
                    "SELECT rowid FROM t WHERE t MATCH ?", (match_query(names),)
                )
                found[row, [hit[0] for hit in hits]] = weight
    return found


class Places:
    """Where texts name things. Use it in ``with``: it holds a table in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(f"CREATE VIRTUAL TABLE t USING fts5(text, tokenize='{TOKENIZER}')")
        self._connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))

    def __enter__(self) -> Places:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def of(self, names: Iterable[str]) -> dict[int, list[tuple[int, int]]]:
        """The places (start, end) of any of ``names`` (`terms.words` form), by text number."""
        names = sorted(names)
        if not names:
            return {}
        hits = self._connection.execute(
            "SELECT rowid, highlight(t, 0, char(2), char(3)) FROM t WHERE t MATCH ?",
            (match_query(names),),
        )
        exact = set(names)
        found = {}
        for row, text in hits:
            plain = text.replace("\x02", "").replace("\x03", "")
            if some := [span for span in _marked(text) if _fits(plain[slice(*span)], exact)]:
                found[row] = some
        return found


def _fits(found: str, names: set[str]) -> bool:
    """Is what the stemmer found a name? A short one must stand as it is, or in the plural: "has" is
    no headache (HA)."""
    if len(found) > _SHORT:
        return True
    word = " ".join(terms.words(found))
    return word in names or (word.endswith("s") and len(word) > 3 and word[:-1] in names)


def _marked(text: str) -> list[tuple[int, int]]:
    """The places between the marks of ``highlight``, counted without the marks."""
    places, at = [], 0
    for piece in text.split("\x02"):
        inside, mark, rest = piece.partition("\x03")
        if mark:
            places.append((at, at + len(inside)))
        at += len(inside) + len(rest)
    return places
