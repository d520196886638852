"""``ehrqa eval``: measure ehrqa on a benchmark."""

from __future__ import annotations

import click

from ehrqa_cli.cli.eval import images as eval_images
from ehrqa_cli.cli.eval import notes as eval_notes
from ehrqa_cli.cli.eval.compare import compare
from ehrqa_cli.cli.eval.ehrsql import ehrsql
from ehrqa_cli.cli.eval.list import list_benchmarks
from ehrqa_cli.cli.eval.plugged import Benchmarks


@click.group(name="eval", cls=Benchmarks, short_help="Measure ehrqa on a benchmark.")
def evaluation() -> None:
    """Measure ehrqa on a benchmark's questions.

    \b
    Examples:
      ehrqa eval list
      ehrqa eval ehrsql --data ehrsql-2024 --split valid --db mimic_iv.sqlite
    """


for _command in (list_benchmarks, ehrsql, compare):
    evaluation.add_command(_command)
for _command in (*eval_images.COMMANDS, *eval_notes.COMMANDS):
    evaluation.add_command(_command)
