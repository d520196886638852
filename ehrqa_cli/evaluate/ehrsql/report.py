"""What a benchmark run found, as a table, as plain values, and as Markdown."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ehrqa_cli.contracts.types import WITHHELD
from ehrqa_cli.evaluate.calibration import brier, wilson
from ehrqa_cli.evaluate.metrics import Scores, intervals, score
from ehrqa_cli.evaluate.records import Record

_ROWS = (
    ("F1_ans", "f1_ans"),
    ("P_exe", "p_exe"),
    ("R_exe", "r_exe"),
    ("F1_exe", "f1_exe"),
    ("unanswerable recall", "unanswerable_recall"),
    ("coverage of answerable", "coverage"),
)


@dataclass(frozen=True)
class Report:
    """Scores of one run. ``header`` names data, model and thresholds by their hashes;
    ``intervals`` are 95% bootstrap intervals by the score's name; ``brier`` is the Brier score of
    the confidences of the answers given, None where none has one."""

    header: dict[str, Any]
    overall: Scores
    seen: Scores | None
    unseen: Scores | None
    intervals: dict[str, tuple[float, float]]
    brier: float | None
    reasons: dict[str, int]
    seconds: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; without seconds, so that the same run gives the same bytes."""
        return {name: value for name, value in asdict(self).items() if name != "seconds"}

    def as_table(self) -> str:
        """The report for a terminal, one measure a line."""
        lines = self.lines()
        if self.seconds:
            shown = f"median {self.seconds['median']:.3f}, 95% {self.seconds['p95']:.3f}"
            lines.append(("seconds a question", shown))
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines) + "\n"

    def as_markdown(self) -> str:
        """The same as a Markdown table."""
        rows = "\n".join(f"| {name} | {value} |" for name, value in self.lines())
        return f"| | {self.header['dataset']} {self.header['split']} |\n|---|---|\n{rows}\n"

    def lines(self) -> list[tuple[str, str]]:
        """(what, value) pairs in the order of the report."""
        s, header = self.overall, self.header
        out = [
            ("dataset", f"{header['dataset']} {header['version']}"),
            ("dataset sha256", str(header["dataset_sha256"])),
            ("database sha256", str(header["database_sha256"])),
            ("predictions by", _by(header["predictor"])),
            (
                "questions",
                f"{s.questions} ({s.answerable} answerable, {s.questions - s.answerable} not)",
            ),
        ]
        scores = {f"RS({penalty})": value for penalty, value in s.rs.items()}
        out += [(name, self._with_interval(name, value)) for name, value in scores.items()]
        out.append(("RS(N)", self._with_interval("RS(N)", s.rs_n)))
        out += [(name, self._with_interval(name, getattr(s, field))) for name, field in _ROWS]
        out += [
            ("wrong on answerable", str(s.wrong_on_answerable)),
            ("answered though unanswerable", str(s.answered_unanswerable)),
            ("wrong answers", _wrong(s)),
            ("failed", str(s.failed)),
        ]
        for name, part in (("seen templates", self.seen), ("unseen templates", self.unseen)):
            if part is not None:
                out.append((name, _part(part)))
        if self.reasons:
            shown = ", ".join(f"{kind} {n}" for kind, n in self.reasons.items())
            out.append(("abstained because", shown))
        if self.brier is not None:
            out.append(("Brier score of answers", f"{self.brier:.4f}"))
        return out

    def _with_interval(self, name: str, value: float | None) -> str:
        if name not in self.intervals:
            return _percent(value)
        low, high = self.intervals[name]
        return f"{_percent(value)}  (95% {low:.1f} to {high:.1f})"


def make_report(
    header: dict[str, Any], records: Sequence[Record], *, split_seen: bool, seed: int = 0
) -> Report:
    """Score ``records``; ``split_seen``: report seen and unseen templates apart; ``seed`` is that
    of the intervals."""
    outcomes = [r.outcome for r in records]
    known = [r.outcome for r in records if r.gold is not None and not r.unseen]
    new = [r.outcome for r in records if r.gold is not None and r.unseen]
    overall = score(outcomes)
    told = [(r.confidence, r.correct) for r in records if r.confidence is not None]
    why = Counter(r.why.split(":")[0] for r in records if r.status in WITHHELD and r.why)
    totals = sorted(r.timings["total"] for r in records if "total" in r.timings)
    seconds = {}
    if totals:
        p95 = totals[min(len(totals) - 1, int(0.95 * len(totals)))]
        seconds = {"median": statistics.median(totals), "p95": p95}
    return Report(
        header=header,
        overall=overall,
        seen=score(known) if split_seen else None,
        unseen=score(new) if split_seen else None,
        intervals=intervals(outcomes, seed=seed),
        brier=brier([p for p, _ in told], [right for _, right in told]),
        reasons=dict(why.most_common()),
        seconds=seconds,
    )


def _part(part: Scores) -> str:
    return (
        f"{part.correct} right, {part.wrong_on_answerable} wrong of {part.questions}"
        f" (P_exe {_percent(part.p_exe)}, R_exe {_percent(part.r_exe)})"
    )


def _wrong(s: Scores) -> str:
    # The bootstrap cannot know of wrong answers when it saw none; this interval can.
    wrong = s.answered - s.correct
    if not s.answered:
        return str(wrong)
    low, high = (share * s.answered for share in wilson(wrong / s.answered, s.answered))
    return f"{wrong} of {s.answered} given  (95% {low:.1f} to {high:.1f} in as many)"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _by(predictor: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in predictor.items())
