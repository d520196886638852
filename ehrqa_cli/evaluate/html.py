"""One self-contained HTML page of a run: what it rests on, its tables, plots, and the questions
that were not answered rightly.

Nothing is fetched when it is opened: pictures are inlined and a policy forbids all else. What
stands in questions, answers and notes is escaped; it is never markup.
"""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate import plots
from ehrqa_cli.evaluate.calibration import risk_coverage, wilson
from ehrqa_cli.evaluate.saved import (
    DECLINED,
    FAILED,
    RIGHT,
    WRONG,
    Plain,
    SavedRun,
    answerable,
    read_run,
    states,
)
from ehrqa_cli.evaluate.spider.hardness import LEVELS
from ehrqa_cli.evaluate.tables import StudyTable

PAGE = "report.html"
LISTED = 500  # questions that were not answered rightly
_LONGEST = 600  # characters of a gold answer or prediction
_BARS = 16  # groups in a plot; a table holds all
_PANELS = 4  # systems beside each other in a plot
_HAVE = {"have an answer": True, "have none": False}
# What questions are grouped by, in any benchmark: the field of a record, and its heading.
_FIELDS = {
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
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #ddd}
table{border-collapse:collapse;margin:.8rem 0;font-size:.88rem}
th,td{border:1px solid #ddd;padding:.25rem .5rem;text-align:left;vertical-align:top}
th{background:#f4f4f4}td.n,th.n{text-align:right}td.w{max-width:30rem;overflow-wrap:anywhere}
img{max-width:100%;height:auto}caption{text-align:left;font-weight:600;padding:.3rem 0}
tr.part td{background:#fafafa;font-weight:600}p.note{color:#555;font-size:.85rem;margin:.2rem 0}
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
Groups = dict[str, Counter[str]]


def write_page(
    folder: Path,
    lines: Iterable[tuple[str, str]],
    tables: Sequence[StudyTable] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` beside the records of ``folder``; ``lines`` say on what the run rests,
    ``tables`` and ``notes`` are its report's. Returns the file. Raises EvaluationError."""
    run = read_run(folder)
    pictures, lacking = _pictures(run)
    counted = "answers of all systems" if len(_by_system(run)) > 1 else "questions"
    by_field = {_FIELDS[name]: groups for name, groups in _groups(run).items()}
    parts = [
        f"<h1>{_text(run.title)}</h1>",
        _table(("", ""), list(lines), numbers=False),
        *(_report_table(table) for table in tables),
        *(_note(note) for note in (*notes, *lacking)),
        "<h2>What became of the questions</h2>",
        _confusion(run),
        *(
            f'<h2>{_text(title)}</h2>\n<img alt="{_text(title)}" src="{src}">'
            for title, src in pictures
        ),
        "<h2>By group</h2>" if by_field else "",
        *(_group_table(name, groups, counted) for name, groups in by_field.items()),
        _not_right(run),
    ]
    path = folder / PAGE
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{_text(run.title)}</title><style>{_STYLE}</style></head><body>\n"
    )
    try:
        path.write_text(head + "\n".join(filter(None, parts)) + "\n</body></html>\n", "utf-8")
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
        _first(_FIELDS[name], len(groups)): dict(list(groups.items())[:_BARS])
        for name, groups in _groups(run).items()
        if name != "template"
    }
    several = any("systems" in record for record in run.records.values())
    if several or not panels:  # an outcome of each system is no outcome of a question
        panels = {"": dict(list(_by_system(run).items())[:_BARS])}
    for title, parts in (
        ("Answered and declined", _confusions(run)),
        ("Outcomes by group", panels),
        ("Templates", _worst_templates(run)),
    ):
        if parts:
            drawn[title] = f"{title.split()[0].lower()}.png"
            plots.draw_outcomes(parts, run.folder / drawn[title], run.title)
    steps = _steps(run)
    if steps:
        plots.draw_latency(steps, run.folder / "latency.png", run.title)
        drawn["Latency"] = "latency.png"
    found = [(title, run.folder / name) for title, name in drawn.items()]
    return [(title, _inline(path)) for title, path in found if path.is_file()], notes


def _confusions(run: SavedRun) -> dict[str, Groups]:
    """For each system: what became of the questions with an answer, and of those without, where a
    right one is an answer that is right (declining is shown as what it is)."""
    if any("predictions" in record for record in run.records.values()):
        return {}
    several = {name: one for name, one in _of_each(run) if ": " not in name}
    found = {}
    for name, one in list((several or {"": run}).items())[:_PANELS]:
        counts = {said: _ended(one, wanted) for said, wanted in _HAVE.items()}
        found[name] = {said: ended for said, ended in counts.items() if ended}
    return found


def _worst_templates(run: SavedRun) -> dict[str, Groups]:
    """The templates with the smallest share of right answers; none where systems are several."""
    groups = _groups(run).get("template", {})
    if not groups or len(_by_system(run)) > 1:
        return {}
    ranked = sorted(groups, key=lambda g: (groups[g][RIGHT] / sum(groups[g].values()), g))
    name = "template"
    if len(groups) > _BARS:
        name = f"fewest right: {_BARS} of {len(groups)} templates"
    return {name: {group: groups[group] for group in ranked[:_BARS]}}


def _first(name: str, count: int) -> str:
    return name if count <= _BARS else f"{name}: the first {_BARS} of {count}"


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


def _groups(run: SavedRun) -> dict[str, Groups]:
    """By field, then by value: how many questions ended how. Fields with one value are left out."""
    found: dict[str, Groups] = {}
    for name in _FIELDS:
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
    return (LEVELS.index(group), "") if group in LEVELS else (len(LEVELS), group)


def _by_system(run: SavedRun) -> Groups:
    found: Groups = {}
    for record in run.records.values():
        for system, outcome in states(record).items():
            found.setdefault(system or "all", Counter())[outcome] += 1
    return found


def _steps(run: SavedRun) -> dict[str, list[float]]:
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


def _of_each(run: SavedRun) -> Iterator[tuple[str, SavedRun]]:
    """A run of each system, where records are of several."""
    names = dict.fromkeys(name for r in run.records.values() for name in r.get("systems", {}))
    for name in names:
        records = {
            key: {"gold": r.get("gold"), **r["systems"][name]}
            for key, r in run.records.items()
            if name in r["systems"]
        }
        yield name, replace(run, records=records)


def _confusion(run: SavedRun) -> str:
    if any("systems" in record for record in run.records.values()):
        return "\n".join(f"<h3>{_text(name)}</h3>{_confusion(one)}" for name, one in _of_each(run))
    if any("predictions" in record for record in run.records.values()):
        rows = [(name, *(c[o] for o in plots.OUTCOMES)) for name, c in _by_system(run).items()]
        return _table(("system", *plots.OUTCOMES), rows)

    def row(name: str, counts: Counter[str]) -> tuple[Any, ...]:
        n = sum(counts.values())
        return (name, n, *(_of(counts[outcome], n) for outcome in plots.OUTCOMES))

    columns = ("", "questions", "answered, right", "answered, wrong", "declined", "failed")
    rows = [row(said, _ended(run, wanted)) for said, wanted in _HAVE.items()]
    return _table(columns, [r for r in rows if r[1]])


def _ended(run: SavedRun, wanted: bool) -> Counter[str]:
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
            found[DECLINED if status == "abstained" else FAILED] += 1
    return found


def _group_table(name: str, groups: Groups, counted: str) -> str:
    rows = []
    for group, counts in groups.items():
        n = sum(counts.values())
        low, high = wilson(counts[RIGHT] / n, n)
        interval = f"{100 * counts[RIGHT] / n:.1f} ({100 * low:.1f}-{100 * high:.1f})"
        rows.append((group, n, interval, *(counts[o] for o in plots.OUTCOMES)))
    body = _table((name, counted, "right % (95%)", *plots.OUTCOMES), rows)
    opened = " open" if len(rows) <= _BARS else ""
    return f"<details{opened}><summary>by {_text(name)} ({len(rows)})</summary>\n{body}</details>"


def _not_right(run: SavedRun) -> str:
    rows = []
    for key, record in run.records.items():
        for system, outcome in states(record).items():
            if outcome != RIGHT:
                rows.append((key, outcome, *_told(record, system)))
    if not rows:
        return ""
    more = f"; the first {LISTED} are listed" if len(rows) > LISTED else ""
    columns = ("id", "outcome", "question", "gold", "given", "why")
    body = _table(columns, rows[:LISTED], numbers=False)
    head = f"<h2>Not answered rightly</h2>\n<details><summary>{len(rows)} questions{more}</summary>"
    return f"{head}\n{body}</details>"


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


def _report_table(table: StudyTable) -> str:
    width = len(table.columns)
    rows = [
        row
        for heading, block in table.blocks
        for row in ([(heading,)] if heading else []) + list(block)
    ]
    printed = table.printed()
    cells = [printed[k][:1] if len(row) == 1 < width else printed[k] for k, row in enumerate(rows)]
    return _table(table.columns, cells, caption=table.heading) + "".join(map(_note, table.notes))


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    numbers: bool = True,
    caption: str = "",
) -> str:
    """``numbers``: all but the first column are aligned right. A row of one cell is a heading."""
    kind = "n" if numbers else "w"
    head = "".join(
        f'<th class="{kind if k else "w"}">{_text(name)}</th>' for k, name in enumerate(columns)
    )
    body = []
    for row in rows:
        if len(row) == 1 < len(columns):
            body.append(f'<tr class="part"><td colspan="{len(columns)}">{_text(row[0])}</td></tr>')
            continue
        cells = (f'<td class="{kind if k else "w"}">{_text(c)}</td>' for k, c in enumerate(row))
        body.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{_text(caption)}</caption>" if caption else ""
    shown = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    return f"<table>{title}{shown}<tbody>\n" + "\n".join(body) + "\n</tbody></table>"


def _note(text: str) -> str:
    return f'<p class="note">{_text(text)}</p>'


def _text(value: Any) -> str:
    """Escaped; control and direction characters are shown as escapes."""
    shown = "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode()
        for c in str(value)
    )
    return html.escape(shown)


def _inline(path: Path) -> str:
    try:
        return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check --out") from None
