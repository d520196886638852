"""``ehrqa vqa``: one question about one chest X-ray."""

from __future__ import annotations

from pathlib import Path

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.ask import EXIT_CODES
from ehrqa_cli.cli.options import (
    database_path,
    db_option,
    json_option,
    open_database,
    read_graphs,
    scene_graphs_option,
)
from ehrqa_cli.cli.questions import check_text
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Question


@click.command(short_help="Ask one question about one chest X-ray.")
@click.argument("question")
@click.option("--study", type=click.IntRange(min=0), metavar="ID", help="The study to look at.")
@db_option
@scene_graphs_option
@json_option
def vqa(
    question: str, study: int | None, db: Path | None, scene_graphs: Path | None, as_json: bool
) -> int:
    """Answer QUESTION about the chest X-ray of one study.

    Shows the answer, how the question was read, its probability and the relations it rests on.
    What the reader of images cannot see it does not answer.

    \b
    Examples:
      ehrqa vqa "is there a pneumothorax in the left lung?" --study 50018554 \\
          --db ehr.sqlite --scene-graphs labels
      ehrqa vqa "list all abnormalities" --study 50018554 --db ehr.sqlite \\
          --scene-graphs labels --json

    \b
    Exit codes: 0 answered, 1 failed, 2 usage or configuration, 3 abstained.
    """
    if study is None:
        raise UsageError("no study given", "say which with --study ID")
    asked = Question(text=check_text(question), study_id=study)
    reader = read_graphs(scene_graphs)
    if reader is None:
        raise UsageError(
            "there is no reader of images", "name a folder of labels with --scene-graphs DIR"
        )
    from ehrqa_cli.vqa import study_answer

    database = open_database(database_path(db))
    try:
        answer = study_answer(asked, study, reader, database)
    finally:
        database.close()
    if as_json:
        from ehrqa_cli.store import answer_record

        output.json_line(answer_record(answer))
    else:
        from ehrqa_cli.cli.render import answer_lines

        for line in answer_lines(answer):
            output.line(line)
    return EXIT_CODES[answer.status]
