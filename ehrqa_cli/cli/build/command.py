"""``ehrqa build``: question sets from a user's own EHR, chest X-rays and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.added import OpenGroup
from ehrqa_cli.cli.build.notes import notes
from ehrqa_cli.cli.build.options import COUNT, out_option, seed_option, shown, tell_set
from ehrqa_cli.cli.build.prepare import prepare
from ehrqa_cli.cli.build.review import review
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, open_database

if TYPE_CHECKING:
    from ehrqa_cli.sets.own.paraphrases import Wordings

_splits = click.option(
    "--splits", type=FILE, metavar="FILE", help="Whose questions go where (splits.tsv)."
)
_paraphrase = click.option(
    "--paraphrase",
    metavar="MODEL",
    help="Word the templates anew: a GGUF file, a pulled model, or a paraphrases.jsonl.",
)
_threads = click.option(
    "--threads", type=COUNT, metavar="N", help="Of the processor, to paraphrase."
)
_graphs_help = "Labels of the images (scene_graph.tsv.gz, studies.tsv)."


@click.group(name="build", cls=OpenGroup, short_help="Build question sets from your own EHR.")
def build() -> None:
    """Build question sets from your own EHR, chest X-rays and notes. Nothing leaves this computer.

    \b
    Examples:
      ehrqa build questions --db ehr.sqlite --out mine
      ehrqa eval ehrsql --data mine --split valid --db ehr.sqlite
    """


for _command in (prepare, notes, review):
    build.add_command(_command)


@build.command()
@db_option
@click.option("--scene-graphs", type=FILE, metavar="DIR", help=_graphs_help)
@out_option
@shown("--size", 5_000, "Questions.", COUNT)
@seed_option
@shown("--check-every", 20, "One question in N is also run by the engine; 1: all.", COUNT)
@shown("--debias", "auto", "The debiased split: λ1-λ2-M, or the strictest that these questions "
       "allow.")  # fmt: skip
@_splits
@_paraphrase
@_threads
@json_option
def questions(**flags: Any) -> int:
    """Questions over tables and chest X-rays in the manner of EHRSQL and EHRXQA, each with an
    answer that was found by running it, and one in ten without any. For each split (by patient)
    DIR/S.json is EHRXQA's layout, DIR/S/ is EHRSQL-2024's, DIR/pairs/S.jsonl is for training.

    \b
    Examples:
      ehrqa build questions --db ehr.sqlite --out mine --size 2000 --seed 7
      ehrqa build questions --db ehr.sqlite --scene-graphs labels --out mine
    """
    from ehrqa_cli import config
    from ehrqa_cli.cli.build.bias import AUTO, bias
    from ehrqa_cli.evaluate.bias.split import SplitSettings
    from ehrqa_cli.evaluate.rows import comparable
    from ehrqa_cli.sets.own.build import QuestionsOrder, build_questions

    if flags["debias"] != AUTO:
        SplitSettings.parse(flags["debias"])  # before anything is made
    db: Path = database_path(flags["db"], config.load())
    database = open_database(db)
    try:
        with diagnostics.progress("rate") as advance:
            order = QuestionsOrder(
                db,
                database,
                flags["out"],
                flags["size"],
                flags["seed"],
                answer_text=comparable,
                report=lambda out: bias(out, flags["seed"], flags["debias"]),
                scene_graphs=flags["scene_graphs"],
                check_every=flags["check_every"],
                splits=flags["splits"],
                wordings=_wordings(flags, advance),
                more={"debias": flags["debias"]},
            )
            card = build_questions(order, lambda done, size: advance(done, size, "questions"))
    finally:
        database.close()
    return tell_set(card, flags, _lines(card), "these data have no more")


@build.command()
@click.option("--scene-graphs", type=FILE, required=True, metavar="DIR", help=_graphs_help)
@db_option
@out_option
@shown("--size", 4_800, "Questions, at most; each template asks about an image once.", COUNT)
@seed_option
@_splits
@_paraphrase
@_threads
@json_option
def vqa(**flags: Any) -> int:
    """Questions about one chest X-ray in the manner of MIMIC-CXR-VQA: its selection of images, its
    48 templates, answers, images and templates kept even. DIR/S.json for each split; patients and
    wordings of one split are in no other. With --db images are split by patient, else by study.

    \b
    Examples:
      ehrqa build vqa --scene-graphs labels --db ehr.sqlite --out mine
      ehrqa eval mimic-cxr-vqa --data mine --split test --images files --db ehr.sqlite
    """
    from ehrqa_cli.sets.own.build import VqaOrder, build_vqa

    database = open_database(flags["db"]) if flags["db"] else None
    try:
        with diagnostics.progress("rate") as advance:
            order = VqaOrder(
                flags["scene_graphs"],
                flags["out"],
                flags["size"],
                flags["seed"],
                database,
                flags["splits"],
                _wordings(flags, advance),
            )
            card = build_vqa(order, lambda done, size: advance(done, size, "questions"))
    finally:
        if database is not None:
            database.close()
    return tell_set(card, flags, _lines(card), "these data have no more")


def _wordings(flags: dict[str, Any], advance: diagnostics.Advance) -> Wordings | None:
    from ehrqa_cli.sets.own.paraphrases import wordings

    if flags["paraphrase"] is None:
        return None

    def note(done: int, of: int) -> None:
        advance(done, of, "templates in other words")

    return wordings(flags["paraphrase"], flags["threads"] or 0, note)


def _lines(card: dict[str, Any]) -> Iterator[str]:
    found, said = card["templates"], card["paraphrases"]
    yield f"templates  {found['templates_filled']} of {found['templates']}"
    for name, n in card["counts"]["by_answer"].items():
        yield f"answer {name}  {n:,}"
    for name in found["templates_not_filled"]:
        yield f"not filled  {name}"
    if said:
        yield f"paraphrases  {said['kept']:,} of {said['written']:,} kept"
    if "bias" in card:
        split = card["bias"]["debiased"]
        yield f"debiased split  {split['method']} ({split['patterns']} n-grams)"
