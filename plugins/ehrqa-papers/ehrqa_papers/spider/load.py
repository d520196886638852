"""Gold and predicted queries in Spider's text files: one a line, a blank line between
interactions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import read_bytes
from ehrqa_papers.spider.schemas import Schemas, SpiderSchema

_GOLD = "expected a line `SQL<tab>db_id` for each question, as in Spider's dev_gold.sql"


@dataclass(frozen=True)
class Pair:
    """One question: ``id`` is its number, or interaction.turn; ``line`` is that of the gold file.
    An empty ``prediction`` is none."""

    id: str
    line: int
    gold: str
    prediction: str
    schema: SpiderSchema


@dataclass(frozen=True)
class Pairs:
    """All questions in their order, and the SHA-256 of the two files."""

    each: tuple[Pair, ...]
    interactions: int
    gold_sha256: str
    predictions_sha256: str


Line = tuple[int, str]


def load_pairs(gold: Path, predictions: Path, schemas: Schemas) -> Pairs:
    """Read both files. Raises EvaluationError, which names the line that is wrong."""
    gold_text, gold_hash = _text(gold, _GOLD)
    wanted = _interactions(gold_text)
    read = {n: _gold(text, n, gold, schemas) for turns in wanted for n, text in turns}
    hint = f"expected one SQL a line for each of {gold}, in its order; an empty line for none"
    given_text, given_hash = _text(predictions, hint)
    given = _aligned(given_text, wanted, gold, predictions)
    pairs = []
    for number, (turns, answers) in enumerate(zip(wanted, given, strict=True), 1):
        for turn, ((line, _), prediction) in enumerate(zip(turns, answers, strict=True), 1):
            sql, schema = read[line]
            key = str(turn) if len(wanted) == 1 else f"{number}.{turn}"
            pairs.append(Pair(key, line, sql, _prediction(prediction, schemas), schema))
    return Pairs(tuple(pairs), len(wanted), gold_hash, given_hash)


def _text(path: Path, hint: str) -> tuple[str, str]:
    if path.is_dir():
        raise EvaluationError(f"{path} is a folder, not a file", hint)
    if not path.exists():
        raise EvaluationError(f"there is no file {path}", hint)
    content = read_bytes(path, "SQL")
    try:
        return content.decode("utf-8-sig"), hashlib.sha256(content).hexdigest()
    except UnicodeDecodeError:
        raise EvaluationError(f"{path} is not UTF-8 text", hint) from None


def _lines(text: str) -> list[Line]:
    # Only line feeds end a line: splitlines would also cut at separators inside a text value.
    return [(n, line.strip(" \r\n")) for n, line in enumerate(text.split("\n"), 1)]


def _interactions(text: str) -> list[list[Line]]:
    found: list[list[Line]] = [[]]
    for number, line in _lines(text):
        if line.strip():
            found[-1].append((number, line))
        elif found[-1]:
            found.append([])
    return [turns for turns in found if turns]


def _aligned(
    text: str, wanted: Sequence[Sequence[Line]], gold: Path, path: Path
) -> list[list[str]]:
    """The predictions in the shape of ``wanted``."""
    if len(wanted) == 1:
        # No interactions: an empty line is a question without a prediction.
        lines = [line for _, line in _lines(text)]
        if not lines[-1]:
            lines.pop()  # what follows the last line feed is no line
        while len(lines) > len(wanted[0]) and not lines[-1].strip():
            lines.pop()
        _same(len(lines), len(wanted[0]), f"{path} has {{}} predictions", f"{gold} {{}} queries")
        return [lines]
    given = [[line for _, line in turns] for turns in _interactions(text)]
    _same(len(given), len(wanted), f"{path} has {{}} interactions", f"{gold} {{}}")
    for turns, answers in zip(wanted, given, strict=True):
        where = f"in the interaction at line {turns[0][0]} of {gold}"
        _same(len(answers), len(turns), f"{path} has {{}} predictions", f"gold {{}}, {where}")
    return given


def _same(found: int, expected: int, has: str, has_gold: str) -> None:
    if found != expected:
        raise EvaluationError(
            f"{has.format(found)}, {has_gold.format(expected)}",
            "give one prediction a line in gold's order, and gold's blank lines if it has any",
        )


def _gold(text: str, line: int, path: Path, schemas: Schemas) -> tuple[str, SpiderSchema]:
    sql, tab, db = text.rpartition("\t")
    if not tab or not sql.strip():
        raise EvaluationError(f"line {line} of {path} names no database", _GOLD)
    schema = schemas.by_id.get(db.strip())
    if schema is None:
        raise EvaluationError(
            f"line {line} of {path} is of the database '{db.strip()[:80]}',"
            f" which {schemas.path} does not have",
            "give the tables.json of these questions with --tables FILE",
        )
    return sql.strip(), schema


def _prediction(text: str, schemas: Schemas) -> str:
    sql, tab, db = text.rpartition("\t")
    return sql.strip() if tab and db.strip() in schemas.by_id else text.strip()
