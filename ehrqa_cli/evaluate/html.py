"""One self-contained HTML page of a run: what it rests on, its tables, plots, and the questions
that were not answered rightly.

Nothing is fetched when it is opened: pictures are inlined and a policy forbids all else. What
stands in questions, answers and notes is escaped by jinja2; it is never markup.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ehrqa_cli.contracts.benchmarks import FigureTable
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate import plots
from ehrqa_cli.evaluate.calibration import risk_coverage, wilson
from ehrqa_cli.evaluate.outcomes import (
    BARS,
    FIELDS,
    HAVE,
    Groups,
    by_field,
    by_system,
    confusions,
    ended,
    of_each,
    steps,
    worst_templates,
)
from ehrqa_cli.evaluate.saved import RIGHT, Plain, SavedRun, read_run, states

PAGE = "report.html"
LISTED = 500  # questions that were not answered rightly
_LONGEST = 600  # characters of a gold answer or prediction
_TEMPLATE = Path(__file__).with_name("report.html.jinja")


class Shown(NamedTuple):
    """A table of the page. ``kind``: n, all but the first column are aligned right, or w. A row of
    one cell is a heading; ``summary`` folds the table away, unless ``opened``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    kind: str = "n"
    title: str = ""
    notes: Sequence[str] = ()
    heading: str = ""
    summary: str = ""
    opened: bool = False


