"""How well each of some lines answers to a question: meaning and words in one score.

The weights were chosen on models/corpus/notes (questions and notes of our own), where a
weighted sum does better than ranks fused by their reciprocals (Cormack et al. 2009); the figures
are in docs/notes-find.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.find.passages import passages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehrqa_cli.notes.find.embed import Vectors

    Scores = NDArray[np.float32]

MEANING, AROUND, WORDS = 0.7, 0.2, 0.6  # cosine of the line, of its passage, share of words
TIME, YEAR, STAY, SHORT = 0.05, 0.1, 0.4, -0.08
_NEARBY = 0.15  # how much a word in the line before or after, or in the section's name, counts
_FEW = 5  # words of a line that says little by itself
BEST = MEANING + AROUND + WORDS  # a score is divided by it: about 0 to 1

_ASKS_TIME = re.compile(
    r"\b(?:when|how (?:long|soon|old|recent\w*)|what (?:date|day|time|year|month)"
    r"|how many (?:hours|days|weeks|months|years))\b",
    re.I,
)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_NUMBER = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|several)"
_HAS_TIME = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b|\b(?:19|20|21)\d\d\b"
    rf"|\b{_MONTH}\s+\d{{1,2}}\b"
    rf"|\b{_NUMBER}(?:\s?(?:-|to)\s?\d+)?[\s-]?(?:hours?|hrs?|days?|weeks?|wks?|months?|years?|d|h)\b"
    r"|\b(?:day|pod)\s?#?\d+|\b(?:yesterday|today|tomorrow|ago|until|since|morning|evening)\b",
    re.I,
)
_ASKS_STAY = re.compile(
    r"\b(?:days?|nights?|long|length)\b.*\b(?:stay\w*|hospital\w*|admitted|inpatient|los)\b"
    r"|\blength of stay\b",
    re.I,
)
_STAY_DATE = re.compile(r"\b(?:admi\w+|discharged?|adm|disch?|dc|d/c)\b.{0,25}\d", re.I)
_YEAR = re.compile(r"\b(?:19|20|21|22)\d\d\b")


@dataclass(frozen=True)
class Record:
    """The lines to choose from, in order, and when the note of each was written."""

    lines: Sequence[Line]
    times: Sequence[str]

    def runs(self) -> list[range]:
        """The passages of the lines, as ranges of positions, none across two notes."""
        found: list[range] = []
        start = 0
        for at in range(1, len(self.lines) + 1):
            if at == len(self.lines) or self.lines[at].note_id != self.lines[start].note_id:
                part = passages(self.lines[start:at])
                found.extend(range(start + run.start, start + run.stop) for run in part)
                start = at
        return found


@dataclass(frozen=True)
class Words:
    """The words of a question and how well each line of a record names them.

    ``named`` and ``nearby`` have the shape (groups, lines); ``rarity`` says how much each group
    tells, by how few of the lines name it.
    """

    groups: list[lexical.Group]
    named: Scores
    nearby: Scores
    rarity: Scores

    @classmethod
    def of(cls, question: str, record: Record) -> Words:
        """Look the words of ``question`` up in all lines of ``record``."""
        import numpy as np

        groups = lexical.groups(question)
        named = lexical.matches(groups, [line.text for line in record.lines])
        sections = sorted({line.section for line in record.lines})
        place = {name: k for k, name in enumerate(sections)}
        heads = lexical.matches(groups, sections)[:, [place[line.section] for line in record.lines]]
        nearby = np.maximum(named, _NEARBY * heads)
        nearby[:, 1:] = np.maximum(nearby[:, 1:], _NEARBY * named[:, :-1])
        nearby[:, :-1] = np.maximum(nearby[:, :-1], _NEARBY * named[:, 1:])
        return cls(groups, named, nearby, rarity(named))

    def share(self) -> Scores:
        """How much of what the question says each line says: 0 to 1."""
        import numpy as np

        total = max(float(self.rarity.sum()), 1e-6)
        found: Scores = (self.rarity[:, None] * self.nearby).sum(axis=0) / np.float32(total)
        return found


def rarity(named: Scores) -> Scores:
    """The weight of each group as in BM25 (Robertson and Zaragoza 2009, section 3.1)."""
    import numpy as np

    lines, holding = named.shape[1], (named > 0).sum(axis=1)
    found: Scores = np.log(1 + (lines - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return found


def fuse(question: str, record: Record, words: Scores, near: Scores, around: Scores) -> Scores:
    """One score for each line, larger is better, about 0 to 1.

    ``near`` and ``around`` are the cosines of the question with the line and with its passage;
    ``words`` is `Words.share`.
    """
    import numpy as np

    found = MEANING * near + AROUND * around + WORDS * words
    texts = [line.text for line in record.lines]
    found += SHORT * np.array([len(text.split()) < _FEW for text in texts], dtype=np.float32)
    if _ASKS_TIME.search(question):
        timed = [_HAS_TIME.search(text) is not None for text in texts]
        found += TIME * np.array(timed, dtype=np.float32)
    if _ASKS_STAY.search(question):
        dates = [_STAY_DATE.search(text) is not None for text in texts]
        found += STAY * np.array(dates, dtype=np.float32)
    years = set(_YEAR.findall(question))
    if years:
        meant = [any(time.startswith(year) for year in years) for time in record.times]
        found += YEAR * np.array(meant, dtype=np.float32)
    fused: Scores = (found / BEST).astype(np.float32)
    return fused


def cosines(question: Vectors, vectors: Vectors) -> Scores:
    """Cosines of unit vectors: shape (384,) and (n, 384) to (n,)."""
    found: Scores = vectors @ question
    return found
