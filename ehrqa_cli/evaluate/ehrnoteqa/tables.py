"""Tables of a run over notes: accuracy, by length and number of notes, declining, evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable, Record
from ehrqa_cli.contracts.types import WITHHELD
from ehrqa_cli.evaluate.calibration import wilson
from ehrqa_cli.evaluate.ehrnoteqa.score import MULTI_CHOICE, TOP, best_rank
from ehrqa_cli.evaluate.judge import TIMES, Takes, takes
from ehrqa_cli.evaluate.shares import Share, share
from ehrqa_cli.notes.lengths import BANDS, band_of

Grade = Callable[[Record], float]
_DECLINED_NOTE = (
    "what was declined or failed counts as wrong here; only questions with an answer are scored"
)


def grades_of(form: str) -> dict[str, Grade]:
    """What an answerable question scores, 0 to 1, by the measure's name."""
    if form == MULTI_CHOICE:
        return {"accuracy": lambda r: float(r["correct"])}
    return {
        "exact": lambda r: float(r.get("exact", False)),
        "F1": lambda r: float(r.get("f1", 0.0)),
    }


def accuracy_table(records: Sequence[Record], form: str, seed: int) -> FigureTable:
    """In all, by level, by length, by number of notes and by category."""
    grades = grades_of(form)
    scored = [r for r in records if r["answerable"]]
    blocks: list[tuple[str, tuple[Cells, ...]]] = [("", (_row("all", scored, grades, seed),))]
    for heading, key, order in (
        ("by level", lambda r: f"level {r['level']}", None),
        ("by length in tokens (estimated)", lambda r: band_of(r["tokens"]), _band_order),
        ("by number of notes", lambda r: _counted(r["notes"]), None),
        ("by category", lambda r: r["category"], None),
    ):
        names = sorted({key(r) for r in scored if key(r)}, key=order)
        rows = tuple(_row(n, [r for r in scored if key(r) == n], grades, seed) for n in names)
        if rows:
            blocks.append((heading, rows))
    columns = ("", "questions", *(f"{name} %" for name in grades), "answered", "of answered %")
    return FigureTable(
        "1", f"{form}, questions with an answer", columns, tuple(blocks), (_DECLINED_NOTE,)
    )


def _counted(notes: int) -> str:
    return f"{notes} note" + ("s" if notes != 1 else "")


def _band_order(name: str) -> int:
    return [*(band_of(most) for most in BANDS), band_of(BANDS[-1] + 1)].index(name)


def _row(name: str, records: Sequence[Record], grades: dict[str, Grade], seed: int) -> Cells:
    answered = [r for r in records if r["status"] == "answered"]
    last = list(grades.values())[-1]
    return (
        name,
        len(records),
        *(mean(records, grade, seed).percent() for grade in grades.values()),
        len(answered),
        mean(answered, last, seed).percent(),
    )


def mean(records: Sequence[Record], grade: Grade, seed: int) -> Share:
    """Of a grade, with its interval; patients with all their questions are resampled."""
    patients = [r["patient_id"] for r in records]
    return share([grade(r) for r in records], [1.0] * len(records), patients, seed)


def decline_table(records: Sequence[Record]) -> FigureTable:
    """What became of questions with and without an answer, with Wilson's intervals."""
    rows: list[Cells] = []
    for name, has in (("with an answer", True), ("without an answer", False)):
        found = [r for r in records if r["answerable"] is has]
        counts = [
            sum(r["status"] in ends for r in found)
            for ends in (("answered",), WITHHELD, ("failed",))
        ]
        rows.append((name, len(found), *(binomial(n, len(found)).percent() for n in counts)))
    columns = ("questions", "number", "answered %", "declined %", "failed %")
    notes = ("95% intervals of Wilson; a fault is no declining",)
    return FigureTable("2", "answered and declined", columns, (("", tuple(rows)),), notes)


def binomial(part: int, whole: int) -> Share:
    """A share of questions with Wilson's interval."""
    if not whole:
        return Share(None)
    return Share(part / whole, *wilson(part / whole, whole))


def evidence_scores(records: Iterable[Record]) -> dict[str, Any]:
    """Evidence among the top k cited: ``any`` of a question's gold lines, the same where the
    question was also ``answered``, and the share of ``all`` gold lines."""
    with_gold = [r for r in records if "evidence_ranks" in r]
    lines = [rank for r in with_gold for rank in r["evidence_ranks"]]
    out: dict[str, Any] = {"questions": len(with_gold), "lines": len(lines)}
    for k in TOP:
        hits = [r for r in with_gold if (best_rank(r) or k + 1) <= k]
        met, kept = len(hits), sum(r["status"] == "answered" for r in hits)
        out[f"top_{k}"] = {
            "any": binomial(met, len(with_gold)),
            "answered": binomial(kept, len(with_gold)),
            "all": binomial(sum(rank is not None and rank <= k for rank in lines), len(lines)),
        }
    return out


def evidence_table(records: Sequence[Record]) -> FigureTable | None:
    """Recall of gold lines, and citations that do not quote what they point at; None where the
    set has no evidence and nothing was cited."""
    found = evidence_scores(records)
    cited = sum(len(r["cited"]) for r in records)
    faults = [fault for r in records for fault in r["faults"]]
    if not found["questions"] and not cited:
        return None
    rows: list[Cells] = [
        (f"top {k}", *(found[f"top_{k}"][name].percent() for name in ("any", "answered", "all")))
        for k in TOP
        if found["questions"]
    ]
    kinds = ", ".join(f"{faults.count(kind)} {kind}" for kind in sorted(set(faults)))
    notes = (
        f"{found['questions']} questions with {found['lines']} gold lines",
        f"{cited} citations, {len(faults)} faulty and not counted{f': {kinds}' if kinds else ''}",
    )
    columns = ("cited", "a gold line %", "and answered %", "of all gold lines %")
    return FigureTable("3", "evidence", columns, (("", tuple(rows)),), notes)


def judged(records: Sequence[Record]) -> Takes | None:
    """The rounds of the judge over the questions with an answer; declined ones score 0."""
    scored = [r for r in records if r["answerable"]]
    return takes([r.get("verdicts", [0.0] * TIMES) for r in scored])


def judge_table(records: Sequence[Record], name: str) -> FigureTable | None:
    """The judge's rounds, by level as in the paper's table 4."""
    levels = sorted({r["level"] for r in records if r["answerable"]})
    parts = [("all", list(records))]
    parts += [(f"level {n}", [r for r in records if r["level"] == n]) for n in levels]
    rows: list[Cells] = []
    for label, part in parts:
        found = judged(part)
        if found is not None:
            rows.append((label, found.shown(), *(f"{one:.2f}" for one in found.scores)))
    if not rows:
        return None
    columns = ("", "mean ± deviation", *(f"take {k}" for k in range(1, TIMES + 1)))
    return FigureTable("4", f"judged by {name}", columns, (("", tuple(rows)),))
