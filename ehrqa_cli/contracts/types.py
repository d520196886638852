"""The values that flow along the path of a question (design: "Types that flow").

All are frozen dataclasses of plain values, so that an answer can be written down,
compared and repeated. Times are ISO text ``YYYY-MM-DD HH:MM:SS``, as EHRSQL stores them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ehrqa_cli.contracts.concepts import Concept

Scalar = str | int | float | None
Row = tuple[Scalar, ...]


class Scope(StrEnum):
    """Question scope by modality (EHRXQA section 3)."""

    TABLE = "table"
    IMAGE = "image"
    IMAGE_TABLE = "image+table"
    NOTE = "note"


class PatientScope(StrEnum):
    """Question scope by patients (EHRXQA section 3)."""

    NONE = "none"
    SINGLE = "single"
    GROUP = "group"


class Status(StrEnum):
    """How an answer ended. Declining is ``abstained``; ``failed`` is for faults; ``tentative`` is
    an answer that is withheld and shown unchecked, because that was asked for."""

    ANSWERED = "answered"
    TENTATIVE = "tentative"
    ABSTAINED = "abstained"
    FAILED = "failed"


# Of these none is an answer: whoever counts answers counts both as declined.
WITHHELD = frozenset({Status.ABSTAINED, Status.TENTATIVE})


@dataclass(frozen=True)
class Question:
    """One question as the user gave it. ``as_of`` binds ``current_time``; with ``images``, the path
    of one file, that film alone answers it."""

    text: str
    id: str | None = None
    patient_id: int | None = None
    study_id: int | None = None
    images: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    as_of: str | None = None


@dataclass(frozen=True)
class Link:
    """A span of the question tied to a typed value.

    ``start`` and ``end`` are character offsets into the question; ``types`` are the kinds of
    value the text can be (more than one when it is ambiguous, e.g. a drug and an intake);
    ``value`` is what the database calls it; ``how`` says how it was found (exact, synonym,
    fuzzy, number, date, ...); ``quality`` is 1.0 for an exact match. ``concepts`` are the sets of
    items that it stands for, at most one a type; without one it is the item called ``value``.
    """

    start: int
    end: int
    types: tuple[str, ...]
    value: Scalar
    how: str = "exact"
    quality: float = 1.0
    concepts: tuple[Concept, ...] = ()


@dataclass(frozen=True)
class LinkedQuestion:
    """A question with its links in order of appearance and the text the model reads.

    ``text`` has every link replaced by ``<type>#k`` (several types: ``<a><b>#k``), k from 1.
    ``unknown`` are spans that look like values but exist nowhere in this database,
    as (kind, text), e.g. ("pat", "28447"). ``restrictions`` limit what is asked in a way that the
    model need not know ("Hispanic patients"): they are no part of ``text``, their type is the
    filter that they become. ``ambiguous`` are spans that may mean several things here, each of
    its ``concepts``; they are in ``unknown`` too, as ("ambiguous", text).
    """

    question: str
    text: str
    links: tuple[Link, ...]
    unknown: tuple[tuple[str, str], ...] = ()
    restrictions: tuple[Link, ...] = ()
    ambiguous: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Query:
    """What a text-to-SQL model wrote: NeuralSQL, or a logical form to be compiled into it.

    ``scores`` are measured numbers by name (natural logarithms where they are probabilities),
    for instance ``max_entropy`` (nats), ``mean_logprob`` and ``grammar_mass``.
    """

    neuralsql: str | None
    logical_form: str | None = None
    tokens: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Bounds on one database query; time in ``seconds``, ``rows`` returned, ``length`` in bytes.

    ``steps`` of the database's own machine, where it counts them (SQLite's does, by the thousand),
    end a query at the same place in every run, however busy the computer is. ``now``
    (YYYY-MM-DD HH:MM:SS) is what the query finds where it comes upon the computer's clock; None
    for a query that must not.
    """

    seconds: float = 10.0
    rows: int = 1000
    length: int = 1_000_000
    steps: int | None = None
    now: str | None = None


@dataclass(frozen=True)
class Result:
    """Rows of one query. ``elapsed`` is in seconds; ``truncated`` when ``Limits.rows`` cut it."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    truncated: bool = False
    elapsed: float = 0.0


@dataclass(frozen=True)
class Answer:
    """One answer with its evidence; the JSON of ``ask --json`` is made from exactly this.

    For an abstention ``reason_kind`` is the check that withheld the answer (engine.confidence),
    ``reason_public`` what it means to a person (engine.reasons), and ``suggestions`` are the
    nearest questions that can be answered. ``reading`` is how it was read, where it could be:
    {logical_form, description, concepts, runs}; ``runs``: it can be run as a tentative answer,
    which has all of these too. ``concepts`` say what names were taken to mean, each
    {mention, concept, kind, about, members, shown}. ``alternatives`` are the readings to choose
    from where a name of the question means several things, each {description, logical_form,
    answer}; its answer is unchecked, and None where it gives nothing.
    """

    question: Question
    status: Status
    scope: Scope = Scope.TABLE
    patient_scope: PatientScope = PatientScope.NONE
    text: str = ""
    value: Any = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    truncated: bool = False
    choice: str | None = None
    confidence: float | None = None
    reason_kind: str | None = None
    reason: str | None = None
    reason_public: str | None = None
    reading: dict[str, Any] | None = None
    suggestions: tuple[str, ...] = ()
    alternatives: tuple[dict[str, Any], ...] = ()
    logical_form: str | None = None
    description: str | None = None
    neuralsql: str | None = None
    executed_sql: str | None = None
    evidence: tuple[dict[str, Any], ...] = ()
    concepts: tuple[dict[str, Any], ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    error: dict[str, str] | None = None
    # Failed by what can be mended outside, as a damaged file: worth asking again.
    again: bool = False
    scores: dict[str, float] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
