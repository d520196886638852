"""Which known name is a misspelt one? By edits (optimal string alignment), and by sound."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORTEST = 5  # letters below which a misspelling is not told from another word
_SOUND_LETTERS = 7
_NEAREST = 5  # names looked at; where more are as near, none is meant
_SOUNDS = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"ph", "f"), (r"ae|oe", "e"), (r"^[pk]n", "n"), (r"^ps|^x", "s"),
        (r"([bcdgkprt])h", r"\1"), (r"ck|q", "k"), (r"c(?=[eiy])", "s"), (r"c", "k"),
        (r"x", "ks"), (r"z", "s"), (r"w|h", ""), (r"[aeiouy]+", "a"), (r"(.)\1+", r"\1"),
    )
]  # fmt: skip


class Spelling:
    """Finds the one name that a text is a misspelling of."""

    def __init__(self, names: Iterable[str], known: frozenset[str]) -> None:
        """``known`` are texts that are spelt rightly, whatever they look like."""
        self._known = known
        self._by_letter: dict[str, list[str]] = {}
        self._by_sound: dict[str, list[str]] = {}
        for name in names:
            if len(name) >= SHORTEST:
                self._by_letter.setdefault(name[0], []).append(name)
                if len(name) >= _SOUND_LETTERS and " " not in name:
                    self._by_sound.setdefault(_sound(name), []).append(name)

    def nearest(self, text: str) -> tuple[list[str], int] | None:
        """(the nearest names, edits), or None where no name is near enough."""
        allowed = _edits(text)
        if not allowed or text in self._known:
            return None
        return self._near(text, allowed) or (
            self._alike(text, allowed + 1) if len(text) >= _SOUND_LETTERS else None
        )

    def _near(self, text: str, allowed: int) -> tuple[list[str], int] | None:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        found = process.extract(
            text,
            self._by_letter.get(text[0], ()),
            scorer=OSA.distance,
            score_cutoff=allowed,
            limit=_NEAREST,
        )
        if not found or found[0][1] == 0:
            return None
        edits = int(found[0][1])
        names = [name for name, distance, _ in found if distance == edits]
        return (names, edits) if all(_sane(text, name, edits) for name in names) else None

    def _alike(self, text: str, allowed: int) -> tuple[list[str], int] | None:
        from rapidfuzz.distance import OSA

        alike = self._by_sound.get(_sound(text), ())
        if len(alike) != 1:
            return None
        edits = int(OSA.distance(text, alike[0]))
        sane = 0 < edits <= allowed and _sane(text, alike[0], edits)
        return ([alike[0]], edits) if sane else None


def _sane(text: str, name: str, edits: int) -> bool:
    if _digits(text) != _digits(name):
        return False
    if edits > 1 and text[:-3] == name[: len(text) - 3]:
        return False  # another ending makes another word: mediastinum, mediastinal
    return not _opposed(text, name)


# Parts of which few letters make another: hyper- and hypo-, -ectomy and -ostomy.
_OPPOSITES = (
    ("hyper", "hypo"), ("intra", "inter"), ("anti", "ante"), ("macro", "micro"),
    ("ectomy", "ostomy", "otomy", "oscopy", "plasty"), ("itis", "osis", "oma"), ("emia", "uria"),
    ("systolic", "diastolic"),
)  # fmt: skip


def _opposed(text: str, name: str) -> bool:
    for parts in _OPPOSITES:
        said = {part for part in parts if part in text}
        if said and said != {part for part in parts if part in name}:
            return True
    return False


def _sound(text: str) -> str:
    """How a text sounds, roughly: consonants as they are spoken, vowels alike."""
    for pattern, sound in _SOUNDS:
        text = pattern.sub(sound, text)
    return text


def _edits(text: str) -> int:
    length = len(text)
    if length < SHORTEST:
        return 0
    if length < 9:
        return 1
    return 2 if length < 16 else 3


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())
