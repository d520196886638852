"""``ehrqa build emrqa``: questions over annotated notes, in the manner of emrQA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.build.options import COUNT, out_option, seed_option
from ehrqa_cli.cli.options import FILE, json_option


@click.command()
@click.option(
    "--annotations",
    type=FILE,
    required=True,
    metavar="DIR",
    help="Annotated notes in the layouts of i2b2's challenges.",
)
@out_option
@click.option(
    "--most-lines",
    type=COUNT,
    default=10,
    show_default=True,
    help="Of evidence; `eval emrqa` looks at ten.",
)
@seed_option
@json_option
def emrqa(**flags: Any) -> int:
    """Questions in the manner of emrQA: types with logical forms, filled from the annotations of
    notes, answered by the annotated lines and the entities in them. Reads i2b2's medications
    (.i2b2.entries), relations with co-reference (.con, .ast, .rel, .chains), heart disease risk,
    smoking and obesity (.xml). For each split DIR/S/data.json is emrQA's layout, forms.jsonl has
    every question with its form, gold.json scores 100.

    \b
    Examples:
      ehrqa build emrqa --annotations i2b2 --out mine
      ehrqa eval emrqa --data mine/valid
    """
    from ehrqa_papers.emrqa_sets import EmrOrder, build_emrqa

    order = EmrOrder(
        flags["annotations"],
        flags["out"],
        flags["seed"],
        _labelled(flags["annotations"]),
        flags["most_lines"],
    )
    with diagnostics.progress("rate") as advance:
        card = build_emrqa(order, lambda done, size: advance(done, size, "notes"))
    if flags["as_json"]:
        output.json_line(card)
        return 0
    counts, said = card["counts"], card["paraphrases"]
    by_split = ", ".join(f"{n:,} {split}" for split, n in counts["by_split"].items())
    output.line(f"questions  {counts['questions']:,} ({by_split})")
    for title, row in counts["table_1"].items():
        output.line(
            f"{title}  {row['question_answer_pairs']:,} with answers, "
            f"{row['question_form_pairs']:,} with forms, {row['notes']:,} notes"
        )
    output.line(
        f"question types  {counts['types_with_answers']} answered of {counts['types_asked']}"
    )
    output.line(
        f"wordings  {said['wordings_per_type']} a type, BLEU {said['bleu']['mean']}, "
        f"Jaccard {said['jaccard']['mean']}"
    )
    output.line(f"written  {flags['out']}")
    if counts["annotations_not_where_they_say"]:
        diagnostics.warn(
            f"{counts['annotations_not_where_they_say']:,} annotations do not stand in their notes"
        )
    return 0


def _labelled(folder: Path) -> tuple[Any, ...]:
    """The notes with a class of their own: smoking status, obesity and what comes with it."""
    from ehrqa_papers.emrqa.i2b2 import read_i2b2
    from ehrqa_papers.emrqa_sets.build import LabelledNote

    if not folder.is_dir():
        return ()  # the builder says what is wrong
    records, _ = read_i2b2(folder)
    return tuple(
        LabelledNote(
            "smoking" if r.asked == "smoking status" else "obesity",
            r.record_id,
            r.asked,
            r.text,
            r.label,
        )
        for r in records
    )
