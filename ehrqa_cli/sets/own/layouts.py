"""A set of questions in the layouts that evaluation and training read.

For each split: ``S.json`` is EHRXQA's, with every question; ``S/`` is EHRSQL-2024's, with those
about tables alone; ``pairs/S.jsonl`` is what the text-to-SQL trainer
reads (question, form, template, family).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.sets.making.files import (
    Plain,
    whole,
    write_joined,
    write_lines,
    write_list,
    writing,
)
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.making.shares import SPLITS
from ehrqa_cli.sets.own.sheet import TABLE, Labels

AnswerText = Callable[[Sequence[tuple[Any, ...]]], str]
"""Rows as EHRSQL's answer.json prints them."""
_NULL = "null"
_EHRXQA = (
    "id question template q_tag query answer is_impossible modality patient_scope patient_id "
    "logical_form sql answer_sheet split"
)
_PAIR = "question form template family"
_ANNOTATED = "id question query template logical_form sql patient_id"


def write_questions(journal: Journal, answer_text: AnswerText) -> None:
    """Write all layouts from the attempts of a finished run, of the splits that hold a question.
    Raises BuildError."""
    with writing(journal.out):
        for split in splits_in(journal):

            def own(split: str = split) -> Iterator[Plain]:
                return (r for r in made(journal) if r["split"] == split)

            write_list(journal.out / f"{split}.json", (_picked(r, _EHRXQA) for r in own()))
            lines = (_picked(r, _PAIR) for r in own())
            write_lines(journal.out / "pairs" / f"{split}.jsonl", lines)
            _ehrsql(journal.out / split, own, answer_text, f"{journal.hash}-{split}")


def splits_in(journal: Journal) -> list[str]:
    """The splits that hold a question."""
    there = {record["split"] for record in made(journal)}
    return [name for name in SPLITS if name in there]


def made(journal: Journal) -> Iterator[Plain]:
    """The questions among the attempts."""
    return (line for line in journal.lines() if "failed" not in line)


def write_sheet(labels: Labels, path: Path) -> None:
    """The table of labels that the answer sheets are queries on, as a SQLite file of its own:
    attach it to the EHR to run them. Raises BuildError."""
    try:
        with writing(path), whole(path) as part, closing(sqlite3.connect(part)) as connection:
            labels.write(connection)
            connection.commit()
    except sqlite3.Error as error:
        raise BuildError(
            f"cannot write {TABLE} to {path}: {error}", "make room, then run the same command again"
        ) from None


def _picked(record: Plain, fields: str) -> Plain:
    """These fields of a question, in this order, by the names that the layouts have for them."""
    answer = record["answer"]
    flat = answer is not None and all(len(row) == 1 for row in answer)
    named = {
        **record,
        "q_tag": record["template"],
        "query": record["neuralsql"] or _NULL,
        "answer": [row[0] for row in answer] if flat else answer,
        "is_impossible": answer is None,
        "logical_form": record["form"],
        "family": record["family"].replace("+", "_"),
    }
    return {name: named[name] for name in fields.split()}


def _ehrsql(
    folder: Path, records: Callable[[], Iterator[Plain]], answer_text: AnswerText, version: str
) -> None:
    def own() -> Iterator[Plain]:
        return (r for r in records() if r["modality"] == "table")

    def answers() -> Iterator[tuple[str, str]]:
        for r in own():
            rows = None if r["answer"] is None else [tuple(row) for row in r["answer"]]
            yield r["id"], _NULL if rows is None else answer_text(rows)

    labels = ((r["id"], r["neuralsql"] or _NULL) for r in own())
    for name, pairs in (("label", labels), ("answer", answers())):
        shown = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in pairs)
        write_joined(folder / f"{name}.json", "{", shown, "\n}\n")
    write_list(folder / "annotated.json", (_picked(r, _ANNOTATED) for r in own()))
    questions = (json.dumps(_picked(r, "id question"), ensure_ascii=False) for r in own())
    begin = f'{{"version": {json.dumps(f"ehrqa-build-{version}")}, "data": ['
    write_joined(folder / "data.json", begin, questions, "\n]}\n")
