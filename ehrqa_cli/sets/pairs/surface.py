"""How people type: who they have in mind, why they ask, shorthand, case, slips of the finger.

Values stay as they are: while the words are changed, every value is one mark.
"""

from __future__ import annotations

import random
import re

from ehrqa_cli.sets.data import table

Words = list[tuple[str, bool]]
"""Text, and whether it is a value (which is never changed)."""

_MARK = 0xE000  # private characters stand for the values, in their order
_MARKS = "[\ue000-\uf8ff]"
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
_SAID = table("pairs/words/surface")
# What people add about the answer they want, by the question's words.
_NOTES = [(re.compile(a["asks"], re.I), a["notes"]) for a in _SAID["answers"].values()]
_SHORTHAND = [
    (re.compile(rf"\b(?:{long})\b" if long[0].isalpha() else long), short)
    for long, short in _SAID["shorthand"]
]
_ARTICLE = re.compile(r"(?<=\s)(?:the|a|an)\s+")
_WORD = re.compile(r"[a-z]{4,}")
# A patient as questions name one.
_PERSON = re.compile(
    r"(?:\b(?:the )?(?:patient|pt|subject|pat|case)(?: with)?(?: id)?(?: (?:number|no\.))? )?"
    rf"(?P<who>{_MARKS})(?P<own>['’]s)?"
)
_PATIENT_ID = re.compile(r"\d{7,}")
_OBJECT_BEFORE = re.compile(
    r"\b(?:of|for|to|in|on|from|by|with|at|as|about|than|into|upon|through|giv(?:en|ing)) $"
)
_SUBJECT_BEFORE = re.compile(
    r"\b(?:did|does|do|was|is|has|had|that|when|whether|if|will|can|should|time|since|how|which|"
    r"what|why|where|long|old|tall|ever|after|before) $"
)
_IMAGE = re.compile(
    r"\b(?:stud(?:y|ies)|images?|imaging|films?|radiographs?|x-?\s?rays?|cxrs?)\b", re.I
)


def render(words: Words, rng: random.Random, noise: float = 1.0) -> str:
    """The question as typed. ``noise`` scales how often anything but tidying happens."""
    text, values = _marked(words)
    text = _reworded(text, values, rng, noise)
    text = _framed(text, values, rng, noise)
    roll = rng.random()
    if roll < 0.16 * noise:
        return text if roll < 0.1 * noise else text.lower()
    if roll < 0.165 * noise:
        return text.upper()
    return text[:1].upper() + text[1:]


def without_patient(words: Words, rng: random.Random) -> Words | None:
    """The words with a pronoun for the one patient that they name. None when they name none,
    several, or one in a place where no pronoun reads well."""
    text, values = _marked(words)
    text = tidy(text)
    match = _one_patient(text, values)
    if match is None:
        return None
    pronoun = _pronoun(text[: match.start()], match["own"] is not None, rng)
    if pronoun is None:
        return None
    text = text[: match.start()] + pronoun + text[match.end() :]
    parts = re.split(f"({_MARKS})", text)
    return [(values[ord(p) - _MARK], True) if re.match(_MARKS, p) else (p, False) for p in parts]


def tidy(text: str) -> str:
    """One space between words, none before a stop, no comma left without company."""
    text = _SPACES.sub(" ", text)
    text = _BEFORE_STOP.sub(r"\1", text)
    text = _DOUBLE.sub(",", text)
    return _TRAILING.sub("", _LEADING.sub("", text))


def _marked(words: Words) -> tuple[str, list[str]]:
    """The text with a mark for every value, and the values."""
    text = ""
    values: list[str] = []
    for piece, fixed in words:
        if fixed and piece.strip():
            text += chr(_MARK + len(values))
            values.append(piece)
        else:
            text += piece
    return text, values


def _fill(text: str, values: list[str]) -> str:
    return re.sub(_MARKS, lambda match: values[ord(match[0]) - _MARK], text)


def _reworded(text: str, values: list[str], rng: random.Random, noise: float) -> str:
    """The words between the values: pronouns, shorthand, missing articles, slips."""
    text = tidy(text)
    if rng.random() < 0.1 * noise:
        text = _introduce(text, values, rng)
    if rng.random() < 0.1 * noise:
        text = _shorten(text, rng)
    if rng.random() < 0.05 * noise:
        text = _ARTICLE.sub(lambda match: "" if rng.random() < 0.7 else match[0], text)
    for chance in (0.06, 0.01):
        if rng.random() < chance * noise:
            text = _typo(text, rng)
    return text


