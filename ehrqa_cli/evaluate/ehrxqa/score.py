"""Scores of EHRXQA (Bae et al. 2023, section 6.2), by modality and patient scope.

* Acc_LF: the program that was answered with is the gold program (see canonical).
* Acc_EX|gt: the gold program, run with the image reader that is measured, gives the gold answer:
  what is left of perfect parsing once images are read.
* Acc_EX|pred: the predicted program, run with the same reader, gives it: the system as a whole.
* Acc_EX|labels (ours): the predicted program, run with gold scene graphs: the parsing alone.

All are shares of the answerable questions; a declined question counts as wrong, and is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable, Record
from ehrqa_cli.contracts.types import WITHHELD
from ehrqa_cli.evaluate.ehrxqa.load import XqaSet
from ehrqa_cli.evaluate.priors import HINDSIGHT, LEFT_OUT, priors
from ehrqa_cli.evaluate.rows import plain_rows
from ehrqa_cli.evaluate.shares import Share, share

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


def score(records: Sequence[Record], seed: int = 0) -> XqaScores:
    """All scores of the answerable among ``records`` (EhrXqa.record). Intervals resample
    questions; a measure is of those where it is defined."""
    known = _answerable(records)
    right = [float(r["correct"]) for r in known]
    answered = [float(r["status"] == "answered") for r in known]

    def of(parts: Sequence[float], wholes: Sequence[float]) -> Share:
        return share(parts, wholes, range(len(parts)), seed)

    def defined(name: str) -> Share:
        values = [float(r[name]) for r in known if r.get(name) is not None]
        return of(values, [1.0] * len(values))

    return XqaScores(
        questions=len(known),
        acc_lf=defined("acc_lf"),
        acc_ex_gt=defined("ex_gt"),
        acc_ex_pred=defined("correct"),
        acc_ex_labels=defined("ex_labels"),
        coverage=of(answered, [1.0] * len(known)),
        accuracy_of_answered=of(right, answered),
        wrong=round(sum(answered) - sum(right)),
        declined=sum(r["status"] in WITHHELD for r in known),
        failed=sum(r["status"] == "failed" for r in known),
    )


def _answerable(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["gold"] is not None]


def main_table(records: Sequence[Record], seed: int) -> FigureTable:
    """In all, by modality, and by the nine groups of the paper."""
    labels = any(r.get("ex_labels") is not None for r in records)
    columns = ["questions", "n", "Acc_LF", "Acc_EX|gt", "Acc_EX|pred (95%)"]
    columns += ["Acc_EX|labels"] * labels
    columns += ["answered %", "right of answered %", "wrong", "declined", "failed"]
    known = _answerable(records)
    modalities = dict.fromkeys(modality for modality, _, _ in GROUPS)
    by_modality = [(name, [r for r in known if r["modality"] == name]) for name in modalities]
    by_group = [(" ".join(g).strip(), [r for r in known if _group(r) == g]) for g in GROUPS]
    other = [r for r in known if _group(r) not in GROUPS]
    blocks = (
        ("", (_row("all", known, labels, seed),)),
        ("modality", _rows(by_modality, labels, seed)),
        ("modality, patients, images", _rows([*by_group, ("other", other)], labels, seed)),
    )
    return FigureTable(
        "1",
        "accuracy in per cent; what was declined counts as wrong",
        tuple(columns),
        blocks,
        _notes(records),
    )


def baseline_table(records: Sequence[Record], data: XqaSet, system: str, seed: int) -> FigureTable:
    """The system beside constant answers."""
    known = _answerable(records)
    measured = [(r["template"], plain_rows(r["gold"])) for r in known]
    training = [(template, plain_rows(rows)) for template, rows in data.training]
    rows: list[Cells] = [_short(system, "", [r["correct"] for r in known], seed)]
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
    return FigureTable(
        "2", "baselines of a constant answer", columns, (("", tuple(rows)),), (note,)
    )


def reason_table(records: Sequence[Record]) -> FigureTable | None:
    """Why answerable questions were declined or failed; None where none was."""
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        if record["status"] != "answered" and record["gold"] is not None:
            key = (record["status"], str(record.get("why") or "not said").split(":")[0])
            counts[key] = counts.get(key, 0) + 1
    rows = tuple((*key, n) for key, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))
    if not rows:
        return None
    return FigureTable(
        "3", "why answerable questions got no answer", ("", "why", "n"), (("", rows),)
    )


def _group(record: Record) -> tuple[str, str, str]:
    modality, patients = record["modality"], record["patient_scope"]
    if modality == "image" and patients == "group":
        return (modality, patients, "N-image")
    return (modality, patients, record["images"] if modality == "image" else "")


def _notes(records: Sequence[Record]) -> tuple[str, ...]:
    notes = []
    none = [record for record in records if record["gold"] is None]
    if none:
        declined = sum(record["status"] in WITHHELD for record in none)
        notes.append(f"of {len(none)} questions without an answer {declined} were declined")
    if all(record.get("acc_lf") is None for record in records):
        notes.append("Acc_LF: there are no gold programs, or no predicted ones, to compare")
    return tuple(notes)


def _rows(
    parts: Sequence[tuple[str, Sequence[Record]]], labels: bool, seed: int
) -> tuple[Cells, ...]:
    return tuple(_row(name, part, labels, seed) for name, part in parts if part)


def _row(name: str, records: Sequence[Record], labels: bool, seed: int) -> Cells:
    s = score(records, seed)
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


def _short(name: str, source: str, right: Sequence[bool], seed: int) -> Cells:
    ones = [1.0] * len(right)
    found = share([float(r) for r in right], ones, range(len(right)), seed)
    return (name, source, found.percent())


def _percent(found: Share) -> float | None:
    return None if found.value is None else 100.0 * found.value
