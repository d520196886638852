"""``ehrqa batch``: a file of questions, a file of answers; a failure is a row, never the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import click

from ehrqa_cli.cli import diagnostics
from ehrqa_cli.cli.answer_options import BatchOptions, answer_options, read_batch_options
from ehrqa_cli.cli.batch import reading
from ehrqa_cli.cli.batch.reading import FORMATS, STREAM, Item
from ehrqa_cli.cli.options import FILE
from ehrqa_cli.contracts.errors import UsageError


@click.command(short_help="Answer a file of questions.")
@click.argument("source", type=FILE, metavar="IN")
@click.argument("target", type=FILE, metavar="[OUT]", default=STREAM)
@answer_options
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="What IN is [default: by its ending .jsonl, .csv or .txt, else by how it begins].",
)
@click.option("--csv", "to_csv", is_flag=True, help="Write CSV [default: where OUT ends in .csv].")
@click.option("--resume", is_flag=True, help="Keep the rows OUT has, answer only the rest.")
@click.option("--restart", is_flag=True, help="Begin anew, whatever OUT has.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Answer with N processes [default: one a processor, where that pays].",
)
@click.option("--timings", type=FILE, metavar="FILE", help="Write each row's seconds here.")
def batch(source: Path, target: Path, **flags: Any) -> int:
    """Answer the questions of IN into OUT, one row a question, in the same order.

    IN is JSON Lines, CSV with a header, or plain lines; "-" is standard input, and standard
    output when OUT is left out. A question has "question" and may have "id", "patient_id",
    "study_id", "image" or "images", "choices" and "as_of"; in CSV choices are JSON or columns A
    to E. A question with "image" is answered from that file (its path is relative to --images,
    else to IN's folder) and needs no --db. OUT is JSON Lines as of `ehrqa ask --json`, or CSV. A
    question that fails is a row of status failed. A run that was ended, even by kill -9, goes on
    when the same command is given again, and gives the same bytes; a question asked twice is
    answered once.

    \b
    Examples:
      ehrqa batch questions.jsonl answers.jsonl --db ehr.sqlite
      ehrqa batch questions.csv answers.csv --db ehr.sqlite --workers 1
      ehrqa batch films.jsonl answers.jsonl --images x-rays
      echo "how many patients are there?" | ehrqa batch - --db ehr.sqlite

    \b
    Exit codes: 0 all rows written and none failed, 1 a row failed, 2 usage or configuration.
    """
    to_csv = flags["to_csv"] or (target != STREAM and target.suffix.lower() == ".csv")
    _check_files(source, target, flags)
    with ExitStack() as stack:
        items = _items(stack, source, flags)
        first = next(items, None)
        films = first is not None and first.question is not None and bool(first.question.images)
        options = _of_now(read_batch_options(flags, films))
        items = chain([first] if first else [], items)
        return _batch(stack, items, (source, target), options, {**flags, "to_csv": to_csv})


def _items(stack: ExitStack, source: Path, flags: dict[str, Any]) -> Iterator[Item]:
    given = reading.Given(flags["patient"], reading.folder_of(source, flags["images"]))
    return reading.items(
        stack.enter_context(reading.opened(source)), source, flags["format"], given
    )


def _batch(
    stack: ExitStack,
    items: Iterator[Item],
    paths: tuple[Path, Path],
    options: BatchOptions,
    flags: dict[str, Any],
) -> int:
    from ehrqa_cli.cli.batch.rows import Target
    from ehrqa_cli.cli.batch.writing import Run, settings_of, vision_of
    from ehrqa_cli.engine.many import ask_chunks, chunk_of

    source, path = paths
    session = stack.enter_context(options.session())
    session.reopen = options.session
    settings = settings_of(options, session, flags["to_csv"])
    target = Target(path, flags["to_csv"], settings, vision_of(options))
    stack.callback(target.close)
    target.own()
    run = Run(items, target)
    stack.callback(run.seen.close)
    anew = not _go_on(run, flags)
    # One model for images uses all processors by itself.
    vision = options.films or (session.graphs is not None and options.scene_graphs is None)
    answers = ask_chunks(
        run.chunks(chunk_of(session)),
        session,
        workers=flags["workers"] or (1 if vision else None),
        on_warning=diagnostics.warn,
    )
    stack.callback(answers.close)
    if flags["timings"]:
        run.times = stack.enter_context(_open_timings(flags["timings"], anew))
    target.begin(anew)
    run.advance = stack.enter_context(diagnostics.progress("rate"))
    run.total = reading.count(source) if sys.stderr.isatty() else None
    try:
        for answer in answers:
            run.take(answer)
    except KeyboardInterrupt:
        if target.rows and path != STREAM:
            diagnostics.note(f"{target.rows:,} rows are in {path}; the same command goes on")
        raise
    target.finish()
    diagnostics.note(run.tally.summary(target.rows))
    if target.held and path != STREAM:
        diagnostics.warn(
            "the database could not be read: put it in order, and the same command asks again "
            "from the first row that failed by it"
        )
    return 1 if run.tally.counts["failed"] else 0


def _go_on(run: Any, flags: dict[str, Any]) -> bool:
    """Keep what OUT has of this run, if anything; whether it had. Raises UsageError."""
    target = run.target
    if flags["restart"]:
        return False
    begun = target.unfinished()
    if begun is not None:
        rows, _, digest = begun
        run.keep(rows, digest)
        return True
    if flags["resume"] and target.path.is_file():
        run.keep(None, None)
        return True
    if not target.is_answers():
        raise UsageError(
            f"{target.path} is there already and is no file of answers",
            "name another OUT, or overwrite it with --restart",
        )
    return False


def _of_now(options: BatchOptions) -> BatchOptions:
    """The wall clock, where it is wanted, is read once for all questions and processes."""
    from ehrqa_cli.engine.times import check_time

    return replace(options, as_of=check_time(options.as_of)) if options.as_of else options


def _check_files(source: Path, target: Path, flags: dict[str, Any]) -> None:
    if source != STREAM and target != STREAM and source.resolve() == target.resolve():
        raise UsageError("IN and OUT are the same file", "name another OUT")
    if flags["resume"] and target == STREAM:
        raise UsageError("--resume needs a file OUT", "name one after IN")
    if flags["resume"] and flags["restart"]:
        raise UsageError("--resume and --restart exclude each other", "leave one of them out")
    if target != STREAM and not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", "name another OUT")
    if target.is_dir():
        raise UsageError(f"{target} is a folder", "name another OUT")


def _open_timings(path: Path, anew: bool) -> TextIO:
    from ehrqa_cli.cli.batch.rows import open_private

    try:
        file: TextIO = open_private(path, "w" if anew else "a", encoding="utf-8")
        return file
    except OSError as error:
        hint = "name another file with --timings"
        raise UsageError(f"cannot write {path}: {error.strerror}", hint) from error
