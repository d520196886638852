"""``ehrqa eval abstention``: run the models, make the tables and the plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.benchmarks import FigureTable
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate import plots
from ehrqa_cli.evaluate.bias.ngrams import Patterns
from ehrqa_cli.evaluate.ehrsql.load import Dataset, load_ehrsql
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_papers.abstention.figures import pattern_table
from ehrqa_papers.abstention.kept import write_study
from ehrqa_papers.abstention.plan import Plan
from ehrqa_papers.abstention.study import Study, model_table
from ehrqa_papers.abstention.study_pass import Regime, Runner


@dataclass(frozen=True)
class AbstentionReport(RunReport):
    """``header`` names data, models and their hashes, one a regime."""

    plots: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[tuple[str, str]]:
        """(what, value) pairs that say on what the tables rest."""
        out: list[tuple[str, str]] = []
        for name, header in self.header.items():
            if not out:
                for data in header["datasets"]:
                    which = f"{data['name']} {data['split']} {data['version']}"
                    out += [("dataset", which), ("dataset sha256", data["sha256"])]
                out.append(("database sha256", header["database_sha256"]))
            made = header["predictor"]
            told = [str(made[k]) for k in ("model", "sha256", "method") if k in made]
            out.append((f"model {name}", ", ".join(told)))
        return out

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "headers": self.header,
            "tables": [t.as_dict() for t in self.tables],
            "plots": [p.name for p in self.plots],
            "warnings": list(self.warnings),
        }


def labelled(data: Path, split: str) -> Dataset:
    """An EHRSQL split that has labels. Raises EvaluationError."""
    dataset = load_ehrsql(data, split)
    if not dataset.items or not all(item.labelled for item in dataset.items):
        raise EvaluationError(f"{split} has no labels (label.json)", "name a split that has them")
    return dataset


def run_abstention(
    valid: Dataset,
    test: Dataset | None,
    runner: Runner,
    regimes: Sequence[Regime],
    plan: Plan,
    tell: Callable[[str], None] = lambda _text: None,
) -> AbstentionReport:
    """Measure every regime by ``plan``. ``runner`` holds the database, the folder for records and
    plots, and the datasets to ask (``valid``, and ``test`` if there is one). Raises what opening
    the database or a model raises, and EvaluationError for records of another run."""
    headers: dict[str, dict[str, Any]] = {}
    studies = []
    for regime in regimes:
        header, records = runner.run(regime)
        headers[regime.name] = header
        items = None if test is None else test.items
        studies.append(Study(regime.name, records, valid.items, items, plan))
    tables = _tables(valid, studies, plan, tell)
    warnings = _warnings(studies, plan)
    if runner.out is not None:
        write_study(runner.out, headers, studies)
    drawn: list[Path] = []
    if runner.out is not None and plots.available():
        drawn = draw(studies, valid, runner.out, plan)
    elif runner.out is not None:
        warnings.append(f"no plots: {plots.HOW_TO_GET_IT}")
    return AbstentionReport(
        headers, {}, tuple(tables), plots=tuple(drawn), warnings=tuple(warnings)
    )


def _tables(
    valid: Dataset, studies: Sequence[Study], plan: Plan, tell: Callable[[str], None]
) -> list[FigureTable]:
    tables = []
    if "1" in plan.tables:
        patterns = Patterns((i.question, i.gold is not None) for i in valid.items)
        tables.append(pattern_table(patterns, f"{valid.name} {valid.split}"))
    for study in studies:
        tell(f"tables of {study.name}")
        tables += study.tables()
    if "8" in plan.tables:
        tables.append(model_table(studies, plan))
    return sorted(tables, key=lambda table: int(table.number.split(",")[0]))


def _warnings(studies: Sequence[Study], plan: Plan) -> list[str]:
    split, _, test = studies[0].splits(plan.split)[0]
    if any(r.gold is None for r in test.records):
        return []
    return [
        f"the new split {plan.split} moves no unanswerable question to the test set:"
        f" {len(split.patterns)} n-grams have such a ratio here; choose lower ones with --split"
    ]


def draw(studies: Sequence[Study], valid: Dataset, out: Path, plan: Plan) -> list[Path]:
    """risk-coverage.png and calibration.png of the new test set, one panel a regime."""
    source = f"{valid.name} {valid.version} ({valid.sha256[:12]}), new split {plan.split}"
    count = len(studies[0].splits(plan.split)[0][2].records)
    title = f"{source}, its test set: n = {count} questions, seed {plan.seed}"
    drawn = [out / "risk-coverage.png"]
    curves = {study.name: study.curves() for study in studies}
    plots.draw_risk_coverage(curves, drawn[0], title, 100.0 - plan.precision)
    told = {study.name: found for study in studies if (found := study.told())}
    if told:
        drawn.append(out / "calibration.png")
        plots.draw_calibration(told, drawn[1], f"{title}; calibrated on its validation set")
    return drawn
