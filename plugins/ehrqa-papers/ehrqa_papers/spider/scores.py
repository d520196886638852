"""Figures of a run by hardness, and the table that the official evaluation prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_papers.spider.hardness import LEVELS
from ehrqa_papers.spider.matching import COMPONENTS

COLUMNS = (*LEVELS, "all")
MEASURES = ("accuracy", "recall", "f1")
_RULES = {
    "accuracy": "\n---------------------PARTIAL MATCHING ACCURACY----------------------",
    "recall": "---------------------- PARTIAL MATCHING RECALL ----------------------",
    "f1": "---------------------- PARTIAL MATCHING F1 --------------------------",
}
Record = Mapping[str, Any]
Level = dict[str, Any]


def score(records: Sequence[Record]) -> dict[str, Level]:
    """By level, and ``all``: ``count``; ``execution`` (None where none of them was run) of the
    ``executed`` ones; ``exact``; ``partial`` by component. Shares from 0 to 1, 0 for no question.
    """
    return {
        level: _level([r for r in records if level in ("all", r["hardness"])]) for level in COLUMNS
    }


def score_interactions(records: Sequence[Record]) -> Level:
    """Share of interactions whose every turn is right."""
    turns: dict[str, list[Record]] = {}
    for record in records:
        turns.setdefault(record["id"].partition(".")[0], []).append(record)
    whole = list(turns.values())
    run = [found for found in whole if all(r["execution"] is not None for r in found)]
    return {
        "count": len(whole),
        "exact": _share([all(r["correct"] for r in found) for found in whole]),
        "execution": _share([all(r["execution"] for r in found) for found in run]) if run else None,
    }


def _level(records: Sequence[Record]) -> Level:
    run = [bool(r["execution"]) for r in records if r["execution"] is not None]
    return {
        "count": len(records),
        "executed": len(run),
        "execution": _share(run) if run or not records else None,
        "exact": _share([r["correct"] for r in records]),
        "partial": {name: _partial([r["partial"][name] for r in records]) for name in COMPONENTS},
    }


def _partial(parts: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Accuracy is over the questions where something was predicted, recall over those where there
    was something to predict; an F1 of two zeros is 1 in the official evaluation."""
    accuracy = _share([p["right"] for p in parts if p["predicted"]])
    recall = _share([p["right"] for p in parts if p["gold"]])
    both = accuracy + recall
    f1 = 2.0 * accuracy * recall / both if both else 1.0
    return {"accuracy": accuracy, "recall": recall, "f1": f1 if parts else 0.0}


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right) if right else 0.0


def official_table(scores: Mapping[str, Level], interactions: Level | None = None) -> str:
    """The scores as Spider's evaluation prints them, to three decimals."""
    lines = [_row("", COLUMNS), _row("count", [str(scores[c]["count"]) for c in COLUMNS])]
    if scores["all"]["execution"] is not None:
        lines += ["\n=====================   EXECUTION ACCURACY     ====================="]
        lines += [_row("execution", [_three(scores[c]["execution"]) for c in COLUMNS])]
    lines += ["\n====================== EXACT MATCHING ACCURACY ====================="]
    lines += [_row("exact match", [_three(scores[c]["exact"]) for c in COLUMNS])]
    for measure, rule in _RULES.items():
        lines.append(rule)
        for name in COMPONENTS:
            found = [_three(scores[c]["partial"][name][measure]) for c in COLUMNS]
            lines.append(_row(name, found))
    if interactions is not None:
        lines += ["\n---------------------- WHOLE INTERACTIONS ---------------------------"]
        lines += [f"{'count':20} {interactions['count']}"]
        if interactions["execution"] is not None:
            lines += [f"{'execution':20} {_three(interactions['execution'])}"]
        lines += [f"{'exact match':20} {_three(interactions['exact'])}"]
    return "\n".join(lines) + "\n"


def tables(
    scores: Mapping[str, Level], interactions: Level | None = None
) -> tuple[FigureTable, ...]:
    """The same as tables for Markdown and JSON."""
    first: list[Cells] = [("count", *(scores[c]["count"] for c in COLUMNS))]
    if scores["all"]["execution"] is not None:
        first.append(("execution", *(_three(scores[c]["execution"]) for c in COLUMNS)))
    first.append(("exact match", *(_three(scores[c]["exact"]) for c in COLUMNS)))
    if interactions is not None:
        for name in ("count", "execution", "exact"):
            value = interactions[name]
            shown = value if isinstance(value, int) else _three(value)
            first.append((f"interactions: {name}", *[""] * len(LEVELS), shown))
    columns = ("", *COLUMNS)
    found = [FigureTable("1", "exact matching and execution", columns, (("", tuple(first)),))]
    for number, measure in enumerate(MEASURES, 2):
        rows = tuple(
            (name, *(_three(scores[c]["partial"][name][measure]) for c in COLUMNS))
            for name in COMPONENTS
        )
        found.append(
            FigureTable(str(number), f"partial matching, {measure}", columns, (("", rows),))
        )
    return tuple(found)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:20} " + " ".join(f"{cell:<20}" for cell in cells)


def _three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
