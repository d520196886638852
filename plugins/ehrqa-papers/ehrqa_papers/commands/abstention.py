"""``ehrqa eval abstention``: signals that tell unanswerable questions, on debiased splits too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.added import ListedCommand
from ehrqa_cli.cli.eval.report import check_html, html_option, print_table, write_html
from ehrqa_cli.cli.eval.systems import workers_option
from ehrqa_cli.cli.options import FILE, database_path, db_option
from ehrqa_cli.contracts.errors import EvaluationError, UsageError
from ehrqa_cli.evaluate.bias.split import SplitSettings
from ehrqa_cli.evaluate.catalogue import EHRSQL, Benchmark

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.bias.ngrams import Ratios
    from ehrqa_cli.evaluate.ehrsql.load import Dataset
    from ehrqa_papers.abstention.plan import Plan
    from ehrqa_papers.abstention.report import AbstentionReport
    from ehrqa_papers.abstention.study_pass import Regime

_LISTED = Benchmark(
    "abstention",
    "Yang et al. 2024: signals for declining, n-gram bias, debiased splits of EHRSQL",
    "Yang et al. 2024",
    (("--data", "as for ehrsql, with train and valid"), ("--db", "as for ehrsql")),
    EHRSQL,
)
MODES = {"forbidden": (False,), "allowed": (True,), "both": (False, True)}


@click.command(
    cls=ListedCommand,
    listed=_LISTED,
    short_help="Compare signals for abstaining (Yang et al., 2024).",
)
@click.option("--data", type=FILE, required=True, metavar="DIR", help="EHRSQL's folder.")
@click.option("--valid", default="valid", show_default=True, help="Split to choose thresholds on.")
@click.option("--test", metavar="SPLIT", help="A labelled test split, for Table 2.")
@db_option
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[LABEL=]FILE",
    help="A model file, or 'shipped'; repeatable [default: shipped].",
)
@click.option(
    "--system",
    "others",
    multiple=True,
    metavar="[LABEL=]NAME|FILE",
    help="ours (the models), gold, abstain, or a file of queries with scores; repeatable "
    "[default: ours].",
)
@click.option(
    "--abstain",
    type=click.Choice(list(MODES)),
    default="both",
    show_default=True,
    help="May the model decline by itself?",
)
@click.option(
    "--decode",
    type=click.Choice(["beam", "greedy"]),
    default="beam",
    show_default=True,
    help="How the model writes; only beam search gives a beam score.",
)
@click.option("--split", default="20-16-5", show_default=True, help="New split: λ1-λ2-M.")
@click.option(
    "--ablation",
    default="22-18-5,18-15-9,16-10-12",
    show_default=True,
    help="New splits of Table 5.",
)
@click.option("--ratios", default="8,10,4", show_default=True, help="N-gram filter of Table 2.")
@click.option(
    "--split-ratios", default="6,6,6", show_default=True, help="N-gram filter on new splits."
)
@click.option(
    "--precision", type=click.FloatRange(0, 100), default=99.0, show_default=True, help="P_exe."
)
@click.option("--seed", default=0, show_default=True, help="Of the splits.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Split this often, give means.",
)
@click.option("--tables", help="Only these, e.g. 2,3,8 [default: all].")
@click.option("--signals", help="Only these of our own, e.g. p_abstain,max_removed [default: all].")
@click.option("--limit", type=click.IntRange(min=1), help="Only about N questions, spread evenly.")
@click.option(
    "--threads", type=click.IntRange(min=1), default=2, show_default=True, help="Of the model."
)
@workers_option
@click.option("--out", type=FILE, metavar="DIR", help="Keep records, draw plots here; resumes.")
@html_option
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the tables as JSON.")
@click.option("--markdown", type=FILE, metavar="FILE", help="Write the tables as Markdown.")
@click.option("--write-split", type=FILE, metavar="DIR", help="Write the new split and end.")
def abstention(**flags: Any) -> int:
    """Which signal tells the questions that have no answer? Tables of Yang et al. (2024): n-gram
    bias, maximum entropy, beam score, the n-gram filter, and our own signals, on the split as
    published and on debiased and random ones. The engine's checks are off.

    \b
    Examples:
      ehrqa eval abstention --data ehrsql-2024 --db mimic_iv.sqlite --out run1
      ehrqa eval abstention --data ehrsql-2024 --db mimic_iv.sqlite --model ans=a \\
          --model all=b --split 4-4-1 --repeats 20 --out run2 --markdown tables.md
      ehrqa eval abstention --data ehrsql-2024 --split 4-4-1 --write-split debiased
    """
    from ehrqa_cli.evaluate.bias import split
    from ehrqa_papers.abstention import report

    check_html(flags)
    valid = report.labelled(flags["data"], flags["valid"])
    if flags["write_split"]:
        made = split.debiased(valid.items, SplitSettings.parse(flags["split"]), flags["seed"])
        _tell_split(split.write_split(made, valid, flags["write_split"]), flags["write_split"])
        return 0
    test = report.labelled(flags["data"], flags["test"]) if flags["test"] else None
    found = _measure(valid, test, flags)
    _print(found)
    if flags["out"]:
        found.write(flags["out"])
    write_html(flags, found.lines(), found.tables, found.warnings)
    if flags["json_file"]:
        _write(flags["json_file"], output.to_json(found.as_dict(), indent=1) + "\n")
    if flags["markdown"]:
        _write(flags["markdown"], found.as_markdown())
    return 0


def _measure(valid: Dataset, test: Dataset | None, flags: dict[str, Any]) -> AbstentionReport:
    from ehrqa_cli import config
    from ehrqa_papers.abstention import report
    from ehrqa_papers.abstention import study_pass as run

    plan = _plan(flags)
    regimes = _regimes(flags)
    with diagnostics.progress() as advance:
        runner = run.Runner(
            db=database_path(flags["db"], config.load()),
            datasets=[valid] if test is None else [valid, test],
            out=flags["out"],
            limit=flags["limit"],
            threads=flags["threads"],
            workers=flags["workers"],
            progress=advance,
        )
        return report.run_abstention(valid, test, runner, regimes, plan, diagnostics.note)


def _regimes(flags: dict[str, Any]) -> list[Regime]:
    from ehrqa_cli.evaluate.systems import OURS
    from ehrqa_papers.abstention import study_pass as run

    wanted = flags["others"] or (OURS,)
    found: list[Regime] = []
    if OURS in wanted or flags["models"]:
        found = [
            run.Regime(label, path, allowed, flags["decode"])
            for label, path in run.parse_models(flags["models"])
            for allowed in MODES[flags["abstain"]]
        ]
    found += [run.given_regime(text) for text in wanted if text != OURS]
    run.check_labels(found)
    return found


def _plan(flags: dict[str, Any]) -> Plan:
    from ehrqa_cli.engine.parts import shipped_thresholds
    from ehrqa_cli.engine.risk import Thresholds
    from ehrqa_papers.abstention.plan import TABLES, Plan

    tables = _list(flags["tables"]) or list(TABLES)
    tables = ["8" if t == "9" else t for t in tables]
    if unknown := sorted(set(tables) - set(TABLES)):
        raise UsageError(f"there is no table {unknown[0]}", f"the tables are {', '.join(TABLES)}")
    return Plan(
        split=SplitSettings.parse(flags["split"]),
        ablation=tuple(SplitSettings.parse(text) for text in _list(flags["ablation"])),
        original=_ratios(flags["ratios"]),
        ratios=_ratios(flags["split_ratios"]),
        precision=flags["precision"],
        seed=flags["seed"],
        repeats=flags["repeats"],
        tables=frozenset(tables),
        signals=tuple(_list(flags["signals"])),
        shipped=shipped_thresholds() or Thresholds(),
    )


def _list(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _ratios(text: str) -> Ratios:
    try:
        first, second, third = (float(part.replace("∞", "inf")) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"'{text}' are no filter ratios", "write three numbers or inf, for example 8,10,4"
        ) from None
    return first, second, third


def _tell_split(card: dict[str, Any], out: Path) -> None:
    source = card["source"]
    output.line(f"dataset  {source['dataset']} {source['split']} {source['version']}")
    output.line(f"dataset sha256  {source['sha256']}")
    output.line(f"predominant n-grams  {len(card['patterns'])}")
    for part, counts in card["counts"].items():
        told = f"{counts['answerable']} answerable, {counts['unanswerable']} unanswerable"
        output.line(f"{out / part}  {told}, sha256 {card['sha256'][part]}")
    if not card["patterns"]:
        diagnostics.warn("no n-gram has such a ratio here; choose lower ones with --split")


def _print(found: AbstentionReport) -> None:
    for name, value in found.lines():
        output.line(f"{name}  {value}")
    for table in found.tables:
        print_table(table)
    for path in found.plots:
        output.line(f"plot  {path}")
    for text in found.warnings:
        diagnostics.warn(text)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvaluationError(f"cannot write {path}: {error.strerror}", "check the path") from None
