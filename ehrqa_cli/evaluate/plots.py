"""Risk-coverage and calibration plots as PNG, by matplotlib (an extra: ``pip install
'ehrqa_cli[eval]'``), without a display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.confidence import Thresholds, probability, risk
from ehrqa_cli.evaluate.calibration import Curve, brier, reliability, risk_coverage
from ehrqa_cli.evaluate.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOW_TO_GET_IT = "pip install 'ehrqa_cli[eval]' (matplotlib) to have plots drawn"
COLUMNS = 3
# A colour-blind safe palette (Okabe and Ito), then line styles, so that curves differ in both.
_COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#999999")
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
        axis.set(title=name, xlim=(0, 100), ylim=(-0.02 * highest, 1.05 * highest))
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


def _panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    # Figure and the Agg canvas directly: pyplot would keep state and look for a display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(count, COLUMNS)
    down = -(-count // across)
    figure = Figure(
        figsize=(max(5.2 * across, 6.4), 4.4 * down + 0.5), layout="constrained", dpi=110
    )
    FigureCanvasAgg(figure)
    figure.suptitle(fill(title, 90 * across), fontsize=9)
    grid: Any = figure.subplots(down, across, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def _save(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # No date and no version inside: the same figures give the same bytes.
        figure.savefig(path, metadata={"Software": None})
    except OSError as error:
        raise EvaluationError(f"cannot write {path}: {error.strerror}", "check the path") from None
