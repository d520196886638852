"""``ehrqa eval mimic-cxr-vqa`` and ``ehrqa eval ehrxqa``: questions about chest X-rays."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    print_report,
    together,
    write_report_html,
)
from ehrqa_cli.cli.eval.systems import (
    fewshot_options,
    open_measured,
    open_writer,
    seed_option,
    system_option,
    workers_option,
)
from ehrqa_cli.cli.options import (
    FILE,
    as_of_option,
    database_path,
    db_option,
    images_option,
    json_option,
    open_database,
    read_graphs,
    scene_graphs_option,
    vision_option,
)
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.evaluate import systems

if TYPE_CHECKING:
    from ehrqa_cli.vqa import Vqa

TEXTS = ("question", "template_text")


_shared = together(
    [
        click.option(
            "--data", type=FILE, required=True, metavar="DIR", help="The benchmark's folder."
        ),
        click.option("--split", default="valid", show_default=True, help="Its split."),
        db_option,
        scene_graphs_option,
        images_option,
        vision_option,
        click.option(
            "--labels",
            type=FILE,
            metavar="DIR",
            help="Gold scene graphs in a folder of labels, to measure the image reader by.",
        ),
        click.option("--predictions", type=FILE, metavar="FILE", help="The same as --system FILE."),
        click.option(
            "--out", type=FILE, metavar="DIR", help="Write records and report here; resumes."
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            help="Take only about N questions, spread evenly.",
        ),
        seed_option,
        click.option(
            "--text",
            type=click.Choice(TEXTS),
            default=TEXTS[0],
            show_default=True,
            help="The field that is asked.",
        ),
        html_option,
        json_option,
    ]
)


@click.command("mimic-cxr-vqa", short_help="Questions about one chest X-ray.")
@_shared
@system_option(systems.CXR_VQA)
@click.option(
    "--reference",
    type=FILE,
    metavar="FILE",
    help="AUROC of a reference classifier (object, attribute, reference_auroc), for AUROC_rel.",
)
def mimic_cxr_vqa(**flags: Any) -> int:
    """MIMIC-CXR-VQA: ask every question about its image; accuracy and micro-F1 in all, by content
    and semantic type, with what was declined told apart, the paper's two priors, and AUROC by
    relation. Reads the data set's own JSON, or vqa_questions.jsonl of the open re-creation.

    \b
    Examples:
      ehrqa eval mimic-cxr-vqa --data ehrxqa-open --db ehr.sqlite --scene-graphs ehrxqa-open
      ehrqa eval mimic-cxr-vqa --data mimic-cxr-vqa --split test --db ehr.sqlite \\
          --images files --reference reference_auroc.tsv --out run1
      ehrqa eval mimic-cxr-vqa --data mimic-cxr-vqa --split test --predictions p.jsonl
    """
    from ehrqa_cli.evaluate.mimic_cxr_vqa import VqaRun

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.CXR_VQA)
    asks = chosen.asks
    path = flags["db"]
    if asks and flags["scene_graphs"] is None:
        path = database_path(path)  # the images of the studies are registered there
    reader = _reader(flags, path) if asks else None
    if asks and reader is None:
        raise UsageError(
            "there is no reader of images",
            "name the folder of images with --images DIR, or labels with --scene-graphs DIR",
        )
    database = open_database(path) if path else None
    try:
        with diagnostics.progress() as advance:
            report = VqaRun(
                flags["data"],
                flags["split"],
                reader,
                database,
                labels=_labels(flags),
                reference=flags["reference"],
                progress=lambda done, total: advance(done, total, "questions"),
                system=chosen.name or systems.OURS,
                **_common(flags, chosen),
            ).run()
    finally:
        if database is not None:
            database.close()
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


@click.command(short_help="Questions over tables and chest X-rays.")
@_shared
@system_option(systems.EHRXQA)
@as_of_option
@click.option(
    "--model",
    metavar="NAME|FILE",
    help="The text-to-SQL model [default: local]; the GGUF file of a few-shot system.",
)
@fewshot_options
@workers_option
@click.option("--fast", is_flag=True, help="The same as --system ours-fast.")
def ehrxqa(**flags: Any) -> int:
    """EHRXQA: answer every question; Acc_LF, Acc_EX|gt and Acc_EX|pred in all, by modality and by
    patient scope, with what was declined told apart, and baselines of a constant answer. Reads the
    data set's own JSON, or questions.jsonl of the open re-creation.

    \b
    Examples:
      ehrqa eval ehrxqa --data ehrxqa-open --db ehrxqa-open/mimic_iv_cxr.sqlite \\
          --scene-graphs ehrxqa-open --out run1
      ehrqa eval ehrxqa --data ehrxqa --split test --db gold.sqlite --images files \\
          --labels gold-graphs
      ehrqa eval ehrxqa --data ehrxqa --split test --db gold.sqlite --predictions p.json
      ehrqa eval ehrxqa --data ehrxqa --split test --db gold.sqlite --images files \\
          --system fewshot-bm25 --model qwen2.5-coder-1.5b.gguf --shots 10
    """
    from ehrqa_cli import config
    from ehrqa_cli.evaluate.ehrxqa import XqaRun
    from ehrqa_cli.evaluate.examples import examples_for
    from ehrqa_cli.evaluate.fewshot import NEURALSQL

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.EHRXQA)
    settings = config.load()
    path = database_path(flags["db"], settings)
    session = open_measured(path, flags, chosen, settings.model)
    with ExitStack() as stack:
        stack.enter_context(session)
        advance = stack.enter_context(diagnostics.progress())
        if session.graphs is None:
            diagnostics.note(
                "without --images or --scene-graphs, questions about images are declined"
            )
        opener = open_writer(
            flags,
            chosen,
            lambda: examples_for(flags["data"], flags["split"], flags["text"], flags["examples"]),
            NEURALSQL,
        )
        writer = opener(session.database.schema()) if opener else None
        if writer is not None:
            stack.callback(writer.close)
        report = XqaRun(
            flags["data"],
            flags["split"],
            session,
            labels=_labels(flags),
            progress=lambda done, total: advance(done, total, "questions"),
            system=chosen.name or systems.OURS,
            writer=writer,
            workers=flags["workers"],
            **_common(flags, chosen),
        ).run()
    write_report_html(flags, report)
    return print_report(report, flags["as_json"])


COMMANDS = (mimic_cxr_vqa, ehrxqa)


def _reader(flags: dict[str, Any], db: Path | None) -> Vqa | None:
    return read_graphs(flags["scene_graphs"], db=db, images=flags["images"], vision=flags["vision"])


def _labels(flags: dict[str, Any]) -> Vqa | None:
    folder: Path | None = flags["labels"]
    if folder is None:
        return None
    from ehrqa_cli.vqa import OracleGraphs, Vqa

    return Vqa(OracleGraphs.open(folder))


def _common(flags: dict[str, Any], chosen: systems.Chosen) -> dict[str, Any]:
    found = {name: flags[name] for name in ("out", "limit", "seed", "text")}
    return {**found, "predictions": chosen.predictions}
