"""Where the sentences of clinical prose end, and where a long one may be cut.

Own rules: full stops in clinical notes mostly belong to doses and abbreviations (q.i.d., Dr., 2.5
mg), which general splitters cut at, and the notes of a hospital are gigabytes.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

LONGEST = 300  # characters of a line; interface: an excerpt is at most that long
_LOOK_BACK = 40  # characters
_SHORTEST = 120  # a cut leaves at least this much before it, where it can

# A mark before white space; before a comma, in text whose line breaks were made commas; before a
# capital, where the space was forgotten ("home.He was").
_MARK = re.compile(r"[.?!]{1,6}[\"'”’)\]]{0,4}(?:(?=\s)|,(?=\s{0,4}[A-Z])|(?=[A-Z][a-z]))")
_MARK_OR_BULLET = re.compile(_MARK.pattern + r"|\s(?=[•▪●■]\s)")
_BULLET = re.compile(r"[•▪●■]")
_TOKEN = re.compile(r"[^\s(\[\"“]*$")
_BEFORE_FORGOTTEN = re.compile(r"[a-z)]{2}$")
_NUMBER = re.compile(r"\d\s?$")
_NOT_SPACE = re.compile(r"\S")
_MARKS = frozenset(":-•*#")
_OPENERS = "\"'“‘([*#-•▪●■<>~_"

with (Path(__file__).parent / "abbreviations.toml").open("rb") as _file:
    _LISTS = {name: frozenset(words) for name, words in tomllib.load(_file).items()}
_TITLES, _SHORT = _LISTS["titles"], _LISTS["short"]
_UNITS, _STARTERS = _LISTS["units"], _LISTS["starters"]
_VALUE = re.compile(r"[<>~]?\d[\d.,/%x+-]*$")
_WORD = re.compile(r"[A-Za-z']+")

# Best first: where a long sentence may be cut, after the match.
_CLAUSES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:;|\s--?|:)\s",
        r",\s(?=(?:and|but|so|or|which|who|where|although|though|however|then|while|because|with|after"
        r"|before|if|when|since|also|as|he|she|they|it|the patient)\b)",
        r",\s(?!\d)|\)\s",
        r"\s(?=(?:and|but|so|which|who|because|with|after|before|while|when|although|for|to)\b)",
        r"\s",
    )
)


def sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The sentences of ``text[start:end]``, which has no blanks at its ends, as offsets."""
    found = []
    at = start
    # Looking for bullets too is slow, because every blank might come before one.
    mark = _MARK_OR_BULLET if _BULLET.search(text, start + 1, end) else _MARK
    for match in mark.finditer(text, start, end):
        after = _NOT_SPACE.search(text, match.end(), end)
        if after is None:
            break
        if _ends(text, at, match.start(), match[0], after.start()):
            found.append((at, match.end()))
            at = after.start()
    found.append((at, end))
    return found


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _ends(text: str, at: int, stop: int, mark: str, after: int) -> bool:
    """Does the sentence that began at ``at`` end with ``mark`` at ``stop``?"""
    if mark[0] != "." or mark[-1] == ",":
        return True
    following = text[after]
    if after == stop + len(mark) and not _BEFORE_FORGOTTEN.search(text, max(at, stop - 2), stop):
        return False
    token_match = _TOKEN.search(text, max(at, stop - _LOOK_BACK), stop)
    token = token_match[0] if token_match else ""
    lowered = token.lower()
    if following.islower():
        return _ends_before_lower(lowered, text, after)
    if lowered in _TITLES and len(mark) == 1:
        return following in _OPENERS and following != "_" and following != "("
    if not token:
        return True
    if token.isdigit():
        return not _is_number_of_item(text, at, stop, token, following)
    if lowered in _UNITS or _VALUE.match(token):
        return not following.isdigit()
    if "." in token or lowered in _SHORT or (len(token) == 1 and token.isalpha()):
        return _ends_abbreviation(text, at, stop, after, token)
    return True


def _ends_before_lower(token: str, text: str, after: int) -> bool:
    """Careless typists begin sentences in lower case: only a longer plain word can end one then."""
    plain = token.isalpha() and len(token) > 2
    known = token in _TITLES or token in _SHORT or token in _UNITS
    return plain and not known and text[after - 1] != "\n"


def _is_number_of_item(text: str, at: int, stop: int, token: str, following: str) -> bool:
    """ "1." begins an item where nothing of the sentence stands before it, or a colon does."""
    if len(token) > 2:
        return False
    begin = stop - len(token)
    before = text[max(at, begin - _LOOK_BACK) : begin].rstrip()
    first = not before and begin - at < _LOOK_BACK
    return (first or before[-1:] in _MARKS) and not following.isdigit()


def _ends_abbreviation(text: str, at: int, stop: int, after: int, token: str) -> bool:
    following = text[after]
    if following.isdigit():
        return False
    word = _WORD.match(text, after)
    starter = word is not None and word[0].lower() in _STARTERS
    if len(token) == 1 and token.isupper():
        unit = _NUMBER.search(text, max(at, stop - 12), stop - 1) is not None  # "negative 6 L."
        return unit or starter or not following.isalpha()  # "Dr. X. He", but "J. Smith"
    return starter or after - stop > 2 or following in "•▪●■"  # two blanks: a typist's full stop


def fit(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """``text[start:end]`` in pieces of at most `LONGEST` characters, cut between clauses."""
    pieces = []
    while end - start > LONGEST:
        cut = _cut(text, start, start + LONGEST)
        pieces.append(_trim(text, start, cut))
        after = _NOT_SPACE.search(text, cut, end)
        start = after.start() if after else end
    pieces.append((start, end))
    return [piece for piece in pieces if piece[0] < piece[1]]


def _cut(text: str, start: int, limit: int) -> int:
    for clause in _CLAUSES:
        last = 0
        for match in clause.finditer(text, start + _SHORTEST, limit + 1):
            if match.start() <= limit:
                last = match.end()
        if last:
            return min(last, limit + 1)
    return limit
