"""How the questions of a saved run ended, counted: by group, by system, by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ehrqa_cli.contracts.types import WITHHELD
from ehrqa_cli.evaluate.saved import DECLINED, FAILED, RIGHT, WRONG, SavedRun, answerable, states

BARS = 16  # groups in a plot; a table holds all
_HARDNESS = ("easy", "medium", "hard", "extra")
_PANELS = 4  # systems beside each other in a plot
HAVE = {"have an answer": True, "have none": False}
# What questions are grouped by, in any benchmark: the field of a record, and its heading.
FIELDS = {
    "modality": "modality",
    "patient_scope": "patients",
    "images": "images",
    "content_type": "content type",
    "semantic_type": "semantic type",
    "hardness": "hardness",
    "level": "level",
    "category": "category",
    "title": "part",
    "part": "part of the new split",
    "unseen": "template not in train",
    "db_id": "database",
    "template": "template",
}
Groups = dict[str, Counter[str]]


def by_field(run: SavedRun) -> dict[str, Groups]:
    """By field, then by value: how many questions ended how. Fields with one value are left out."""
    found: dict[str, Groups] = {}
    for name in FIELDS:
        groups: Groups = {}
        for record in run.records.values():
            value = record.get(name)
            if value is not None:
                for outcome in states(record).values():
                    groups.setdefault(str(value) or "-", Counter())[outcome] += 1
        if len(groups) > 1:
            found[name] = dict(sorted(groups.items(), key=lambda group: _place(group[0])))
    return found


def _place(group: str) -> tuple[int, str]:
    """Where a group stands: levels of hardness from easy to extra, all else by name."""
    return (_HARDNESS.index(group), "") if group in _HARDNESS else (len(_HARDNESS), group)


def by_system(run: SavedRun) -> Groups:
    found: Groups = {}
    for record in run.records.values():
        for system, outcome in states(record).items():
            found.setdefault(system or "all", Counter())[outcome] += 1
    return found


def steps(run: SavedRun) -> dict[str, list[float]]:
    """Seconds by step, 0 where a question had no such step; ``total`` is their sum if not kept."""
    if not run.seconds or "file" in (run.header.get("predictor") or {}):
        return {}  # of predictions from a file, only the scoring was timed
    rows = [dict(row) for row in run.seconds.values()]
    for row in rows:
        row.setdefault("total", sum(row.values()))
    if not any(row["total"] for row in rows):
        return {}  # nothing was asked
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) == 2:
        names = ["total"]  # one step is the total
    return {name: [row.get(name, 0.0) for row in rows] for name in names}


def of_each(run: SavedRun) -> Iterator[tuple[str, SavedRun]]:
    """A run of each system, where records are of several."""
    names = dict.fromkeys(name for r in run.records.values() for name in r.get("systems", {}))
    for name in names:
        records = {
            key: {"gold": r.get("gold"), **r["systems"][name]}
            for key, r in run.records.items()
            if name in r["systems"]
        }
        yield name, replace(run, records=records)


def ended(run: SavedRun, wanted: bool) -> Counter[str]:
    """How the questions ended that have an answer (``wanted``), or those that have none: by what
    was done, so that to decline the latter is to decline."""
    found: Counter[str] = Counter()
    for record in run.records.values():
        if answerable(record) is not wanted:
            continue
        status = str(record.get("status", "answered"))
        if status == "answered":
            found[RIGHT if RIGHT in states(record).values() else WRONG] += 1
        else:
            found[DECLINED if status in WITHHELD else FAILED] += 1
    return found


def confusions(run: SavedRun) -> dict[str, Groups]:
    """For each system: what became of the questions with an answer, and of those without, where a
    right one is an answer that is right (declining is shown as what it is)."""
    if any("predictions" in record for record in run.records.values()):
        return {}
    several = {name: one for name, one in of_each(run) if ": " not in name}
    found = {}
    for name, one in list((several or {"": run}).items())[:_PANELS]:
        counts = {said: ended(one, wanted) for said, wanted in HAVE.items()}
        found[name] = {said: ended for said, ended in counts.items() if ended}
    return found


def worst_templates(run: SavedRun) -> dict[str, Groups]:
    """The templates with the smallest share of right answers; none where systems are several."""
    groups = by_field(run).get("template", {})
    if not groups or len(by_system(run)) > 1:
        return {}
    ranked = sorted(groups, key=lambda g: (groups[g][RIGHT] / sum(groups[g].values()), g))
    name = "template"
    if len(groups) > BARS:
        name = f"fewest right: {BARS} of {len(groups)} templates"
    return {name: {group: groups[group] for group in ranked[:BARS]}}
