"""Plots of a run (risk and coverage, calibration, outcomes, latency) as PNG, by matplotlib (an
extra: ``pip install 'ehrqa_cli[eval]'``), without a display."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.risk import Thresholds, probability, risk
from ehrqa_cli.evaluate.calibration import Curve, brier, reliability, risk_coverage
from ehrqa_cli.evaluate.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOW_TO_GET_IT = "pip install 'ehrqa_cli[eval]' (matplotlib) to have plots drawn"
COLUMNS = 3
# A colour-blind safe palette (Okabe and Ito), then line styles, so that curves differ in both.
_COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#999999")
OUTCOMES = {"right": "#009e73", "wrong": "#d55e00", "declined": "#bbbbbb", "failed": "#000000"}
_STYLES = ("-", "--", "-.", ":")

# (confidences told, which are right)
Told = tuple[Sequence[float], Sequence[bool]]


def available() -> bool:
    """Is matplotlib installed?"""
    return find_spec("matplotlib") is not None


def draw_risk_coverage(
    panels: Mapping[str, Mapping[str, Curve]], path: Path, title: str, goal: float | None = None
) -> None:
    """One panel a name, one curve a signal. ``goal`` draws the accepted risk (per cent)."""
    figure, axes = _panels(len(panels), title)
    highest = (
        max((y for p in panels.values() for c in p.values() for y in c.risk), default=0.0) or 1.0
    )
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        for number, (label, curve) in enumerate(curves.items()):
            axis.plot(
                curve.coverage,
                curve.risk,
                label=label,
                color=_COLOURS[number % len(_COLOURS)],
                linestyle=_STYLES[number // 2 % len(_STYLES)] if len(curve.risk) > 1 else "none",
                marker="o" if len(curve.risk) == 1 else None,
                clip_on=False,
                drawstyle="steps-post",
            )
        if goal is not None:
            axis.axhline(goal, color="#bbbbbb", linewidth=0.8, label=f"{goal:g}% wrong")
        axis.set_title(_plain(name), parse_math=False)
        axis.set(xlim=(0, 100), ylim=(-0.02 * highest, 1.05 * highest))
        axis.set_xlabel("questions answered (% of all)")
        axis.set_ylabel("wrong answers (% of answers)")
        axis.legend(fontsize="x-small", loc="upper left")
    _save(figure, path)


def draw_calibration(panels: Mapping[str, Told], path: Path, title: str) -> None:
    """Reliability diagrams: told confidence against the share that is right, with 95% intervals,
    the number of answers at each point, and the Brier score."""
    figure, axes = _panels(len(panels), title)
    for axis, (name, (told, right)) in zip(axes, panels.items(), strict=True):
        bins = reliability(told, right)
        axis.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8, label="perfectly calibrated")
        axis.errorbar(
            [b.told for b in bins],
            [b.true for b in bins],
            yerr=[[b.true - b.low for b in bins], [b.high - b.true for b in bins]],
            fmt="o",
            color=_COLOURS[4],
            capsize=2,
            label="answers of similar confidence, 95% interval",
        )
        score = brier(told, right)
        shown = "-" if score is None else f"{score:.4f}"
        axis.set(title=f"{name}\nn = {len(told)}, Brier score {shown}")
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.05))
        # Beside the points the numbers would cover each other near 1, where most answers are.
        sizes = ", ".join(str(b.n) for b in bins)
        axis.set_xlabel(f"confidence told (probability)\nanswers at each point, from left: {sizes}")
        axis.set_ylabel("answers that are right (share)")
        axis.legend(fontsize="x-small", loc="lower right")
    _save(figure, path)


def draw_outcomes(
    panels: Mapping[str, Mapping[str, Mapping[str, int]]], path: Path, title: str
) -> None:
    """Bars of how questions ended: panel, group, then outcome (of OUTCOMES) to how many."""
    figure, axes = _panels(len(panels), title, max(len(groups) for groups in panels.values()))
    for axis, (name, groups) in zip(axes, panels.items(), strict=True):
        sizes = [sum(counts.values()) for counts in groups.values()]
        left = [0.0] * len(groups)
        for outcome, colour in OUTCOMES.items():
            width = [
                100.0 * counts.get(outcome, 0) / size
                for counts, size in zip(groups.values(), sizes, strict=True)
            ]
            if any(width):
                axis.barh(range(len(groups)), width, left=left, color=colour, label=outcome)
            left = [start + more for start, more in zip(left, width, strict=True)]
        labels = [
            f"{shorten(_plain(group), 40)} (n = {n})"
            for group, n in zip(groups, sizes, strict=True)
        ]
        # Templates hold ${...}, which is not to be set as mathematics.
        axis.set_yticks(range(len(groups)), labels, parse_math=False, fontsize="small")
        axis.set_title(_plain(name), parse_math=False)
        axis.set(xlim=(0, 100), ylim=(max(len(groups), 5) - 0.5, -0.5))
        axis.set_xlabel("questions (%)")
    handles, names = axes[0].get_legend_handles_labels()
    for axis in axes[1:]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            if label not in names:
                handles, names = [*handles, handle], [*names, label]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize="small")
    _save(figure, path)


def draw_latency(steps: Mapping[str, Sequence[float]], path: Path, title: str) -> None:
    """Seconds a question: how many questions took at most so long, for ``total``, and the mean
    of each other step that takes at least 0.5% of it."""
    total = sorted(steps["total"])
    parts = {name: sum(found) / len(total) for name, found in steps.items() if name != "total"}
    parts = {k: v for k, v in parts.items() if v >= 0.005 * sum(total) / len(total)}
    parts = dict(sorted(parts.items(), key=lambda part: -part[1])[:12])
    figure, axes = _panels(2 if parts else 1, title)
    axis = axes[0]
    shares = [100.0 * (k + 1) / len(total) for k in range(len(total))]
    axis.plot([max(t, 1e-6) for t in total], shares, color=_COLOURS[4], drawstyle="steps-post")
    for at, style in ((0.5, "--"), (0.95, ":")):
        seconds = total[min(len(total) - 1, int(at * len(total)))]
        label = f"{'median' if at == 0.5 else '95%'}: {seconds:.3g} s"
        axis.axvline(max(seconds, 1e-6), color="#888888", linestyle=style, label=label)
    axis.set(title=f"n = {len(total)}", xscale="log", ylim=(0, 102))
    axis.set_xlabel("seconds a question (logarithmic)")
    axis.set_ylabel("questions done (%)")
    axis.legend(fontsize="x-small", loc="lower right")
    if parts:
        axes[1].barh(range(len(parts)), list(parts.values()), color=_COLOURS[2])
        axes[1].set_yticks(
            range(len(parts)), list(map(_plain, parts)), parse_math=False, fontsize="small"
        )
        axes[1].set(title="mean of each step", ylim=(max(len(parts), 5) - 0.5, -0.5))
        axes[1].set_xlabel("seconds a question")
    _save(figure, path)


def draw_run(
    records: Sequence[Record], out: Path, title: str, thresholds: Thresholds | None = None
) -> list[Path]:
    """``risk_coverage.png`` and ``calibration.png`` of an evaluation's records, into ``out``;
    those that its scores allow.

    Both take in the answers that were withheld, whose queries were judged as well; what was
    declined before a query was written has no answer, and the curves end before it.
    ``thresholds`` are those in force, which weigh the scores into one risk and confidence.
    """
    given = [r for r in records if r.status == "answered" and r.scores]
    written = [*given, *(r for r in records if r.withheld_right is not None and r.scores)]
    if not written:
        return []
    right = [bool(r.correct or r.withheld_right) for r in written]
    drawn = [out / "risk_coverage.png"]
    curves = {
        name: risk_coverage([doubt(r) for r in written], right, len(records))
        for name, doubt in _doubts(thresholds).items()
    }
    wrong = 100.0 * sum(not r.correct for r in given) / len(given) if given else 0.0
    curves["as answered"] = Curve((100.0 * len(given) / len(records),), (wrong,))
    about = f"n = {len(records)}: {len(given)} answered, {len(written) - len(given)} withheld"
    draw_risk_coverage({about: curves}, drawn[0], title)
    told = [r.confidence if r.confidence is not None else _told(r, thresholds) for r in written]
    known = [(p, y) for p, y in zip(told, right, strict=True) if p is not None]
    if known:
        drawn.append(out / "calibration.png")
        panel = ([p for p, _ in known], [y for _, y in known])
        draw_calibration({"answers given and withheld": panel}, drawn[1], title)
    return drawn


def _doubts(thresholds: Thresholds | None) -> dict[str, Callable[[Record], float]]:
    found: dict[str, Callable[[Record], float]] = {
        "maximum entropy": lambda r: r.scores.get("max_entropy", 0.0),
        "mean log-probability": lambda r: -r.scores.get("mean_logprob", 0.0),
    }
    if thresholds is not None:
        found["risk (all signals)"] = lambda r: risk(r.scores, thresholds)
    return found


def _told(record: Record, thresholds: Thresholds | None) -> float | None:
    return probability(record.scores, thresholds) if thresholds is not None else None


def _panels(count: int, title: str, bars: int = 0) -> tuple[Figure, list[Axes]]:
    # Figure and the Agg canvas directly: pyplot would keep state and look for a display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(count, COLUMNS)
    down = -(-count // across)
    height = max(4.4, 0.26 * bars + 1.2)  # room for the labels of that many bars
    figure = Figure(
        figsize=(max(5.2 * across, 6.4), height * down + 0.5), layout="constrained", dpi=110
    )
    FigureCanvasAgg(figure)
    figure.suptitle(fill(_plain(title), 90 * across), fontsize=9, parse_math=False)
    grid: Any = figure.subplots(down, across, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def _plain(text: str) -> str:
    """``text`` with control characters as escapes: no font has them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _save(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # No date and no version inside: the same figures give the same bytes.
        with warnings.catch_warnings():
            # Names in scripts that the font lacks are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph ", category=UserWarning)
            figure.savefig(path, metadata={"Software": None})
    except OSError as error:
        raise EvaluationError(f"cannot write {path}: {error.strerror}", "check the path") from None
