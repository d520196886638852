"""Evidence lines for a question (Pampari et al. 2018, section 7.2): exact match and F1 over the
top ten, and two ways to find lines that use no training: BM25, and sentence vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ehrqa_cli.evaluate.bm25 import Bm25
from ehrqa_cli.evaluate.wording import token_f1, tokens
from ehrqa_papers.emrqa.load import EmrQuestion, EvidenceGold

TOP = 10
NEAR = 20  # characters
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True)
class Piece:
    """A predicted piece of the note; ``start`` is None where only its words are known."""

    text: str
    start: int | None = None


# A question, its note's text, and the pieces of evidence, best first.
Finder = Callable[[str, str], Sequence[Piece]]


def exact_match(gold: EvidenceGold, pieces: Sequence[Piece]) -> bool:
    """Does one of the pieces hold the answer's entity (all of them, where there are several), or,
    where none is known, lie within 20 characters of the gold evidence at both ends?"""
    if gold.entities:
        wanted = [" ".join(entity.lower().split()) for entity in gold.entities]
        texts = [" ".join(piece.text.lower().split()) for piece in pieces]
        return any(all(entity in text for entity in wanted) for text in texts)
    return any(_near(gold, piece) for piece in pieces)


def _near(gold: EvidenceGold, piece: Piece) -> bool:
    if gold.start is None or piece.start is None:
        return gold.evidence.split() == piece.text.split()
    end = gold.start + len(gold.evidence)
    return (
        abs(piece.start - gold.start) <= NEAR and abs(piece.start + len(piece.text) - end) <= NEAR
    )


def score(question: EmrQuestion, pieces: Sequence[Piece]) -> tuple[float, float]:
    """Exact match and F1 of the first ten pieces, 0 to 1: for each gold evidence the best of the
    pieces, and the mean over the gold evidence."""
    first = list(pieces)[:TOP]
    golds = question.golds
    if not golds:
        return 0.0, 0.0
    em = sum(exact_match(gold, first) for gold in golds) / len(golds)
    f1 = sum(max((token_f1(g.evidence, p.text) for p in first), default=0.0) for g in golds)
    return em, f1 / len(golds)


def lines_of(text: str) -> list[Piece]:
    """The note's lines with words in them."""
    found = (Piece(m[0], m.start()) for m in _LINE.finditer(text))
    return [piece for piece in found if tokens(piece.text)]


@lru_cache(maxsize=4)
def _indexed(text: str) -> tuple[list[Piece], Bm25]:
    pieces = lines_of(text)
    return pieces, Bm25([piece.text for piece in pieces])


def bm25(question: str, text: str) -> Sequence[Piece]:
    """The ten lines of the note that share most with the question's words."""
    pieces, index = _indexed(text)
    return [pieces[k] for k in index.nearest(question, TOP)]


def by_vectors(embed: Callable[[Sequence[str]], Any]) -> Finder:
    """A finder of the ten lines whose unit vectors are nearest to the question's."""

    @lru_cache(maxsize=4)
    def lines(text: str) -> tuple[list[Piece], Any]:
        pieces = lines_of(text)
        return pieces, embed([piece.text for piece in pieces]) if pieces else None

    def find(question: str, text: str) -> Sequence[Piece]:
        pieces, vectors = lines(text)
        if not pieces:
            return []
        near = vectors @ embed([question])[0]
        return [pieces[k] for k in (-near).argsort(kind="stable")[:TOP]]

    return find
