"""A set of questions in the layouts that evaluation and training read.

For each split: ``S.json`` is EHRXQA's, with every question; ``S/`` is EHRSQL-2024's, with those
about tables alone; ``pairs/S.jsonl`` is what the text-to-SQL trainer
reads (question, form, template, family).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.sets.own.journal import Journal, Plain, write_lines, write_list, writing
from ehrqa_cli.sets.own.shares import SPLITS
from ehrqa_cli.sets.own.sheet import TABLE, Labels

AnswerText = Callable[[Sequence[tuple[Any, ...]]], str]
"""Rows as EHRSQL's answer.json prints them."""
_NULL = "null"


def write_questions(journal: Journal, answer_text: AnswerText) -> None:
    """Write all layouts from the attempts of a finished run, of the splits that hold a question.
    Raises BuildError."""
    there = {record["split"] for record in made(journal)}
    try:
        for split in (name for name in SPLITS if name in there):

            def own(split: str = split) -> Iterator[Plain]:
                return (r for r in made(journal) if r["split"] == split)

            write_list(journal.out / f"{split}.json", map(_ehrxqa, own()))
            write_lines(journal.out / "pairs" / f"{split}.jsonl", map(_pair, own()))
            _ehrsql(journal.out / split, own, answer_text, f"{journal.hash}-{split}")
    except OSError as error:
        raise writing(journal.out, error) from None


def made(journal: Journal) -> Iterator[Plain]:
    """The questions among the attempts."""
    return (line for line in journal.lines() if "failed" not in line)


def write_sheet(labels: Labels, path: Path) -> None:
    """The table of labels that the answer sheets are queries on, as a SQLite file of its own:
    attach it to the EHR to run them. Raises BuildError."""
    path.unlink(missing_ok=True)
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    try:
        connection = sqlite3.connect(part)
        try:
            labels.write(connection)
            connection.commit()
        finally:
            connection.close()
        part.replace(path)
    except OSError as error:
        raise writing(path, error) from None
    except sqlite3.Error as error:
        raise BuildError(
            f"cannot write {TABLE} to {path}: {error}", "make room, then run the same command again"
        ) from None


def _ehrxqa(record: Plain) -> Plain:
    answer = record["answer"]
    flat = answer is not None and all(len(row) == 1 for row in answer)
    return {
        "id": record["id"],
        "question": record["question"],
        "template": record["template"],
        "q_tag": record["template"],
        "query": record["neuralsql"] or _NULL,
        "answer": [row[0] for row in answer] if flat else answer,
        "is_impossible": answer is None,
        "modality": record["modality"],
        "patient_scope": record["patient_scope"],
        "patient_id": record["patient_id"],
        "logical_form": record["form"],
        "sql": record["sql"],
        "answer_sheet": record["answer_sheet"],
        "split": record["split"],
    }


def _pair(record: Plain) -> Plain:
    family = record["family"].replace("+", "_")
    return {
        "question": record["question"],
        "form": record["form"],
        "template": record["template"],
        "family": family,
    }


def _ehrsql(
    folder: Path, records: Callable[[], Iterator[Plain]], answer_text: AnswerText, version: str
) -> None:
    def own() -> Iterator[Plain]:
        return (r for r in records() if r["modality"] == "table")

    def answers() -> Iterator[tuple[str, str]]:
        for r in own():
            rows = None if r["answer"] is None else [tuple(row) for row in r["answer"]]
            yield r["id"], _NULL if rows is None else answer_text(rows)

    _object(folder / "label.json", ((r["id"], r["neuralsql"] or _NULL) for r in own()))
    _object(folder / "answer.json", answers())
    write_list(folder / "annotated.json", map(_annotated, own()))
    questions = ({"id": r["id"], "question": r["question"]} for r in own())
    _data(folder / "data.json", f"ehrqa-build-{version}", questions)


def _annotated(record: Plain) -> Plain:
    return {
        "id": record["id"],
        "question": record["question"],
        "query": record["neuralsql"] or _NULL,
        "template": record["template"],
        "logical_form": record["form"],
        "sql": record["sql"],
        "patient_id": record["patient_id"],
    }


def _object(path: Path, items: Iterable[tuple[str, str]]) -> None:
    """A JSON object, one key a line, written as the items come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first = True
    with path.open("w", encoding="utf-8") as file:
        file.write("{")
        for key, value in items:
            shown = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            file.write(("\n" if first else ",\n") + shown)
            first = False
        file.write("\n}\n")


def _data(path: Path, version: str, questions: Iterable[Plain]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"version": {json.dumps(version)}, "data": [')
        for at, question in enumerate(questions):
            file.write((",\n" if at else "\n") + json.dumps(question, ensure_ascii=False))
        file.write("\n]}\n")
