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


def points(records: list[dict[str, Any]]) -> dict[str, list[tuple[int, float, float]]]:
    """(events, median, longest) of each backend, by size; seconds of the median run."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    for record in sorted(records, key=lambda r: r["events"]):
        took = [statistics.median(q["seconds"]) for q in record["questions"]]
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

    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), dpi=110)
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    for backend, line in points(records).items():
        sizes = [p[0] for p in line]
        colour, name = COLOURS.get(backend, "black"), NAMES.get(backend, backend)
        axes.plot(sizes, [p[1] for p in line], "o-", color=colour, label=f"{name}, median")
        axes.plot(sizes, [p[2] for p in line], "^:", color=colour, label=f"{name}, longest")
    axes.axhline(2, color="grey", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="events", ylabel="seconds a question")
    axes.grid(True, which="major", alpha=0.3)
    axes.set_title("Twenty group questions, 2 cores", fontsize=10)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    main()
