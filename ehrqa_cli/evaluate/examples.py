"""Questions with their queries that a few-shot system is shown: a training set, or any file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
from ehrqa_cli.evaluate.ehrxqa.load import load_xqa, scopes_of, training_file
from ehrqa_cli.evaluate.fewshot import NULL, Example
from ehrqa_cli.evaluate.files import read_objects

# What a query is called in the files of EHRXQA and EHRSQL 2022, of `ehrqa build`, and of runs.
_NAMES = ("neuralsql", "query", "sql", "gold_neuralsql")
_SHAPE = 'expected {"question", "query"} objects as JSON or JSON Lines'


def read_examples(path: Path) -> list[Example]:
    """The examples in a file of {"question", "query"} objects, or in a folder: EHRSQL-2024's, or
    one with train.json. Raises EvaluationError."""
    if path.is_dir() and not (path / "train.json").is_file():
        name = path.name if (path / "data.json").is_file() else "train"
        items = load_ehrsql(path, name).items
        return [Example(i.question, i.gold or NULL) for i in items if i.labelled]
    if path.is_dir():
        path = path / "train.json"
    source = read_objects(path, ("question",))
    found = [_example(raw) for raw in source.content]
    if None in found:
        where = found.index(None) + 1
        raise EvaluationError(f"question {where} of {path} has no query", _SHAPE)
    return [example for example in found if example is not None]


def others(examples: Iterable[Example], questions: Sequence[str]) -> list[Example]:
    """The examples that are none of ``questions``: what is measured is never shown."""
    measured = {_words(question) for question in questions}
    return [e for e in examples if _words(e.question) not in measured]


def _example(raw: dict[str, Any]) -> Example | None:
    if raw.get("is_impossible"):
        return Example(str(raw["question"]), NULL)
    query = next((raw[name] for name in _NAMES if raw.get(name)), None)
    if query is None:
        return None
    modality = raw.get("modality")
    if modality is None:
        template = str(raw.get("q_tag") or raw.get("template") or "")
        modality = scopes_of(template, str(query))[0] if template else ""
    return Example(str(raw["question"]), str(query), str(modality))


def _words(text: str) -> str:
    return " ".join(text.lower().split())


def examples_for(data: Path, split: str, text: str, path: Path | None) -> list[Example]:
    """What may be shown when ``split`` of EHRXQA is measured: the examples of ``path``, or of
    train.json in ``data``, less the measured questions and those without an answer, which the
    paper's training set does not have. Raises EvaluationError."""
    measured = load_xqa(data, split, text=text)
    if path is None:
        path = training_file(data)
    if path is None:
        raise EvaluationError(
            f"{data} has no train.json to show examples from",
            "give a file of questions with queries with --examples; `ehrqa build questions` makes"
            " one",
        )
    known = [e for e in read_examples(path) if e.query != NULL]
    return others(known, [item.question for item in measured.items])


def sql_examples_for(data: Path, split: str, path: Path | None) -> list[Example]:
    """What may be shown when ``split`` of EHRSQL is measured: the examples of ``path``, or of the
    split train in ``data``, those without an answer among them, less the measured questions.
    Raises EvaluationError."""
    measured = [item.question for item in load_ehrsql(data, split).items]
    if path is not None:
        return others(read_examples(path), measured)
    train = load_ehrsql(data, "train").items
    shown = [Example(i.question, i.gold or NULL) for i in train if i.labelled]
    return others(shown, measured)
