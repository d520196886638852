"""What became of a query about images: rows, the SQL that gave them, and what they rest on."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ehrqa_cli.contracts.images import ImageAnswers, ImageReader, ImageTables
from ehrqa_cli.contracts.types import Result


@dataclass(frozen=True)
class Step:
    """One call: its question and program, the SQL that found its studies, what was read.

    Where tables of the database answer, ``count`` is the number of ``studies``, of which the first
    are named, and ``hits`` the SQL that gives those with a yes or names.
    """

    question: str
    program: str
    sql: str
    studies: tuple[int, ...]
    answers: ImageAnswers
    count: int | None = None
    hits: str = ""


@dataclass(frozen=True)
class Execution:
    """Rows, the SQL that gave them, and how the images came in.

    ``missing`` studies have no image and were left out; ``undecided`` ones make no difference to
    the rows.
    """

    result: Result
    sql: str
    steps: tuple[Step, ...] = ()
    missing: tuple[int, ...] = ()
    undecided: tuple[int, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """Images read for this query."""
        return sum(step.answers.read for step in self.steps)

    @property
    def cached(self) -> int:
        """How often a scene graph was there already."""
        return sum(step.answers.cached for step in self.steps)

    @property
    def probability(self) -> float | None:
        """Of the least certain answer about an image that was asked for; None without any."""
        told = [step.answers.probability for step in self.steps]
        return min((p for p in told if p is not None), default=None)

    def explain(self) -> dict[str, Any]:
        """The plan as plain values: each step, images read, cache hits, batches."""
        return {
            "steps": [
                {
                    "question": step.question,
                    "program": step.program,
                    "studies": len(step.studies) if step.count is None else step.count,
                    "studies_sql": step.sql or None,
                    "found_sql": step.hits or None,
                    "images_read": step.answers.read,
                    "cache_hits": step.answers.cached,
                    "batches": step.answers.batches,
                }
                for step in self.steps
            ],
            "images_read": self.read,
            "cache_hits": self.cached,
            "missing": list(self.missing),
            "undecided": list(self.undecided),
        }


def image_evidence(done: Execution, graphs: ImageReader, most: int = 20) -> list[dict[str, Any]]:
    """The relations that the answers rest on, as {kind: image, study_id, finding, location,
    probability}: of studies with a yes or names first."""
    ranked: dict[tuple[int, str], None] = {}
    for step in done.steps:
        hits = _hits(step, graphs)[:most]
        ranked.update(dict.fromkeys((study, step.question) for study in hits))
    for step in done.steps:
        absent = set(step.answers.missing)
        others = [s for s in step.studies[:most] if s not in absent]
        ranked.update(dict.fromkeys((study, step.question) for study in others))
    chosen = list(itertools.islice(ranked, most))
    if isinstance(graphs, ImageTables):
        graphs.warm([study for study, _ in chosen])
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for study, question in chosen:
        for used in graphs.detail(question, study).relations:
            key = (study, used.attribute, used.object)
            found.setdefault(
                key,
                {
                    "kind": "image",
                    "study_id": study,
                    "finding": used.attribute,
                    "location": used.object or None,
                    "probability": used.probability,
                },
            )
    return list(found.values())[:most]


def _hits(step: Step, graphs: ImageReader) -> list[int]:
    """The studies with a yes or names, in the order in which the call's studies were found."""
    if not step.hits or not isinstance(graphs, ImageTables):
        return [*step.answers.yes, *step.answers.values]
    found = graphs.studies(step.hits)
    first = [study for study in step.studies if study in set(found)]
    return list(dict.fromkeys([*first, *found]))
