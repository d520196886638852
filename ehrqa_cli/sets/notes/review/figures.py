"""The figures of a review, as Kweon et al. 2024 report theirs (section 3.3, tables 2 and 3)."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.notes.review.decisions import (
    ACCEPTED,
    DECISIONS,
    DROPPED,
    EDITED,
    Decision,
    Review,
)
from ehrqa_cli.sets.notes.review.items import Item, ReviewSet

UNDECIDED = "undecided"
QUESTIONS, RIGHT, WRONG, EVIDENCE = "questions", "right_answers", "wrong_choices", "evidence"
REVISED = (QUESTIONS, RIGHT, WRONG, EVIDENCE)
_NAMES = {"question": QUESTIONS, "answer": RIGHT, "evidence": EVIDENCE}


def figures(data: ReviewSet, decisions: Mapping[str, Decision]) -> Plain:
    """Counts of one reviewer's decisions, or of those of several together: what became of the
    items, what was revised, and the same by level and number of notes and by category."""
    kinds = Counter(_kind(item, decisions) for item in data.items)
    decided = sum(kinds[kind] for kind in DECISIONS)
    revised: Counter[str] = Counter()
    wrong = 0
    for item in data.items:
        revised += _revised(item, decisions.get(item.id))
        if item.id in decisions:
            wrong += sum(letter != item.content.answer for letter in item.content.choices)
    of = {WRONG: wrong}
    return {
        "items": len(data.items),
        "decided": decided,
        **{kind: kinds[kind] for kind in (ACCEPTED, EDITED, DROPPED, UNDECIDED)},
        "kept": kinds[ACCEPTED] + kinds[EDITED],
        "revised": {name: [revised[name], of.get(name, decided)] for name in REVISED},
        "by_level": _by(data.items, decisions, "stratum"),
        "by_category": _by(data.items, decisions, "category"),
    }


def _revised(item: Item, decision: Decision | None) -> Counter[str]:
    """What an edit changed, under the names of ``REVISED``; each wrong choice counts."""
    out: Counter[str] = Counter()
    if decision is not None and decision.content is not None:
        for what in decision.content.changed_from(item.content):
            out[WRONG if what.startswith("choice") else _NAMES[what]] += 1
    return out


def _kind(item: Item, decisions: Mapping[str, Decision]) -> str:
    found = decisions.get(item.id)
    return found.kind if found else UNDECIDED


def _by(
    items: Sequence[Item], decisions: Mapping[str, Decision], field: str
) -> dict[str, dict[str, int]]:
    """For each value of the field its items, those kept (the paper's "Final (Sampled)"), what
    became of them, and what was revised."""
    out: dict[str, Counter[str]] = {}
    for item in items:
        row = out.setdefault(getattr(item, field) or "none", Counter())
        kind = _kind(item, decisions)
        row["items"] += 1
        row["kept"] += kind in (ACCEPTED, EDITED)
        row[kind] += 1
        row.update(_revised(item, decisions.get(item.id)))
    names = ("items", "kept", ACCEPTED, EDITED, DROPPED, UNDECIDED, *REVISED)
    return {key: {name: row[name] for name in names} for key, row in sorted(out.items())}


def times(review: Review) -> Plain | None:
    """How long a decided item took, in seconds; None where nothing was measured."""
    taken = review.seconds()
    found = [taken[key] for key in review.decisions if key in taken]
    if not found:
        return None
    return {
        "items": len(found),
        "median": round(statistics.median(found), 1),
        "mean": round(statistics.fmean(found), 1),
        "all": round(sum(found), 1),
    }


def agreement(one: Mapping[str, Decision], other: Mapping[str, Decision]) -> Plain:
    """How two reviewers agree on the items that both decided: the share of the same decision, and
    Cohen's kappa (1960), for the three decisions and for keeping against dropping. Of those that
    both edited, how many they made the same."""
    both = [key for key in one if key in other]
    pairs = [(one[key].kind, other[key].kind) for key in both]
    kept = [(a != DROPPED, b != DROPPED) for a, b in pairs]
    edited = [key for key in both if one[key].kind == other[key].kind == EDITED]
    return {
        "items": len(both),
        "same_decision": _same(pairs),
        "kappa": kappa(pairs),
        "same_kept_or_dropped": _same(kept),
        "kappa_kept_or_dropped": kappa(kept),
        "edited_by_both": len(edited),
        "edited_alike": sum(one[key].content == other[key].content for key in edited),
    }


def _same(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    return round(sum(a == b for a, b in pairs) / len(pairs), 3) if pairs else None


def kappa(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Cohen's kappa of pairs of labels; None for none, and where chance alone makes all agree."""
    if not pairs:
        return None
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    count = len(pairs)
    chance = sum(first[label] * second[label] for label in first) / count**2
    if chance == 1:
        return None
    seen = sum(a == b for a, b in pairs) / count
    return float(round((seen - chance) / (1 - chance), 3))


def together(reviews: Sequence[Mapping[str, Decision]]) -> dict[str, Decision]:
    """The decisions of several reviewers as one: what any of them dropped is dropped; what any
    edited has the words of the first, in the order given, who did."""
    out: dict[str, Decision] = {}
    rank = {DROPPED: 2, EDITED: 1, ACCEPTED: 0}
    for decisions in reviews:
        for key, decision in decisions.items():
            before = out.get(key)
            if before is None or rank[decision.kind] > rank[before.kind]:
                out[key] = decision
    return out
