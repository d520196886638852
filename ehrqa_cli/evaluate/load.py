"""EHRSQL's files: the 2024 layout (folder per split) and the 2022 layout (one file per split)."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError

NULL = "null"


@dataclass(frozen=True)
class Item:
    """One question. ``gold`` is SQL, or None where no answer exists; ``answer`` is the published
    one as metrics.comparable prints it, or None where none was published. ``labelled`` is False
    on a test split without labels."""

    id: str
    question: str
    gold: str | None
    labelled: bool = True
    answer: str | None = None
    template: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A split with what names it: ``version`` as the files say, ``sha256`` of the files read."""

    name: str
    split: str
    version: str
    sha256: str
    items: tuple[Item, ...]


def load_ehrsql(data: Path, split: str) -> Dataset:
    """Read ``split`` under ``data`` in either layout. Raises EvaluationError."""
    for folder in (data / split, data):
        if (folder / "data.json").is_file():
            return _load_2024(folder, split)
    for file in (data / f"{split}.json", data / "mimic_iii" / f"{split}.json"):
        if file.is_file():
            return _load_2022(file, split)
    raise EvaluationError(
        f"no EHRSQL split '{split}' in {data}",
        f"expected {split}/data.json (2024) or {split}.json (2022) there",
    )


def train_skeletons(data: Path, split: str) -> frozenset[str] | None:
    """Skeletons of the gold queries of ``train``; None without one, or when it is measured."""
    if split == "train":
        return None
    try:
        train = load_ehrsql(data, "train") if (data / "train").is_dir() else None
        train = train or (load_ehrsql(data, "train") if (data / "train.json").is_file() else None)
    except EvaluationError:
        return None
    if train is None:
        return None
    return frozenset(skeleton(item.gold) for item in train.items if item.gold)


def unseen(dataset: Dataset, known: frozenset[str]) -> frozenset[str]:
    """Ids of answerable questions whose template never occurs in train.

    A question is seen when its gold query, less values, numbers and time filters, equals one of
    train's. Where the files name templates, all questions of a template share the verdict: seen
    if any of them is.
    """
    by_template: dict[str, bool] = {}
    for item in dataset.items:
        if item.gold:
            key = item.template or item.id
            by_template[key] = by_template.get(key, False) or skeleton(item.gold) in known
    return frozenset(
        item.id for item in dataset.items if item.gold and not by_template[item.template or item.id]
    )


def _load_2024(folder: Path, split: str) -> Dataset:
    digest = hashlib.sha256()
    raw = _read(folder / "data.json", digest)
    if not isinstance(raw, dict) or not isinstance(raw.get("data"), list):
        raise EvaluationError(f"{folder}/data.json is not EHRSQL's", "expected {version, data: []}")
    labels = _optional(folder / "label.json", digest)
    answers = _optional(folder / "answer.json")
    templates = {x["id"]: x.get("template") for x in _optional(folder / "annotated.json") or []}
    items = []
    for entry in raw["data"]:
        key = str(entry["id"])
        gold = labels.get(key) if labels else None
        answer = answers.get(key) if answers else None
        items.append(
            Item(
                id=key,
                question=str(entry["question"]),
                gold=None if gold in (None, NULL) else str(gold),
                labelled=gold is not None,
                answer=None if answer in (None, NULL) else str(answer),
                template=templates.get(key),
            )
        )
    version = str(raw.get("version", "unknown"))
    return Dataset("ehrsql-2024", split, version, digest.hexdigest(), tuple(items))


def _load_2022(file: Path, split: str) -> Dataset:
    digest = hashlib.sha256()
    raw = _read(file, digest)
    if not isinstance(raw, list):
        raise EvaluationError(f"{file} is not EHRSQL's", "expected a list of questions")
    items = [
        Item(
            id=str(entry["id"]),
            question=str(entry["question"]),
            gold=None if entry.get("is_impossible") else str(entry.get("query")),
            template=entry.get("template") if not entry.get("is_impossible") else None,
        )
        for entry in raw
    ]
    return Dataset("ehrsql-2022", split, file.stem, digest.hexdigest(), tuple(items))


