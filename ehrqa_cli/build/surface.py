"""How people type: case, punctuation, politeness, contractions and slips of the finger."""

from __future__ import annotations

import random
import re

Words = list[tuple[str, bool]]
"""Text, and whether it is a value (which is never changed)."""

_SPACES = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"\s+([,.?!:;])")
_LEADING = re.compile(r"^[\s,:;.-]+")
_DOUBLE = re.compile(r",(\s*,)+")
_TRAILING = re.compile(r"[\s,:;-]+$")
_ASKS = re.compile(
    r"^(what|when|where|which|who|whom|whose|how|is|are|was|were|has|have|had|do|does|did|can|"
    r"could|would|will|should|in what|in which|by what|by which|at what|on what|on which|to what|"
    r"via what|what's|for what|for how|among|of|since|compared)\b",
    re.IGNORECASE,
)
_PREFIXES = (
    "please ", "hi, ", "hey, ", "hello, ", "so ", "ok, ", "quick question: ", "question: ", "um, ",
    "well, ", "also, ", "and ", "good morning, ", "sorry, ", "hey there, ",
)  # fmt: skip
_SUFFIXES = (
    " please", ", please", " thanks", ", thanks", " thank you", " for me", " asap",
    ", if you can", " for my report", " for the record",
)  # fmt: skip
_CONTRACT = (
    ("what is ", "what's "), ("did not", "didn't"), ("was not", "wasn't"), ("what was ", "whats "),
    ("I would like", "I'd like"), ("do not", "don't"), ("how many ", "how many "),
    ("patients", "pts"), ("patient ", "pt "), ("diagnosed", "dx'd"), ("number of", "no. of"),
    ("what is ", "whats "), ("prescribed", "rx'd"), ("hospital", "hosp"), ("and", "&"),
    ("maximum", "max"), ("minimum", "min"), ("average", "avg"), ("laboratory", "lab"),
)  # fmt: skip
_WORD = re.compile(r"[a-z]{4,}")
_NEAR = {
    "a": "s", "b": "v", "c": "x", "d": "s", "e": "r", "f": "g", "g": "f", "h": "j", "i": "o",
    "j": "k", "k": "l", "l": "k", "m": "n", "n": "m", "o": "p", "p": "o", "q": "w", "r": "t",
    "s": "d", "t": "r", "u": "y", "v": "b", "w": "e", "x": "c", "y": "u", "z": "x",
}  # fmt: skip


def render(words: Words, rng: random.Random, noise: float = 1.0) -> str:
    """The question as typed. ``noise`` scales how often anything but tidying happens."""
    pieces = list(words)
    if rng.random() < 0.05 * noise:
        pieces = _contract(pieces, rng)
    if rng.random() < 0.05 * noise:
        pieces = _typo(pieces, rng)
    text = tidy("".join(piece for piece, _ in pieces))
    asks = bool(_ASKS.match(text))
    roll = rng.random()
    if roll < 0.04 * noise:
        text = rng.choice(_PREFIXES) + text
    elif roll < 0.07 * noise:
        text = text + rng.choice(_SUFFIXES)
    text = _ending(text, asks, rng, noise)
    roll = rng.random()
    if roll < 0.16 * noise:
        return text if roll < 0.12 * noise else text.lower()
    if roll < 0.165 * noise:
        return text.upper()
    return text[:1].upper() + text[1:]


def tidy(text: str) -> str:
    """One space between words, none before a stop, no comma left without company."""
    text = _SPACES.sub(" ", text)
    text = _BEFORE_STOP.sub(r"\1", text)
    text = _DOUBLE.sub(",", text)
    return _TRAILING.sub("", _LEADING.sub("", text))


def _ending(text: str, asks: bool, rng: random.Random, noise: float) -> str:
    roll = rng.random()
    if text.endswith(("?", ".", "!")):
        return text
    if roll < 0.14 * noise:
        return text
    if roll < 0.16 * noise:
        return text + rng.choice((" ?", "??", "...", "?!", " ."))
    if asks:
        return text + "?"
    return text + rng.choice((".", ".", "?", "?", ""))


def _contract(words: Words, rng: random.Random) -> Words:
    long, short = rng.choice(_CONTRACT)
    return [(p if fixed else p.replace(long, short), fixed) for p, fixed in words]


def _typo(words: Words, rng: random.Random) -> Words:
    """One slip in one word that is not a value: a letter dropped, doubled, swapped or wrong."""
    places = [
        (i, m.start(), m.end())
        for i, (piece, fixed) in enumerate(words)
        if not fixed
        for m in _WORD.finditer(piece)
    ]
    if not places:
        return words
    i, start, end = rng.choice(places)
    piece = words[i][0]
    at = rng.randint(start + 1, end - 2)
    roll = rng.random()
    if roll < 0.3:
        changed = piece[:at] + piece[at + 1 :]
    elif roll < 0.55:
        changed = piece[:at] + piece[at] + piece[at:]
    elif roll < 0.85:
        changed = piece[:at] + piece[at + 1] + piece[at] + piece[at + 2 :]
    else:
        changed = piece[:at] + _NEAR.get(piece[at], piece[at]) + piece[at + 1 :]
    return [*words[:i], (changed, False), *words[i + 1 :]]
