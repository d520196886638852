"""Scores of MIMIC-CXR-VQA (Bae et al. 2023, section 6.1): accuracy and micro-F1.

An answer is a set of labels out of 110 (36 objects, 68 attributes, AP, PA, M, F, yes, no). It is
right when it is exactly the gold set; micro-F1 counts labels over all questions. A question that
was declined counts as wrong in both, and is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable, Record
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaSet
from ehrqa_cli.evaluate.mimic_cxr_vqa.relations import PairAuroc, Relative
from ehrqa_cli.evaluate.priors import HINDSIGHT, LEFT_OUT, priors
from ehrqa_cli.evaluate.shares import Share, share

# The orders of the paper's tables B5 and B6.
CONTENT = ("presence", "anatomy", "attribute", "abnormality", "size", "plane", "gender")
SEMANTIC = ("verify", "choose", "query")
COLUMNS = (
    "questions",
    "n",
    "accuracy % (95%)",
    "micro-F1 (95%)",
    "answered %",
    "accuracy of answered %",
    "declined",
    "failed",
)
_AUROC_COLUMNS = ("object", "attribute", "positives", "support", "AUROC (95%)", "ref", "rel")


@dataclass(frozen=True)
class VqaScores:
    """``declined`` and ``failed`` are counts; the shares are of 0 to 1."""

    questions: int
    accuracy: Share
    f1: Share
    coverage: Share
    accuracy_of_answered: Share
    declined: int
    failed: int


def score(records: Sequence[Record], seed: int = 0) -> VqaScores:
    """All scores of ``records`` (MimicCxrVqa.record). Intervals resample studies, whose questions
    go together."""
    studies = [r["study_id"] for r in records]
    ones = [1.0] * len(records)
    given, gold = [set(r["prediction"] or ()) for r in records], [set(r["gold"]) for r in records]
    hits = [2.0 * len(a & b) for a, b in zip(given, gold, strict=True)]
    named = [float(len(a) + len(b)) for a, b in zip(given, gold, strict=True)]
    right = [float(r["correct"]) for r in records]
    answered = [float(r["prediction"] is not None) for r in records]
    failed = sum(r["status"] == "failed" for r in records)
    return VqaScores(
        questions=len(records),
        accuracy=share(right, ones, studies, seed),
        f1=share(hits, named, studies, seed),
        coverage=share(answered, ones, studies, seed),
        accuracy_of_answered=share(right, answered, studies, seed),
        declined=len(records) - round(sum(answered)) - failed,
        failed=failed,
    )


def main_table(records: Sequence[Record], seed: int) -> FigureTable:
    """In all, by content type, by semantic type."""
    return FigureTable(
        "1",
        "accuracy and micro-F1; what was declined counts as wrong",
        COLUMNS,
        (
            ("", (_row("all", records, seed),)),
            ("content type", _rows(records, "content_type", CONTENT, seed)),
            ("semantic type", _rows(records, "semantic_type", SEMANTIC, seed)),
        ),
    )


def template_table(records: Sequence[Record], seed: int) -> FigureTable:
    """By template, and how many of them were answered at all."""
    blocks = (("", _rows(records, "template", (), seed)),)
    answered = {r["template"] for r in records if r["prediction"] is not None}
    known = {r["template"] for r in records}
    note = f"{len(answered)} of {len(known)} templates were answered at all"
    return FigureTable("4", "by template", COLUMNS, blocks, (note,))


def baseline_table(records: Sequence[Record], data: VqaSet, system: str, seed: int) -> FigureTable:
    """The system beside the paper's two priors, which look at no image."""
    rows = [_short(system, "", score(records, seed))]
    measured = [(r["template"], frozenset(r["gold"])) for r in records]
    for prior in priors(measured, data.training):
        said = [
            {**r, "prediction": answer, "correct": answer == set(r["gold"])}
            for r, answer in zip(records, prior.answers, strict=True)
        ]
        rows.append(_short(prior.name, prior.source, score(said, seed)))
    columns = ("system", "chosen on", "accuracy % (95%)", "micro-F1 (95%)")
    return FigureTable("2", "baselines", columns, (("", tuple(rows)),), _baseline_notes(data))


def _baseline_notes(data: VqaSet) -> tuple[str, ...]:
    if data.training:
        return (f"the priors are chosen on {', '.join(data.training_files)}",)
    return (
        f"there is no training split here: '{LEFT_OUT}' chooses on the other questions (where "
        f"yes and no are equally many it is always wrong about them); '{HINDSIGHT}' on "
        "these very questions, which no such baseline can do better than",
    )


def relation_table(
    pairs: Sequence[PairAuroc], relative: Relative | None, basis: str
) -> FigureTable:
    """AUROC of each pair that has one, its reference and their ratio."""
    rows: list[Cells] = []
    for pair in pairs:
        if pair.auroc is not None:
            shown = Share(pair.auroc, pair.low, pair.high).shown()
            place, name = pair.relation
            rows.append(
                (
                    place or "(whole image)",
                    name,
                    pair.positives,
                    pair.support,
                    shown,
                    _three(pair.reference),
                    _three(pair.relative),
                )
            )
    return FigureTable(
        "3",
        "AUROC by relation",
        _AUROC_COLUMNS,
        (("", tuple(rows)),),
        _told(pairs, relative, basis),
    )


def _told(pairs: Sequence[PairAuroc], relative: Relative | None, basis: str) -> tuple[str, ...]:
    known = [pair.auroc for pair in pairs if pair.auroc is not None]
    mean = f"; their mean is {sum(known) / len(known):.3f}" if known else ""
    notes = [f"{basis}: {len(known)} of {len(pairs)} pairs have 10 positives and a negative{mean}"]
    silent = sum(pair.unscored for pair in pairs)
    if silent:
        cases = silent + sum(pair.support for pair in pairs)
        notes.append(f"of {silent} of {cases} cases the system said nothing; they are left out")
    if relative is not None:
        notes.append(
            f"AUROC_rel {relative.mean:.3f} ± {relative.deviation:.3f} "
            f"(95% of the mean {relative.low:.3f}-{relative.high:.3f}) over {relative.pairs} of "
            f"the reference's {relative.known} pairs"
        )
    return tuple(notes)


def _rows(
    records: Sequence[Record], field: str, order: Sequence[str], seed: int
) -> tuple[Cells, ...]:
    known = sorted({r[field] for r in records}, key=_natural)
    parts = {name: [r for r in records if r[field] == name] for name in [*order, *known]}
    return tuple(_row(name, part, seed) for name, part in parts.items() if part)


def _row(name: str, records: Sequence[Record], seed: int) -> Cells:
    s = score(records, seed)
    covered, right = s.coverage.value, s.accuracy_of_answered.value
    return (
        name,
        s.questions,
        s.accuracy.percent(),
        s.f1.shown(),
        None if covered is None else 100.0 * covered,
        None if right is None else 100.0 * right,
        s.declined,
        s.failed,
    )


def _short(name: str, source: str, s: VqaScores) -> Cells:
    return (name, source, s.accuracy.percent(), s.f1.shown())


def _natural(name: str) -> tuple[int, str]:
    digits = "".join(c for c in name if c.isdigit())
    return (int(digits or 0), name)


def _three(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"