def _read(path: Path, digest: Any = None) -> Any:
    try:
        content = path.read_bytes()
        parsed = json.loads(content)
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except ValueError as error:
        raise EvaluationError(f"{path} is not JSON: {error}", "download it again") from None
    if digest is not None:
        digest.update(content)
    return parsed


def _optional(path: Path, digest: Any = None) -> Any:
    return _read(path, digest) if path.is_file() else None


# A value; formats and the names of tables that d_items links to are part of the template.
_STRING = re.compile(r"'(?:[^']|'')*'")
_KEPT = ("'%", "'chartevents'", "'inputevents'", "'outputevents'", "'start of ")

# How EHRSQL writes time filters, absolute and relative.
_TIMES: tuple[tuple[str, str], ...] = (
    (
        r"datetime\(([\w.]+),'start of (year|month|day)'\) = "
        r"datetime\(current_time,'start of \2','-\d+ \2'\)"
        r"( AND strftime\('%[md-]+', ?\1\) = '[\d-]+')?",
        r"TF(\1)",
    ),
    (r"datetime\(([\w.]+)\) (>=|<=|<|>) datetime\(current_time,'-\d+ \w+'\)", r"TF(\1)"),
    (r"strftime\('%Y(-%m)?(-%d)?', ?([\w.]+)\) (=|>=|<=|<|>) '[\d-]+'", r"TF(\3)"),
    (r"strftime\('%m(-%d)?', ?([\w.]+)\) = '[\d-]+'", r"TF(\2)"),
    (r"datetime\(([\w.]+)\) (>=|<=|<|>) datetime\('[^']+'\)", r"TF(\1)"),
)
# What else a template leaves open; the order matters.
_OPEN: tuple[tuple[str, str], ...] = (
    # the window between two events
    (r" AND datetime\((T\d\.\w+)\) BETWEEN datetime\((T\d\.\w+)\) AND datetime\(\2,'V'\)", ""),
    (
        r" AND datetime\((T\d\.\w+)(,'start of \w+')?\) = datetime\((T\d\.\w+)(,'start of \w+')?\)",
        "",
    ),
    (r" AND T\d\.hadm_id = T\d\.hadm_id", ""),
    (r", \w+\.hadm_id(?= FROM)", ""),
    # numbers and units
    (r"(subject_id|valuenum|C1|OFFSET|<=|>=|>|<|=|BETWEEN|AND|LIMIT) -?\d+(\.\d+)?\b", r"\1 N"),
    (r"\b(24|1) \* \(", "N * ("),
    (r"N \* \d+(/\d+)?\b", "N"),
    (r"strftime\('%Y(-%m)?(-%d)?'", "strftime('P'"),
    (r"\b(MIN|MAX|AVG|SUM)\(", "AGG("),
    # which visit, which of several
    (
        r"(FROM admissions WHERE admissions\.subject_id = N) AND admissions\.dischtime IS "
        r"(NOT NULL ORDER BY admissions\.admittime (ASC|DESC) LIMIT N( OFFSET N)?|NULL)",
        r"\1",
    ),
    (
        r" AND icustays\.outtime IS "
        r"(NOT NULL ORDER BY icustays\.intime (ASC|DESC) LIMIT N( OFFSET N)?|NULL)",
        "",
    ),
    (r"(ASC|DESC) LIMIT N( OFFSET N)?", "ORD"),
    (r"\bWHERE TF\([\w.]+\) AND ", "WHERE "),
    (r" (AND|WHERE) TF\([\w.]+\)", ""),
    (r" WHERE TF\([\w.]+\)", ""),
)


def skeleton(sql: str) -> str:
    """A gold query less what its template leaves open: values, numbers, units, time filters."""
    text = " ".join(sql.strip().rstrip(";").split())
    text = text.replace("( ", "(").replace(" )", ")")
    text = _apply(_TIMES, text)
    text = _STRING.sub(lambda m: m[0] if m[0].startswith(_KEPT) else "'V'", text)
    return _apply(_OPEN, text).strip()


def _apply(rules: tuple[tuple[str, str], ...], text: str) -> str:
    for pattern, to in rules:
        text = re.sub(pattern, to, text)
    return text