def write_page(
    folder: Path,
    lines: Iterable[tuple[str, str]],
    tables: Sequence[FigureTable] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` beside the records of ``folder``; ``lines`` say on what the run rests,
    ``tables`` and ``notes`` are its report's. Returns the file. Raises EvaluationError."""
    from jinja2 import Environment

    run = read_run(folder)
    pictures, lacking = _pictures(run)
    counted = "answers of all systems" if len(by_system(run)) > 1 else "questions"
    # Control and direction characters are shown as escapes.
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_plain
    )
    page = environment.from_string(_TEMPLATE.read_text("utf-8")).render(
        title=run.title,
        lines=Shown(("", ""), list(lines), "w"),
        tables=[_report_table(table) for table in tables],
        notes=(*notes, *lacking),
        confusion=_confusion(run),
        pictures=pictures,
        groups=[_group_table(FIELDS[k], groups, counted) for k, groups in by_field(run).items()],
        left=_not_right(run),
    )
    path = folder / PAGE
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise EvaluationError(f"cannot write {path}: {error.strerror}", "check --out") from None
    return path


def _pictures(run: SavedRun) -> tuple[list[tuple[str, str]], list[str]]:
    """(title, data address) of the plots, drawn into the run's folder, and what cannot be drawn."""
    if not plots.available():
        return [], [f"no plots: {plots.HOW_TO_GET_IT}"]
    drawn = {"Risk and coverage": "risk_coverage.png", "Calibration": "calibration.png"}
    notes = []
    if not _draw_confidence(run):
        drawn, notes = {}, ["no answer has a confidence: no plots of risk and calibration"]
    panels = {
        _first(FIELDS[name], len(groups)): dict(list(groups.items())[:BARS])
        for name, groups in by_field(run).items()
        if name != "template"
    }
    several = any("systems" in record for record in run.records.values())
    if several or not panels:  # an outcome of each system is no outcome of a question
        panels = {"": dict(list(by_system(run).items())[:BARS])}
    for title, parts in (
        ("Answered and declined", confusions(run)),
        ("Outcomes by group", panels),
        ("Templates", worst_templates(run)),
    ):
        if parts:
            drawn[title] = f"{title.split()[0].lower()}.png"
            plots.draw_outcomes(parts, run.folder / drawn[title], run.title)
    timed = steps(run)
    if timed:
        plots.draw_latency(timed, run.folder / "latency.png", run.title)
        drawn["Latency"] = "latency.png"
    found = [(title, run.folder / name) for title, name in drawn.items()]
    return [(title, _inline(path)) for title, path in found if path.is_file()], notes


def _first(name: str, count: int) -> str:
    return name if count <= BARS else f"{name}: the first {BARS} of {count}"


def _draw_confidence(run: SavedRun) -> bool:
    """Draw by the confidence of answers, unless EHRSQL's own plots, which know of withheld queries
    too, are there. False where no answer has a confidence."""
    if run.benchmark.startswith("ehrsql"):
        return (run.folder / "risk_coverage.png").is_file()
    told = [
        (float(record["confidence"]), RIGHT in states(record).values())
        for record in run.records.values()
        if record.get("status") == "answered" and record.get("confidence") is not None
    ]
    if not told:
        return False
    confidence, right = [p for p, _ in told], [y for _, y in told]
    count = len(run.records)
    curve = risk_coverage([-p for p in confidence], right, count)
    about = f"n = {count}: {len(told)} answered"
    path = run.folder / "risk_coverage.png"
    plots.draw_risk_coverage({about: {"by confidence": curve}}, path, run.title)
    plots.draw_calibration(
        {"answers": (confidence, right)}, run.folder / "calibration.png", run.title
    )
    return True


def _confusion(run: SavedRun) -> list[Shown]:
    """How questions with an answer and without ended, for each system."""
    if any("systems" in record for record in run.records.values()):
        return [
            table._replace(heading=name) for name, one in of_each(run) for table in _confusion(one)
        ]
    if any("predictions" in record for record in run.records.values()):
        rows = [(name, *(c[o] for o in plots.OUTCOMES)) for name, c in by_system(run).items()]
        return [Shown(("system", *plots.OUTCOMES), rows)]

    def row(name: str, counts: Counter[str]) -> tuple[Any, ...]:
        n = sum(counts.values())
        return (name, n, *(_of(counts[outcome], n) for outcome in plots.OUTCOMES))

    columns = ("", "questions", "answered, right", "answered, wrong", "declined", "failed")
    found = [row(said, ended(run, wanted)) for said, wanted in HAVE.items()]
    return [Shown(columns, [r for r in found if r[1]])]


def _group_table(name: str, groups: Groups, counted: str) -> Shown:
    rows = []
    for group, counts in groups.items():
        n = sum(counts.values())
        low, high = wilson(counts[RIGHT] / n, n)
        interval = f"{100 * counts[RIGHT] / n:.1f} ({100 * low:.1f}-{100 * high:.1f})"
        rows.append((group, n, interval, *(counts[o] for o in plots.OUTCOMES)))
    columns = (name, counted, "right % (95%)", *plots.OUTCOMES)
    summary = f"by {name} ({len(rows)})"
    return Shown(columns, rows, summary=summary, opened=len(rows) <= BARS)


def _not_right(run: SavedRun) -> Shown | None:
    rows = [
        (key, outcome, *_told(record, system))
        for key, record in run.records.items()
        for system, outcome in states(record).items()
        if outcome != RIGHT
    ]
    if not rows:
        return None
    more = f"; the first {LISTED} are listed" if len(rows) > LISTED else ""
    columns = ("id", "outcome", "question", "gold", "given", "why")
    return Shown(columns, rows[:LISTED], "w", summary=f"{len(rows)} questions{more}")


def _told(record: Plain, system: str) -> tuple[str, ...]:
    if "systems" in record:
        record = {**record, **record["systems"].get(system, {})}
        system = ""
    given = record.get("predictions", {}).get(system) if system else record.get("prediction")
    if record.get("choice"):
        given = f"{record['choice']}: {given}"
    shown = (record.get("question"), record.get("gold"), given, record.get("why"))
    return tuple("" if value is None else str(value)[:_LONGEST] for value in shown)


def _of(count: int, n: int) -> str:
    return f"{count} ({100 * count / n:.1f}%)" if n else str(count)


def _report_table(table: FigureTable) -> Shown:
    width = len(table.columns)
    rows = [
        row
        for heading, block in table.blocks
        for row in ([(heading,)] if heading else []) + list(block)
    ]
    printed = table.printed()
    cells = [printed[k][:1] if len(row) == 1 < width else printed[k] for k, row in enumerate(rows)]
    return Shown(table.columns, cells, title=table.heading, notes=table.notes)


def _plain(value: Any) -> Any:
    if hasattr(value, "__html__"):  # a part of the page that jinja2 made
        return value
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode()
        for c in str(value)
    )


def _inline(path: Path) -> str:
    try:
        return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check --out") from None
