"""The only place that decides to abstain.

Each check is a pure function from what a step found to a Reason or None, so that each signal is
available on its own: the papers compare them (maximum token entropy and beam score in EHRSQL,
Lee et al. 2022; words of the question in Yang et al. 2024). One weighted score, the risk, joins
those that are numbers; its threshold is chosen on validation data (evaluate.thresholds).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Link, LinkedQuestion, Query, Result, Scope
from ehrqa_cli.engine.lexicon import Unused, content_words, unused

# Kinds of Reason, in the order in which they can come up.
KINDS = (
    "unknown_patient",
    "unlinked_value",
    "model_declined",
    "no_form",
    "out_of_scope",
    "unused_value",
    "unused_word",
    "low_confidence",
    "execution_error",
    "empty_result",
)
# A form that leaves one of these unused answers another question, however sure the model is.
_MUST_USE = frozenset(
    {"pat", "study", "year", "ym", "ymd", "md", "stamp", "num", "dur", "agegrp", "drug", "lab"}
    | {"dx", "proc", "specimen", "mtest", "organism"}
)
_NOUNS = {
    "pat": "patient", "study": "study", "drug": "drug", "lab": "lab test", "dx": "diagnosis",
    "proc": "procedure", "num": "number", "dur": "duration", "year": "date", "ym": "date",
    "ymd": "date", "md": "date", "stamp": "time", "agegrp": "age group", "specimen": "specimen",
    "mtest": "microbiology test", "vital": "vital sign",
}  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """Why an answer is withheld: one of KINDS, and a sentence for people."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class Thresholds:
    """How much risk is accepted, and how risk becomes a probability of being right.

    ``risk`` is ``intercept`` plus the weighted sum of ``weights`` over the scores; a risk above
    ``limit`` abstains (None: never). ``limits`` bound single scores. ``calibration`` holds pairs
    (risk, probability), risk ascending; without it no confidence is given. Reasons of a kind in
    ``ignore`` are noted (score ``ignored_KIND``) and not obeyed. ``source`` says on what
    data all this was chosen.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: {
            "max_entropy": 1.0,
            "p_abstain": 2.0,
            "max_removed": 1.0,
            "unknown_words": 1.0,
            "elsewhere_words": 0.1,
        }
    )
    intercept: float = 0.0
    limit: float | None = 1.5
    limits: Mapping[str, float] = field(default_factory=dict)
    calibration: tuple[tuple[float, float], ...] = ()
    ignore: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=lambda: {"chosen": "by hand, not measured"})

    @classmethod
    def off(cls) -> Thresholds:
        """Accept any risk and unused values: to measure the scores themselves."""
        soft = ("unlinked_value", "unused_value", "unused_word", "low_confidence")
        return cls(limit=None, ignore=soft, source={"chosen": "off"})

    @classmethod
    def load(cls, path: Path) -> Thresholds:
        """Read a file that evaluate.thresholds wrote. Raises UsageError."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                weights={str(k): float(v) for k, v in raw["weights"].items()},
                intercept=float(raw["intercept"]),
                limit=None if raw["limit"] is None else float(raw["limit"]),
                limits={str(k): float(v) for k, v in raw.get("limits", {}).items()},
                ignore=tuple(str(kind) for kind in raw.get("ignore", ())),
                calibration=tuple((float(x), float(p)) for x, p in raw["calibration"]),
                source=dict(raw["source"]),
            )
        except OSError as error:
            raise UsageError(
                f"cannot read thresholds {path}: {error.strerror}", "check the path"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{path} is not a thresholds file", "make it again with `ehrqa eval`, or delete it"
            ) from None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for provenance and for the file; ``load`` reads them back."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]


def of_links(linked: LinkedQuestion) -> Reason | None:
    """Before the model runs: does what the question names exist in this database?"""
    for kind, text in linked.unknown:
        if kind == "pat":
            return Reason("unknown_patient", f"There is no patient {text} in this database.")
    for kind, text in linked.unknown:
        noun = _NOUNS.get(kind, "value")
        return Reason("unlinked_value", f"The {noun} “{text}” does not occur in this database.")
    return None


def of_queries(queries: Iterable[Query]) -> Reason | None:
    """Did the model write anything at all?"""
    first = next(iter(queries), None)
    if first is None or first.logical_form == "abstain":
        return Reason("model_declined", "The model finds no query that answers this question.")
    if not first.logical_form and not first.neuralsql:
        return no_form("it is empty")
    return None


