"""Scores of EHRXQA (Bae et al. 2023, section 6.2), by modality and patient scope.

* Acc_LF: the program that was answered with is the gold program (see canonical).
* Acc_EX|gt: the gold program, run with the image reader that is measured, gives the gold answer:
  what is left of perfect parsing once images are read.
* Acc_EX|pred: the predicted program, run with the same reader, gives it: the system as a whole.
* Acc_EX|labels (ours): the predicted program, run with gold scene graphs: the parsing alone.

All are shares of the answerable questions; a declined question counts as wrong, and is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet
from ehrqa_cli.evaluate.priors import HINDSIGHT, LEFT_OUT, priors
from ehrqa_cli.evaluate.rows import plain_rows
from ehrqa_cli.evaluate.shares import Share, share
from ehrqa_cli.evaluate.tables import Row, StudyTable

# The rows of the paper's tables C9, E16 and E17.
GROUPS = (
    ("image", "single", "1-image"),
    ("image", "single", "2-image"),
    ("image", "single", "N-image"),
    ("image", "group", "N-image"),
    ("table", "none", ""),
    ("table", "single", ""),
    ("table", "group", ""),
    ("image+table", "single", ""),
    ("image+table", "group", ""),
)
Key = frozenset[tuple[Any, ...]]


@dataclass(frozen=True)
class Scored:
    """One question: what became of it, and whether each of the measures counts it; None where a
    measure is not defined (no gold program, no labels)."""

    item: XqaItem
    status: str
    correct: bool
    lf: bool | None = None
    ex_gt: bool | None = None
    ex_labels: bool | None = None


@dataclass(frozen=True)
class XqaScores:
    """Of answerable questions; ``wrong`` answers were given, ``declined`` and ``failed`` not."""

    questions: int
    acc_lf: Share
    acc_ex_gt: Share
    acc_ex_pred: Share
    acc_ex_labels: Share
    coverage: Share
    accuracy_of_answered: Share
    wrong: int
    declined: int
    failed: int


def score(found: Sequence[Scored], seed: int = 0) -> XqaScores:
    """All scores of answerable questions. Intervals resample questions."""
    known = [s for s in found if s.item.rows is not None]
    correct = [s.correct for s in known]
    answered = [s.status == "answered" for s in known]

    def defined(read: Callable[[Scored], bool | None]) -> Share:
        values = [float(v) for s in known if (v := read(s)) is not None]
        return share(values, [1.0] * len(values), range(len(values)), seed)

    return XqaScores(
        questions=len(known),
        acc_lf=defined(lambda s: s.lf),
        acc_ex_gt=defined(lambda s: s.ex_gt),
        acc_ex_pred=defined(lambda s: s.correct),
        acc_ex_labels=defined(lambda s: s.ex_labels),
        coverage=defined(lambda s: s.status == "answered"),
        accuracy_of_answered=share(
            [float(c) for c in correct], [float(a) for a in answered], range(len(known)), seed
        ),
        wrong=sum(a and not c for a, c in zip(answered, correct, strict=True)),
        declined=sum(s.status == "abstained" for s in known),
        failed=sum(s.status == "failed" for s in known),
    )


def declined_of_unanswerable(found: Sequence[Scored]) -> tuple[int, int]:
    """How many of the questions without an answer were declined, and how many there are."""
    none = [s for s in found if s.item.rows is None]
    return sum(s.status == "abstained" for s in none), len(none)


def main_table(found: Sequence[Scored], seed: int) -> StudyTable:
    """In all, by modality, and by the nine groups of the paper."""
    labels = any(s.ex_labels is not None for s in found)
    columns = ["questions", "n", "Acc_LF", "Acc_EX|gt", "Acc_EX|pred (95%)"]
    columns += ["Acc_EX|labels"] * labels
    columns += ["answered %", "right of answered %", "wrong", "declined", "failed"]
    known = [s for s in found if s.item.rows is not None]
    modalities = dict.fromkeys(modality for modality, _, _ in GROUPS)
    by_modality = [(name, [s for s in known if s.item.modality == name]) for name in modalities]
    by_group = [(" ".join(g).strip(), [s for s in known if _group(s.item) == g]) for g in GROUPS]
    other = [s for s in known if _group(s.item) not in GROUPS]
    blocks = (
        ("", (_row("all", known, labels, seed),)),
        ("modality", _rows(by_modality, labels, seed)),
        ("modality, patients, images", _rows([*by_group, ("other", other)], labels, seed)),
    )
    return StudyTable(
        "1",
        "accuracy in per cent; what was declined counts as wrong",
        tuple(columns),
        blocks,
        _notes(found),
    )


def baseline_table(found: Sequence[Scored], data: XqaSet, system: str, seed: int) -> StudyTable:
    """The system beside constant answers."""
    known = [s for s in found if s.item.rows is not None]
    measured = [(s.item.template, plain_rows(s.item.rows or ())) for s in known]
    training = [(template, plain_rows(rows)) for template, rows in data.training]
    rows: list[Row] = [_short(system, "", [s.correct for s in known], seed)]
    for word in ("yes", "no"):
        fixed = plain_rows([(word,)])
        rows.append(_short(f"always {word}", "", [fixed == gold for _, gold in measured], seed))
    for prior in priors(measured, training):
        right = [a == gold for a, (_, gold) in zip(prior.answers, measured, strict=True)]
        rows.append(_short(prior.name, prior.source, right, seed))
    if data.training:
        note = f"chosen on {', '.join(data.training_files)}"
    else:
        note = (
            f"there is no training split here: '{LEFT_OUT}' chooses on the other questions, "
            f"'{HINDSIGHT}' on these very questions, which no such "
            "baseline can do better than"
        )
    columns = ("system", "chosen on", "accuracy % (95%)")
    return StudyTable("2", "baselines of a constant answer", columns, (("", tuple(rows)),), (note,))


def reason_table(records: Sequence[Mapping[str, Any]]) -> StudyTable | None:
    """Why answerable questions were declined or failed; None where none was."""
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        if record["status"] != "answered" and record["gold"] is not None:
            key = (record["status"], str(record.get("why") or "not said").split(":")[0])
            counts[key] = counts.get(key, 0) + 1
    rows = tuple((*key, n) for key, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))
    if not rows:
        return None
    return StudyTable(
        "3", "why answerable questions got no answer", ("", "why", "n"), (("", rows),)
    )


def _group(item: XqaItem) -> tuple[str, str, str]:
    if item.modality == "image" and item.patient_scope == "group":
        return (item.modality, item.patient_scope, "N-image")
    return (item.modality, item.patient_scope, item.images if item.modality == "image" else "")


def _notes(found: Sequence[Scored]) -> tuple[str, ...]:
    notes = []
    declined, none = declined_of_unanswerable(found)
    if none:
        notes.append(f"of {none} questions without an answer {declined} were declined")
    if all(s.lf is None for s in found):
        notes.append("Acc_LF: there are no gold programs, or no predicted ones, to compare")
    return tuple(notes)


def _rows(
    parts: Sequence[tuple[str, Sequence[Scored]]], labels: bool, seed: int
) -> tuple[Row, ...]:
    return tuple(_row(name, part, labels, seed) for name, part in parts if part)


def _row(name: str, found: Sequence[Scored], labels: bool, seed: int) -> Row:
    s = score(found, seed)
    return (
        name,
        s.questions,
        _percent(s.acc_lf),
        _percent(s.acc_ex_gt),
        s.acc_ex_pred.percent(),
        *([_percent(s.acc_ex_labels)] if labels else []),
        _percent(s.coverage),
        _percent(s.accuracy_of_answered),
        s.wrong,
        s.declined,
        s.failed,
    )


def _short(name: str, source: str, right: Sequence[bool], seed: int) -> Row:
    ones = [1.0] * len(right)
    found = share([float(r) for r in right], ones, range(len(right)), seed)
    return (name, source, found.percent())


def _percent(found: Share) -> float | None:
    return None if found.value is None else 100.0 * found.value
