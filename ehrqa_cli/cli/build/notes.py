"""``ehrqa build notes``: questions over clinical notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.build.options import COUNT, out_option, seed_option, shown, tell_set
from ehrqa_cli.cli.options import database_path, db_option, json_option

if TYPE_CHECKING:
    from ehrqa_cli.chat import Gguf

_UP_TO_8 = click.IntRange(min=1, max=8)


@click.command()
@db_option
@click.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="What writes the questions: an instruction model as a GGUF file, or a pulled one's name.",
)
@out_option
@shown("--size", 100, "Questions.", COUNT)
@shown("--per-patient", 1, "Questions with an answer about one patient, at most.", _UP_TO_8)
@shown("--tries", 3, "Attempts for each of them, each about another topic.", _UP_TO_8)
@shown("--unanswerable", 0.1, "Of questions that the notes do not answer.",
       click.FloatRange(min=0.0, max=0.5), metavar="SHARE")  # fmt: skip
@shown("--category", "discharge summary", "Of the notes that are asked about; any: all of a "
       "patient's.")  # fmt: skip
@shown("--threads", 2, "Of the processor.", COUNT)
@seed_option
@json_option
def notes(**flags: Any) -> int:
    """Questions with five choices over patients' notes, in the manner of EHRNoteQA: patients drawn
    by the length of their notes, a question and its answer written by a local model, then its
    choices; kept if the evidence stands in the notes, the steps agree, and the model finds the
    answer again. A clinician should look at them: ehrqa build review. For each split (by patient)
    DIR/S holds questions.jsonl, notes.jsonl and gold.json.

    \b
    Examples:
      ehrqa build notes --db ehr.sqlite --model qwen2.5-coder-1.5b --size 50 --out mine
      ehrqa build review mine
      ehrqa eval ehrnoteqa --data mine/test
    """
    from ehrqa_cli.sets.notes.author import Author
    from ehrqa_cli.sets.notes.build import NotesOrder, build_notes
    from ehrqa_cli.sets.notes.make import Plan

    plan = Plan(
        flags["size"], flags["seed"], flags["per_patient"], flags["tries"], flags["unanswerable"]
    )
    db = database_path(flags["db"])
    author = Author(_model(flags["model"]), flags["threads"])
    order = NotesOrder(db, flags["out"], plan, author, flags["category"])
    with diagnostics.progress("rate") as advance:
        card = build_notes(order, advance)
    return tell_set(card, flags, _lines(card), "all patients were asked about")


def _lines(card: dict[str, Any]) -> Iterator[str]:
    tried = card["attempts"]
    for name in ("by_level", "by_category", "by_answer"):
        for row, n in card["counts"][name].items():
            yield f"{name[3:]} {row.removeprefix('level ')}  {n:,}"
    yield f"attempts  {tried['attempts']:,}, of which {100 * tried['yield']:.0f}% gave one"
    for row, n in tried["failed"].items():
        yield f"not kept: {row}  {n:,}"


def _model(name: str) -> Gguf:
    from ehrqa_cli.chat import Gguf

    if name.lower().endswith(".gguf"):
        return Gguf.named(Path(name).expanduser())
    return Gguf.pulled(name)
