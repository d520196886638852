"""Files of a benchmark that a user has fetched: found by split, read, hashed, and said clearly
when they are not what is expected (a wrong folder, half a download, a page of HTML)."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError

_POINTER = b"version https://git-lfs"
# What of the package decides an answer beside the weights, which have hashes of their own.
_CODE = frozenset({".py", ".toml", ".txt", ".json", ".sql", ".tsv"})


@dataclass(frozen=True)
class ReadFile:
    """One file that was read: what stands in it and the SHA-256 of its bytes."""

    path: Path
    content: Any
    sha256: str


def find_file(data: Path, names: Sequence[str], what: str) -> Path:
    """The first of ``names`` that is a file under ``data``. Raises EvaluationError, with all of
    them in its hint."""
    if not data.is_dir():
        kind = "is a file, not a folder" if data.exists() else "does not exist"
        raise EvaluationError(f"{data} {kind}", f"give the folder of {what} with --data DIR")
    for name in names:
        if (data / name).is_file():
            return data / name
    raise EvaluationError(f"{data} holds no {what}", f"expected one of {', '.join(names)} there")


def read_objects(path: Path, needed: Sequence[str]) -> ReadFile:
    """A JSON file or JSON Lines of objects, as a list; each must have the ``needed`` fields.

    Raises EvaluationError, which says in which line or at which question something is wrong.
    """
    content = read_bytes(path)
    found = _lines(path, content) if _is_lines(path) else _whole(path, content)
    if isinstance(found, dict):  # {"data": [...]}, as EHRSQL wraps its questions
        found = next((v for v in found.values() if isinstance(v, list)), None)
    if not isinstance(found, list) or not found:
        raise EvaluationError(f"{path} holds no questions", "expected a list of objects")
    for number, item in enumerate(found, 1):
        lacking = [n for n in needed if not isinstance(item, dict) or n not in item]
        if lacking:
            raise EvaluationError(
                f"question {number} of {path} has no {' nor '.join(lacking)}",
                "check that --data is the folder of this benchmark, or fetch it again",
            )
    return ReadFile(path, found, hashlib.sha256(content).hexdigest())


def learnt_from(
    data: Path, split: str, names: Callable[[str], Sequence[str]], needed: Sequence[str]
) -> list[tuple[str, ReadFile]]:
    """What baselines may learn from where ``split`` is measured, each with what names it: train,
    and for test valid too, as the papers have it. Raises EvaluationError."""
    found = []
    for other in {"valid": ("train",), "test": ("train", "valid")}.get(split, ()):
        path = next((data / name for name in names(other) if (data / name).is_file()), None)
        if path is not None:
            source = read_objects(path, needed)
            found.append((f"{other} ({source.sha256[:12]})", source))
    return found


def read_json(path: Path) -> ReadFile:
    """A JSON file of any shape. Raises EvaluationError."""
    content = read_bytes(path)
    return ReadFile(path, _whole(path, content), hashlib.sha256(content).hexdigest())


def check_ids(ids: Sequence[str], path: Path) -> None:
    """Raises EvaluationError when two questions have the same id: records are kept by it."""
    twice = next((key for key, n in Counter(ids).items() if n > 1), None)
    if twice is not None:
        raise EvaluationError(
            f"{path} has two questions with the id {twice}", "each needs an id of its own"
        )


def read_bytes(path: Path, kind: str = "JSON") -> bytes:
    """The bytes of a file of this ``kind``. Raises EvaluationError when it cannot be read, is
    empty, or is what one gets in place of a file: a Git LFS pointer, a web page."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    if not content.strip():
        raise EvaluationError(f"{path} is empty", "fetch it again")
    if content.startswith(_POINTER):
        raise EvaluationError(f"{path} is a Git LFS pointer, not the file", "run `git lfs pull`")
    if content.lstrip()[:1] == b"<":
        raise EvaluationError(
            f"{path} is a web page, not {kind}", "log in where the data is got, and fetch it again"
        )
    return content


def hash_file(path: Path) -> str:
    """The SHA-256 of a file. Raises EvaluationError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file, or leave it as it was: a program that is ended here leaves no half of one.

    Raises OSError.
    """
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


@cache
def code_hash() -> str:
    """The start of the SHA-256 of this program's own files, less weights: what the header of a run
    names it by, since a version number stays while files change."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.suffix in _CODE and name.parts[0] != "_models":
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{name.as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]


def _is_lines(path: Path) -> bool:
    return path.suffix in (".jsonl", ".ndjson")


def _whole(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        raise EvaluationError(
            f"{path} is not JSON: {_said(error)}", "it may be half a download; fetch it again"
        ) from None


def _lines(path: Path, content: bytes) -> list[Any]:
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line.decode("utf-8-sig")))
        except ValueError as error:
            raise EvaluationError(
                f"line {number} of {path} is not JSON: {_said(error)}",
                "it may be half a download; fetch it again",
            ) from None
    return found


def _said(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return str(error).split(": line")[0].lower()
