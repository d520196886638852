"""EHRSQL's files: the 2024 layout (folder per split) and the 2022 layout (one file per split)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import check_ids, read_json, read_objects

NULL = "null"
# Where the files of 2022 are: a folder of one database, or the repository, which has two.
_PARTS_2022 = (
    "",
    *(f"{top}{db}/" for top in ("", "ehrsql/", "dataset/ehrsql/") for db in ("mimic_iii", "eicu")),
)


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
    """Read ``split`` under ``data`` in either layout. Raises EvaluationError, which says what is
    expected where, for a wrong folder or split, and for half a download."""
    if not data.is_dir():
        kind = "is a file, not a folder" if data.exists() else "does not exist"
        raise EvaluationError(f"{data} {kind}", "give the folder of EHRSQL with --data DIR")
    for folder in (data / split, data):
        if (folder / "data.json").is_file():
            return _load_2024(folder, split)
    found = [data / f"{part}{split}.json" for part in _PARTS_2022]
    there = [path for path in found if path.is_file()]
    if len(there) > 1:
        raise EvaluationError(
            f"{data} holds EHRSQL of several databases",
            f"give one of them with --data: {' or '.join(str(path.parent) for path in there)}",
        )
    if there:
        return _load_2022(there[0], split)
    known = _splits(data)
    raise EvaluationError(
        f"no EHRSQL split '{split}' in {data}",
        f"its splits are {', '.join(known)}; name one with --split"
        if known
        else f"expected {split}/data.json and {split}/label.json (2024), or {split}.json (2022)"
        " there",
    )


def _splits(data: Path) -> list[str]:
    """The splits that a folder has, in either layout."""
    new = {path.parent.name for path in data.glob("*/data.json")}
    old = {path.stem for path in data.glob("*.json") if path.stem in ("train", "valid", "test")}
    return sorted(new | old)


def train_skeletons(data: Path, split: str) -> frozenset[str] | None:
    """Skeletons of the gold queries of ``train``; None without one, or when it is measured."""
    if split == "train":
        return None
    if not any((data / name).exists() for name in ("train", "train.json")):
        return None
    try:
        train = load_ehrsql(data, "train")
    except EvaluationError:
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
    path = folder / "data.json"
    entries = read_objects(path, ("id", "question")).content
    whole = read_json(path).content
    if not isinstance(whole, dict):
        raise EvaluationError(f"{path} is not EHRSQL's", "expected {version, data: []}")
    labels = _by_id(folder / "label.json")
    answers = _by_id(folder / "answer.json") or {}
    noted = folder / "annotated.json"
    notes = read_objects(noted, ("id",)).content if noted.is_file() else []
    templates = {str(note["id"]): note.get("template") for note in notes}
    items = []
    for entry in entries:
        key = str(entry["id"])
        gold = labels.get(key) if labels is not None else None
        if labels is not None and gold is None:
            raise EvaluationError(
                f"{folder / 'label.json'} has no label of question {key}",
                "it is of another version than data.json, or half a download; fetch both again",
            )
        answer = answers.get(key)
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
    check_ids([item.id for item in items], path)
    digest = hashlib.sha256(path.read_bytes())
    if labels is not None:
        digest.update((folder / "label.json").read_bytes())
    version = str(whole.get("version", "unknown"))
    return Dataset("ehrsql-2024", split, version, digest.hexdigest(), tuple(items))


def _load_2022(file: Path, split: str) -> Dataset:
    source = read_objects(file, ("id", "question"))
    items = [_item_2022(entry, file) for entry in source.content]
    check_ids([item.id for item in items], file)
    databases = {str(entry["db_id"]) for entry in source.content if entry.get("db_id")}
    version = " ".join([*sorted(databases), file.stem])
    return Dataset("ehrsql-2022", split, version, source.sha256, tuple(items))


def _item_2022(entry: Mapping[str, Any], file: Path) -> Item:
    impossible = bool(entry.get("is_impossible"))
    query = entry.get("query")
    if not impossible and (not isinstance(query, str) or not query.strip()):
        raise EvaluationError(
            f"question {entry['id']} of {file} has no query and is not said to be impossible",
            "expected {id, question, query, is_impossible, ...}; fetch it again",
        )
    # The tag names the template; ``template`` holds it with its values filled in.
    template = entry.get("q_tag") or entry.get("template")
    return Item(
        id=str(entry["id"]),
        question=str(entry["question"]),
        gold=None if impossible else str(query),
        template=None if impossible or template is None else str(template),
    )


def _by_id(path: Path) -> dict[str, Any] | None:
    """A JSON object by question id; None where there is no such file."""
    if not path.is_file():
        return None
    found = read_json(path).content
    if not isinstance(found, dict):
        raise EvaluationError(f"{path} is not EHRSQL's", "expected {id: SQL or null, ...}")
    return found


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
