"""``ehrqa vqa``: one question about one chest X-ray, of a study or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.ask import EXIT_CODES
from ehrqa_cli.cli.image_options import (
    images_option,
    labels,
    read_graphs,
    scene_graphs_option,
    tables_of,
    vision_option,
    wanted,
)
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option, open_database
from ehrqa_cli.cli.questions import check_text
from ehrqa_cli.contracts.errors import ImageError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status

if TYPE_CHECKING:
    from ehrqa_cli.vqa import Vqa
    from ehrqa_cli.vqa.model.source import ModelGraphs

_NO_READER = "there is no reader of images"
_NAME_ONE = "name a vision model with --vision CARD, or a folder of labels with --scene-graphs DIR"


@dataclass(frozen=True)
class Flags:
    """The options of vqa."""

    study: int | None
    db: Path | None
    scene_graphs: Path | None
    images: Path | None
    vision: str | None
    overlay: Path | None


@click.command(short_help="Ask one question about one chest X-ray.")
@click.argument("words", nargs=-1, metavar="[IMAGE] QUESTION")
@click.option("--study", type=click.IntRange(min=0), metavar="ID", help="The study to look at.")
@db_option
@scene_graphs_option
@images_option
@vision_option
@click.option("--overlay", type=FILE, metavar="FILE", help="Draw what was seen into this PNG file.")
@json_option
def vqa(
    words: tuple[str, ...],
    study: int | None,
    db: Path | None,
    scene_graphs: Path | None,
    images: Path | None,
    vision: str | None,
    overlay: Path | None,
    as_json: bool,
) -> int:
    """Answer QUESTION about the file IMAGE (PNG, JPEG or DICOM), or about the X-ray of a study.

    Shows the answer, how the question was read, its probability and the relations it rests on.
    What the reader of images cannot see it does not answer. Not for clinical use.

    \b
    Examples:
      ehrqa vqa chest.png "is there a pleural effusion?" --overlay seen.png
      ehrqa vqa "is there a pneumothorax in the left lung?" --study 50018554 \\
          --db ehr.sqlite --images mimic-cxr
      ehrqa vqa "list all abnormalities" --study 50018554 --db ehr.sqlite \\
          --scene-graphs labels --json
      ehrqa vqa chest.dcm "is it an AP film?" --vision my-model/card.json

    \b
    Exit codes: 0 answered, 1 failed, 2 usage or configuration, 3 abstained.
    """
    image, question = _words(words)
    asked = Question(text=check_text(question), study_id=study)
    folder = scene_graphs if image else labels(scene_graphs, images, vision)
    flags = Flags(study, db, folder, images, vision, overlay)
    try:
        of_file = image is not None and scene_graphs is None
        answer = (
            _of_file(asked, image, flags) if of_file and image else _of_study(asked, flags, image)
        )
    except ImageError as error:
        if not as_json:
            raise
        fault = {"message": error.message, "hint": error.hint}
        answer = Answer(question=asked, status=Status.FAILED, error=fault)
    return _show(answer, as_json)


def _words(words: tuple[str, ...]) -> tuple[Path | None, str]:
    if len(words) == 1:
        if Path(words[0]).is_file():
            raise UsageError(
                f"there is no question about {words[0]}", 'write ehrqa vqa IMAGE "question"'
            )
        return None, words[0]
    if len(words) == 2:
        return Path(words[0]), words[1]
    raise UsageError(
        "one image and one question are needed" if words else "there is no question",
        'write ehrqa vqa IMAGE "question", the question in quotation marks',
    )


def _of_file(asked: Question, image: Path, flags: Flags) -> Answer:
    """Look at a file, draw, and answer. Raises ImageError for one that cannot be read."""
    from ehrqa_cli.vqa.film import Films

    if flags.study is not None:
        raise UsageError("IMAGE and --study exclude each other", "leave one of them out")
    source = _model(flags)
    films = Films(source)
    film, seen = films.look(image)
    answer = films.answer_of(asked, film)
    if flags.overlay:
        from ehrqa_cli.vqa import overlay
        from ehrqa_cli.vqa.imaging.decode import decode

        content = overlay.content_of(source.model.card, seen, image.name)
        overlay.save(decode(image, size=overlay.SIDE), content, flags.overlay)
    return answer


def _of_study(asked: Question, flags: Flags, image: Path | None) -> Answer:
    """Answer from a study's scene graph; IMAGE is only drawn on."""
    if flags.study is None:
        raise UsageError(
            "no study given", 'name one with --study ID, or an image: IMAGE "question"'
        )
    from ehrqa_cli.vqa import study_answer

    path = _database(flags)
    reader = read_graphs(flags.scene_graphs, db=path, images=flags.images, vision=flags.vision)
    database = open_database(path) if path else None
    try:
        if reader is None and database is not None:
            reader = tables_of(database, flags.scene_graphs, flags.images)
        if reader is None:
            hint = "name the folder of images with --images DIR, or labels with --scene-graphs"
            raise UsageError(_NO_READER, hint)
        answer = study_answer(asked, flags.study, reader, database)
    finally:
        if database is not None:
            database.close()
    if flags.overlay:
        _draw_study(flags.study, reader, image, flags.overlay)
    return answer


def _database(flags: Flags) -> Path | None:
    """The database; labels can do without, as it only tells them which studies there are."""
    try:
        return database_path(flags.db)
    except UsageError:
        if flags.scene_graphs is None:
            raise
        return None


def _draw_study(study: int, reader: Vqa, image: Path | None, target: Path) -> None:
    from ehrqa_cli.vqa import overlay
    from ehrqa_cli.vqa.imaging.decode import decode
    from ehrqa_cli.vqa.model.source import ModelGraphs

    title = f"study {study}"
    if isinstance(reader.source, ModelGraphs):
        source = reader.source
        file = source.file_of(study)
        if file is None:
            diagnostics.warn(f"nothing was drawn: study {study} has no image")
            return
        picture = decode(file, size=overlay.SIDE)
        seen = source.model.see([picture])[0]
        overlay.save(picture, overlay.content_of(source.model.card, seen, title), target)
        return
    graph = reader.graph(study)
    if image is None or graph is None:
        raise UsageError("labels have no image to draw on", 'name it: ehrqa vqa IMAGE "question"')
    content = overlay.content_of_graph(graph, reader.source.coverage().relations, title)
    overlay.save(decode(image, size=overlay.SIDE), content, target)


def _model(flags: Flags) -> ModelGraphs:
    from ehrqa_cli.vqa.model import choose

    source = choose.model_graphs(wanted(flags.vision))
    if source is None:
        raise UsageError(_NO_READER, _NAME_ONE)
    return source


def _show(answer: Answer, as_json: bool) -> int:
    if as_json:
        from ehrqa_cli.store import answer_record

        output.json_line(answer_record(answer))
    else:
        from ehrqa_cli.cli.render import answer_lines

        for line in answer_lines(answer):
            output.line(line)
    if answer.status is Status.FAILED and answer.error:
        diagnostics.error(answer.error["message"], answer.error["hint"])
    return EXIT_CODES[answer.status]
