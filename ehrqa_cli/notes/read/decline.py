"""Whether the notes say it at all: features of the best evidence, for a fitted null score."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.options import Support, told
from ehrqa_cli.notes.read.question import AnswerKind
from ehrqa_cli.notes.read.topic import topic
from ehrqa_cli.notes.read.weights import Weights, score

SILENT = 0.2
_TAKEN = ("share", "window", "rarest", "cosine", "found", "negated", "fits", "near", "section",
          "family", "planned", "header", "meant", "not meant",
          "clause", "first", "second")  # fmt: skip


def features_of(evidence: Evidence) -> dict[str, float]:
    """Features by which it is told whether the lines answer the question."""
    best, asked = evidence.features[0], evidence.asked
    spread = sum(evidence.scores[1:6]) / max(1, len(evidence.scores[1:6]))
    found = {name: best.get(name, 0.0) for name in _TAKEN}
    valued = "fits" in best
    return found | {
        "one": 1.0,
        "score": evidence.scores[0],
        "ahead": evidence.scores[0] - spread if len(evidence.scores) > 1 else 0.0,
        "absent": evidence.absent,
        "most absent": evidence.most_absent,
        "much absent": float(evidence.most_absent > 0.6),
        "most window": max(f["window"] for f in evidence.features),
        "most cosine": max(f["cosine"] for f in evidence.features),
        "most clause": max(f["clause"] for f in evidence.features),
        "unlike": evidence.unlike,
        "first absent": 1 - max(f["first"] for f in evidence.features),
        "second absent": 1 - max(f["second"] for f in evidence.features),
        "near, best 3": max((f.get("near", 0.0) for f in evidence.features[:3]), default=0.0),
        "clause, best 3": max(f["clause"] for f in evidence.features[:3]),
        "window, best 3": max(f["window"] for f in evidence.features[:3]),
        "value lacks": float(valued and not best["fits"]),
        "yes/no": float(asked.kind is AnswerKind.YES_NO),
        "reason": float(asked.kind is AnswerKind.REASON),
        "arithmetic": float(asked.kind in (AnswerKind.ARITHMETIC, AnswerKind.COMPARISON)),
        "groups": min(len(asked.groups), 8) / 8,
    }


def aboutness(evidence: Evidence) -> dict[str, float]:
    """How much of what is asked about the best line names, by itself and with what stands around
    it; and the sort of answer, as some are found more surely than others."""
    core = topic(evidence.asked.text).core
    best = evidence.lines[0].line
    place = {(x.line.note_id, x.line.number): x.line.text for x in evidence.lines}
    beside = [place.get((best.note_id, best.number + step), "") for step in (-1, 1)]
    around = " | ".join([best.text, best.section, *beside])
    line, near, anywhere = lexical.matches(core, [best.text, around, " | ".join(place.values())]).T
    n = max(1, len(core))
    return {
        "about, line": float(line.sum()) / n,
        "about, near": float(near.sum()) / n,
        "about, least": float(near.min(initial=1.0)),
        "about, absent": float((anywhere == 0).sum()),
        "about, own": float((line == 1).sum()) / n,
        f"kind {evidence.asked.kind.value}": 1.0,
    }


def with_options(features: dict[str, float], found: Sequence[Support]) -> dict[str, float]:
    """The features of `features_of` with those of the best option."""
    return features | told(found)


def sure_of_choice(evidence: Evidence, found: Sequence[Support], weights: Weights) -> float:
    """How likely it is that the best option is borne out, 0 to 1.

    Where the lines say nothing of what is asked (below SILENT without options), no option is.
    """
    features = features_of(evidence)
    said = likely(score(weights.null, features))
    if said < SILENT:
        return said
    return likely(score(weights.null_choice, with_options(features, found)))


def likely(logit: float) -> float:
    """A logit as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
