"""Draw cost against size from the figures that scale.py keeps.

``python tests/benchmarks/scale_plot.py --out docs/scale.png FIGURES.json...``: seconds of the
median and of the longest of the twenty questions against the number of events, a line a backend.
Needs matplotlib (``pip install 'ehrqa_cli[eval]'``).
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import click

COLOURS = {"duckdb": "#0072b2", "sqlite": "#d55e00", "postgres": "#009e73", "spark": "#cc79a7"}
NAMES = {"duckdb": "DuckDB", "sqlite": "SQLite", "postgres": "PostgreSQL", "spark": "Spark"}


def points(records: list[dict[str, Any]], what: str) -> dict[str, list[tuple[int, float, float]]]:
    """(events, median, longest) of each backend, by size; ``what`` is ``seconds`` (the median run
    of each question) or ``cpu`` (the least), which servers do not tell."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    for record in sorted(records, key=lambda r: r["events"]):
        if what == "cpu" and record["backend"] not in ("duckdb", "sqlite"):
            continue
        of = statistics.median if what == "seconds" else min
        took = [of(q[what]) for q in record["questions"]]
        line = found.setdefault(record["backend"], [])
        line.append((record["events"], statistics.median(took), max(took)))
    return found


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", required=True, type=click.Path(path_type=Path))
def main(files: tuple[Path, ...], out: Path) -> None:
    """Write a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4.2), dpi=100, sharey=True)
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    titles = {"seconds": "elapsed", "cpu": "processor time"}
    for axes, (what, title) in zip(panels, titles.items(), strict=True):
        for backend, line in points(records, what).items():
            sizes = [p[0] for p in line]
            colour, name = COLOURS.get(backend, "black"), NAMES.get(backend, backend)
            axes.plot(sizes, [p[1] for p in line], "o-", color=colour, label=f"{name}, median")
            axes.plot(sizes, [p[2] for p in line], "^:", color=colour, label=f"{name}, longest")
        axes.set(xscale="log", yscale="log", xlabel="events", title=title)
        axes.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("seconds a question")
    panels[0].legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(1.05, -0.15))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.92, bottom=0.27, wspace=0.05)
    figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    main()
