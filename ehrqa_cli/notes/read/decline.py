"""Whether the notes say it at all: features of the best evidence, for a fitted null score."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.options import Support, shares
from ehrqa_cli.notes.read.question import Kind

_TAKEN = ("share", "window", "rarest", "cosine", "found", "negated", "fits", "near", "section",
          "family", "planned", "header")  # fmt: skip


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
        "value lacks": float(valued and not best["fits"]),
        "yes/no": float(asked.kind is Kind.YES_NO),
        "reason": float(asked.kind is Kind.REASON),
        "arithmetic": float(asked.kind in (Kind.ARITHMETIC, Kind.COMPARISON)),
        "groups": min(len(asked.groups), 8) / 8,
    }


def with_options(features: dict[str, float], found: Sequence[Support]) -> dict[str, float]:
    """The features of `features_of` with those of the best option."""
    each = shares(found)
    best = found[0].features
    return features | {
        "option share": each[0],
        "option ahead": each[0] - (each[1] if len(each) > 1 else 0.0),
        "option covered": best["covered"],
        "option covered best": best["covered best"],
        "option near": best["covered near"],
        "option meant": best["meant"],
        "option joined": best["joined"],
        "option numbers": best["numbers"],
        "option anywhere": best["covered anywhere"],
        "option borne out": found[0].borne_out,
    }


def likely(logit: float) -> float:
    """A logit as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
