"""``ehrqa build emrqa``: questions over annotated notes, in the manner of emrQA."""

from __future__ import annotations

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

    order = EmrOrder(flags["annotations"], flags["out"], flags["seed"], flags["most_lines"])
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