def _framed(text: str, values: list[str], rng: random.Random, noise: float) -> str:
    """The whole question: what stands before and after it, and its last character."""
    asks = bool(_ASKS.match(_fill(text, values)))
    if rng.random() < 0.045 * noise:
        for pattern, notes in _NOTES:
            if pattern.search(text):
                stop = "?" if asks and rng.random() < 0.5 else ""
                text = text + stop + rng.choice(notes)
                break
    roll = rng.random()
    if roll < 0.035 * noise:
        text = rng.choice(_SAID["prefixes"]) + text
    elif roll < 0.055 * noise:
        text = rng.choice(_SAID["reason_frames"]).format(rng.choice(_SAID["reasons"])) + text
    elif roll < 0.085 * noise:
        text = text + rng.choice(_SAID["suffixes"])
    if rng.random() < 0.01 * noise:
        text = text.replace(" ", "  ", 1)
    return _ending(_fill(text, values), asks, rng, noise)


def _one_patient(text: str, values: list[str]) -> re.Match[str] | None:
    """Where the one patient of a question is named, unless a pronoun could not stand there."""
    found = [
        match
        for match in _PERSON.finditer(text)
        if _PATIENT_ID.fullmatch(values[ord(match["who"]) - _MARK])
    ]
    if len(found) != 1:
        return None
    before = text[: found[0].start()]
    bare = found[0].start() == found[0].start("who")
    if before.endswith((", ", ": ", "- ", "# ", "study ")) or (bare and _IMAGE.search(text)):
        return None  # a number alone beside a film may be the film's
    return found[0] if before or found[0]["own"] else None


def _introduce(text: str, values: list[str], rng: random.Random) -> str:
    """The one patient of a question named before it, or after it, and a pronoun in the question;
    the text as it is where that does not go."""
    match = _one_patient(text, values)
    if match is None:
        return text
    before, after = text[: match.start()], text[match.end() :]
    pronoun = _pronoun(before, match["own"] is not None, rng)
    if pronoun is None:
        return text
    called = rng.choice(_SAID["called"]).format(match["who"])
    question = f"{before}{pronoun}{after}"
    if rng.random() < 0.2:
        return question + str(rng.choice(_SAID["named_last"])).format(called)
    lead = str(rng.choice(_SAID["introduced"])).format(called)
    if lead.endswith("."):
        question = question[:1].upper() + question[1:]
    return f"{lead} {question}"


def _pronoun(before: str, own: bool, rng: random.Random) -> str | None:
    """What stands for a patient after these words; None where nothing would read well."""
    if own:
        return rng.choice(("his", "her", "their", "his", "her", rng.choice(_SAID["nouns"]) + "'s"))
    noun = rng.choice(_SAID["nouns"])
    if _OBJECT_BEFORE.search(before):
        return rng.choice(("him", "her", "them", "him", "her", noun))
    if _SUBJECT_BEFORE.search(before):
        return rng.choice(("he", "she", "he", "she", noun))
    return noun if before[-2:-1].isalpha() else None


def _ending(text: str, asks: bool, rng: random.Random, noise: float) -> str:
    roll = rng.random()
    if text.endswith(("?", ".", "!")):
        return text
    if roll < 0.18 * noise:
        return text
    if roll < 0.2 * noise:
        return text + rng.choice((" ?", "??", "...", "?!", " ."))
    if asks:
        return text + "?"
    return text + rng.choice((".", ".", "?", "?", ""))


def _shorten(text: str, rng: random.Random) -> str:
    """Some of the words that charts abbreviate: one, or about half of those that can be."""
    able = [(pattern, short) for pattern, short in _SHORTHAND if pattern.search(text)]
    if not able:
        return text
    chosen = able if rng.random() < 0.4 else [rng.choice(able)]
    for pattern, short in chosen:
        if len(chosen) == 1 or rng.random() < 0.5:
            text = pattern.sub(short, text)
    return text


def _typo(text: str, rng: random.Random) -> str:
    """One slip in one word: a letter dropped, doubled, swapped or wrong, or a lost blank."""
    places = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    if not places:
        return text
    start, end = rng.choice(places)
    at = rng.randint(start + 1, end - 2)
    roll = rng.random()
    if roll < 0.3:
        return text[:at] + text[at + 1 :]
    if roll < 0.52:
        return text[:at] + text[at] + text[at:]
    if roll < 0.8:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if roll < 0.88 and text[end : end + 1] == " " and text[end + 1 : end + 2].isalpha():
        return text[:end] + text[end + 1 :]
    near: str = _SAID["near"].get(text[at], text[at])
    return text[:at] + near + text[at + 1 :]