def no_form(detail: str) -> Reason:
    """What the model wrote cannot be read."""
    return Reason("no_form", f"What the model wrote is not a valid query: {detail}")


def of_scope(scope: Scope, why: str) -> Reason | None:
    """Only the tables have a reader so far."""
    if scope is Scope.TABLE:
        return None
    what = {"image": "images", "image+table": "images", "note": "notes"}[scope.value]
    return Reason("out_of_scope", f"This asks about {what} ({why}); no reader for them is set up.")


def of_unused_links(links: tuple[Link, ...], used: set[int]) -> Reason | None:
    """A value, number or date of the question that the query leaves out."""
    for number, link in enumerate(links, 1):
        if number not in used and _must_use(link) and not _repeated(link, links, used):
            return Reason(
                "unused_value",
                f"The query found for it does not use “{link.value}” of the question.",
            )
    return None


def of_unused_literals(links: tuple[Link, ...], sql: str) -> Reason | None:
    """The same for a model that writes SQL: patients and numbers must occur in its text."""
    for link in links:
        if {"pat", "num"}.intersection(link.types):
            text = str(link.value)
            if not re.search(rf"(?<![\w.]){re.escape(text)}(?![\w])", sql):
                return Reason(
                    "unused_value", f"The query found for it does not use “{text}” of the question."
                )
    return None


def _must_use(link: Link) -> bool:
    # A text that could be several kinds of thing, or was only nearly matched, may be plain words.
    return set(link.types) <= _MUST_USE and link.quality >= 1.0


def _repeated(link: Link, links: tuple[Link, ...], used: set[int]) -> bool:
    return any(links[n - 1].value == link.value for n in used if 1 <= n <= len(links))


def words_left(linked: LinkedQuestion, form: str) -> Unused:
    """Content words of the question that the printed form does not account for."""
    spans = [(link.start, link.end) for link in linked.links]
    return unused(content_words(linked.question, spans), form)


def of_scores(
    scores: Mapping[str, float], thresholds: Thresholds, left: Unused | None = None
) -> Reason | None:
    """The measured signals together: is the risk above the threshold?"""
    for name, limit in thresholds.limits.items():
        if scores.get(name, 0.0) > limit:
            return _too_risky(f"{name} {scores[name]:.2f} is above {limit:.2f}")
    total = risk(scores, thresholds)
    if thresholds.limit is None or total <= thresholds.limit:
        return None
    by_words = (left.unknown if left else ()) or (left.elsewhere if left else ())
    without = {k: v for k, v in scores.items() if not k.endswith("_words")}
    if by_words and risk(without, thresholds) <= thresholds.limit:
        words = ", ".join(f"“{word}”" for word in by_words[:3])
        return Reason("unused_word", f"The query found for it leaves out {words} of the question.")
    return _too_risky(f"risk {total:.2f} is above {thresholds.limit:.2f}")


def _too_risky(detail: str) -> Reason:
    return Reason("low_confidence", f"The model is not sure enough of its query ({detail}).")


def of_result(result: Result) -> Reason | None:
    """An empty result is no answer. A count of 0 or a "no" (0) is one."""
    if all(cell is None for row in result.rows for cell in row):
        return Reason("empty_result", "The query runs, but the database holds no data for it.")
    return None


def execution_error(message: str) -> Reason:
    """The query the model wrote does not run."""
    return Reason("execution_error", f"The query found for it does not run: {message}")


def risk(scores: Mapping[str, float], thresholds: Thresholds) -> float:
    """The weighted sum of the scores; scores that are missing or not finite count as 0."""
    total = thresholds.intercept
    for name, weight in thresholds.weights.items():
        value = scores.get(name, 0.0)
        total += weight * value if math.isfinite(value) else 0.0
    return total


def probability(scores: Mapping[str, float], thresholds: Thresholds) -> float | None:
    """The calibrated probability that the answer is right; None where nothing was measured."""
    points = thresholds.calibration
    if not points:
        return None
    x = risk(scores, thresholds)
    if x <= points[0][0]:
        return points[0][1]
    for (x0, p0), (x1, p1) in pairwise(points):
        if x <= x1:
            return round(p0 + (p1 - p0) * (x - x0) / (x1 - x0), 4) if x1 > x0 else p1
    return points[-1][1]
