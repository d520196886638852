"""``ehrqa eval mimic-cxr-vqa`` and ``ehrqa eval ehrxqa``: questions about chest X-rays."""

from __future__ import annotations

from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.eval.report import (
    check_html,
    html_option,
    measure,
    together,
)
from ehrqa_cli.cli.eval.systems import (
    data_option,
    fewshot_options,
    open_measured,
    open_writer,
    run_options,
    seed_option,
    split_option,
    system_option,
    workers_option,
)
from ehrqa_cli.cli.image_options import (
    images_option,
    read_graphs,
    scene_graphs_option,
    vision_option,
)
from ehrqa_cli.cli.options import (
    FILE,
    as_of_option,
    database_path,
    db_option,
    json_option,
    open_database,
)
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.evaluate import systems

if TYPE_CHECKING:
    from ehrqa_cli.vqa import Vqa

TEXTS = ("question", "template_text")


_shared = together(
    [
        data_option(),
        split_option,
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
        run_options,
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
    from ehrqa_cli.evaluate.mimic_cxr_vqa import MimicCxrVqa

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.CXR_VQA)
    path = flags["db"]
    if chosen.asks and flags["scene_graphs"] is None:
        path = database_path(path)  # the images of the studies are registered there
    reader = _reader(flags, path) if chosen.asks else None
    if chosen.asks and reader is None:
        raise UsageError(
            "there is no reader of images",
            "name the folder of images with --images DIR, or labels with --scene-graphs DIR",
        )
    with closing(open_database(path)) if path else nullcontext() as database:
        benchmark = MimicCxrVqa(reader, database, _labels(flags), flags["reference"], flags["text"])
        return measure(flags, benchmark, chosen, asked=benchmark.asked if chosen.asks else None)


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
    from ehrqa_cli.evaluate import answering
    from ehrqa_cli.evaluate.ehrxqa import EhrXqa
    from ehrqa_cli.evaluate.examples import examples_for
    from ehrqa_cli.evaluate.fewshot import NEURALSQL

    check_html(flags)
    chosen = systems.choose(flags["system"], flags["predictions"], systems.EHRXQA)
    settings = config.load()
    path = database_path(flags["db"], settings)
    session = open_measured(path, flags, chosen, settings.model)
    with ExitStack() as stack:
        stack.enter_context(session)
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

        def asked() -> answering.System:
            if opener is None:
                return answering.asked(session, flags["workers"])
            return answering.written(opener, session.database.schema, stack)

        return measure(
            flags,
            EhrXqa(flags["text"], session, _labels(flags)),
            chosen,
            asked=asked if opener or chosen.asks else None,
            facts=answering.session_facts(session),
            execute=answering.executor(session),
        )


COMMANDS = (mimic_cxr_vqa, ehrxqa)


def _reader(flags: dict[str, Any], db: Path | None) -> Vqa | None:
    return read_graphs(flags["scene_graphs"], db=db, images=flags["images"], vision=flags["vision"])


def _labels(flags: dict[str, Any]) -> Vqa | None:
    folder: Path | None = flags["labels"]
    if folder is None:
        return None
    from ehrqa_cli.vqa import OracleGraphs, Vqa

    return Vqa(OracleGraphs.open(folder))
