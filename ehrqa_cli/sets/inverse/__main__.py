"""``python -m ehrqa_cli.sets.inverse --data DIR --split train --out FILE``: EHRSQL to pairs.

Each line is {"id", "question", "form", "template", "family"}; unanswerable questions have the
form ``abstain``. A gold query without a form is counted and left out.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from ehrqa_cli.logical_form import print_form
from ehrqa_cli.sets.inverse import Unrecognised, invert


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--split", default="train", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(data: Path, split: str, out: Path) -> None:
    """Write the questions of an EHRSQL-2024 split with their logical forms."""
    questions = json.loads((data / split / "data.json").read_text())["data"]
    labels = json.loads((data / split / "label.json").read_text())
    missed = 0
    with out.open("w") as sink:
        for item in questions:
            sql = labels[item["id"]]
            try:
                form = "abstain" if sql == "null" else print_form(invert(sql))
            except Unrecognised:
                missed += 1
                continue
            family = "unanswerable" if sql == "null" else "ehrsql"
            row = {"id": item["id"], "question": item["question"], "form": form}
            sink.write(json.dumps({**row, "template": "", "family": family}) + "\n")
    click.echo(f"{len(questions) - missed} pairs, {missed} gold queries without a form", err=True)


if __name__ == "__main__":
    main()
