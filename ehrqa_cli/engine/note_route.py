"""Is a question one for the notes or for the tables and images? From its words alone, and then
from what the engine knows of the patient.

The words are scored by one logistic regression (models/note_router) over the question's words,
pairs and triples of words, hashed, and the sentence model's vector of it. Patients' numbers and
all other digits are masked first: that a patient is named by number says nothing by itself. The
three scopes without notes are told apart by the logical form (`engine.route`).
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.types import LinkedQuestion, Scope
from ehrqa_cli.modelstore import digest, shipped

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Embedder

FILE = "note_router/weights.json"
BUCKETS = 1 << 15
NOTE, MIDDLING = 0.5, 0.2  # from which a question is one for the notes; from which they are tried
_SURE = 0.9  # a note question that the tables need not be asked after all
_SAID = 0.99  # the question itself says that it is about a note
_HINT = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"
# What the tables decline for, that the notes may know all the same.
_MAY_BE_IN_NOTES = frozenset(
    {"unlinked_value", "model_declined", "no_form", "out_of_scope", "images", "unused_value",
     "low_confidence", "execution_error", "empty_result"}
)  # fmt: skip
_ID = re.compile(
    r"\b(?:patient|pt|subject)\s*(?:id|number|no\.?)?\s*#?\d+(?:'s)?(?!\w)|#?\b\d{5,}(?:'s)?(?!\w)"
)
_PERSON = re.compile(
    r"\b(?:he|him|his|she|her|hers|the (?:patient|pt|baby|child|infant|woman|man))\b"
)
_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+")
_MENTION = re.compile(
    r"\b(?:discharge|clinic(?:al)?|progress|admission|operative|op|nursing|consult(?:ation)?|"
    r"physician'?s?|doctor'?s?)[\s-]+(?:summary|summaries|notes?|letters?|reports?)\b"
    r"|\b(?:according to|per|in|from|do|does|of|by)\s+(?:the|his|her|their|this|that|any|my|our)?"
    r"\s*(?:\w+'s\s+)?(?:last|latest|first|written|clinical)?\s*(?:notes?|summary)\b"
    r"|\bh&p\b|\bd/?c summary\b",
    re.IGNORECASE,
)

_IMAGE = re.compile(
    r"\b(?:cxrs?|(?:chest )?x-?\s?rays?|chest films?|radiographs?|stud(?:y|ies) #?\d+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Decision:
    """Whom to ask: Scope.NOTE, or Scope.TABLE for the path by logical form, which tells tables and
    images apart. ``other``: where that reader declines, ask ``choose`` again or try the other."""

    scope: Scope
    other: bool
    reason: str


def choose(
    score: float,
    *,
    has_notes: bool,
    in_tables: bool,
    table_reason: str | None = None,
    table_risk: float | None = None,
    forced: Scope | None = None,
    coded: bool = False,
    yes_no: bool = False,
) -> Decision:
    """The reader for a question whose `NoteRouter.note_score` is ``score``.

    ``has_notes`` and ``in_tables`` say where there is something about its patient (both False for
    none). ``table_reason`` is the kind of Reason with which the path by logical form declined, None
    before it was asked; ``table_risk`` its risk (0 to 1, the probability of being wrong), if known.
    ``forced`` is a scope that was given; ``coded``: the question names a diagnosis, a drug or a lab
    that the tables have, which settle it if they can; ``yes_no``: it wants yes or no, which the
    notes give only with a line that bears it out, so that they may always be tried.
    """
    if forced is not None:
        return Decision(forced, False, "the scope was given")
    if not has_notes:
        return Decision(Scope.TABLE, False, "there are no notes of this patient")
    if not in_tables:
        return Decision(Scope.NOTE, False, "this patient is known only from notes")
    if table_reason is None:
        if coded:
            return Decision(
                Scope.TABLE, True, "the tables record what it names, and are asked first"
            )
        if score >= NOTE:
            return Decision(Scope.NOTE, score < _SURE, "it is worded as a question about the notes")
        other = yes_no or score >= MIDDLING
        return Decision(Scope.TABLE, other, "it is worded as one about the tables")
    if coded and score >= NOTE:
        return Decision(
            Scope.NOTE, False, "the tables do not settle it, and it is worded as for notes"
        )
    least = 0.0 if yes_no else MIDDLING
    if table_risk is not None and table_reason == "unused_value":
        least += (NOTE - MIDDLING) * (1.0 - table_risk)  # a query all but believed is for tables
    if table_reason in _MAY_BE_IN_NOTES and score >= least:
        return Decision(Scope.NOTE, False, "the tables do not say it, and the notes may")
    return Decision(Scope.TABLE, False, "it is not worded as a question about the notes")


@dataclass(frozen=True)
class NoteRouter:
    """The fitted weights and the sentence model. Use ``load``."""

    words: bytes
    scale: float
    meaning: tuple[float, ...]
    bias: float
    sha256: str = ""
    given: Embedder | None = None

    @classmethod
    def load(cls, path: Path | None = None, embedder: Embedder | None = None) -> NoteRouter:
        """The shipped weights, or those at ``path``. Raises ModelError for a missing or broken
        file; the sentence model is opened when it is first needed, unless it is given."""
        path = path or shipped(FILE)
        found = _read(path)
        return cls(**found, sha256=digest(path), given=embedder)

    def note_score(self, text: str, linked: LinkedQuestion | None = None) -> float:
        """How probable it is, 0 to 1, that the notes and not the tables or images answer ``text``.

        ``linked`` tells which numbers are patients. Raises ModelError without the sentence model.
        """
        if says_note(text):
            return _SAID
        text = _without_patients(text, linked)
        plain = masked(text)
        total = self.bias + self.scale * sum(
            self.words[b] - 256 * (self.words[b] > 127) for b in buckets(plain, text)
        )
        vector = self._embedder.embed([plain])[0].tolist()
        total += sum(a * b for a, b in zip(self.meaning, vector, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, total))))

    def provenance(self) -> Mapping[str, str]:
        """The hashes of the weights and of the sentence model."""
        from ehrqa_cli.notes.find.embed import SHA256

        return {"weights_sha256": self.sha256, "sentence_model_sha256": SHA256}

    @cached_property
    def _embedder(self) -> Embedder:
        from ehrqa_cli.notes.find.embed import Embedder

        return self.given or Embedder.open()


def says_note(text: str) -> bool:
    """Does the question itself say that it is about a note?"""
    return _MENTION.search(text) is not None


def scope_by_words(text: str) -> Scope:
    """What a question asks about that was declined before a logical form could tell: an image where
    it names a chest X-ray or a study by its number, else tables."""
    return Scope.IMAGE if _IMAGE.search(text) else Scope.TABLE


def masked(text: str) -> str:
    """``text`` in lower case, each long number with its "patient" as just "patient"."""
    return " ".join(_ID.sub(" patient ", text.lower()).split())


def buckets(plain: str, text: str) -> set[int]:
    """The numbers of a question's features; ``plain`` is ``text`` as `masked` gives it."""
    words = ["0" if w[0].isdigit() else w for w in _WORD.findall(plain)]
    who = "person" if _PERSON.search(plain) else "id" if _ID.search(text.lower()) else "none"
    edged = ["^", *words, "$"]
    grams = [*words, *(f"{w[:5]}~" for w in words if len(w) > 5)]
    grams += [f"{a} {b}" for a, b in pairwise(edged)]
    grams += [f"{a} {b} {c}" for a, b, c in zip(edged, edged[1:], edged[2:], strict=False)]
    grams += [f"@{who}", f"@{who} {' '.join(words[:1])}", f"@{who} {' '.join(words[:2])}"]
    return {zlib.crc32(gram.encode()) % BUCKETS for gram in grams}


def _without_patients(text: str, linked: LinkedQuestion | None) -> str:
    """``text`` with the patients that the linker found written as long numbers, whatever they are
    called, so that they are masked."""
    if linked is None:
        return text
    for link in sorted(linked.links, key=lambda link: -link.start):
        if "pat" in link.types and link.end > link.start:
            text = f"{text[: link.start]}00000000{text[link.end :]}"
    return text


@lru_cache(maxsize=2)
def _read(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_bytes())
        words = base64.b64decode(raw["words"], validate=True)
        if len(words) != BUCKETS:
            raise ValueError
        meaning = tuple(float(x) for x in raw["meaning"])
        numbers = {"scale": float(raw["scale"]), "bias": float(raw["bias"])}
    except OSError as error:
        raise ModelError(f"cannot read {path.name}: {error.strerror}", _HINT) from None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise ModelError(f"{path} holds no weights of the note router", _HINT) from None
    return {"words": words, "meaning": meaning, **numbers}
