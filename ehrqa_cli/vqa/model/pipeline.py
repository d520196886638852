"""Many image files through a model: some are decoded while the model looks at others."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model.network import Seen, VisionModel
from ehrqa_cli.vqa.model.session import cores

BATCH = 8  # as fast as 16 and 32 on two cores, and half of the memory
Decode: TypeAlias = Callable[[Path], Picture]


@dataclass(frozen=True)
class Looked:
    """One file: what the model saw, or the ``error`` that kept it from looking."""

    path: Path
    sha256: str
    seen: Seen | None
    error: str = ""


def look(
    model: VisionModel,
    paths: Iterable[Path],
    *,
    workers: int | None = None,
    batch: int = BATCH,
    decode: Decode | None = None,
) -> Iterator[Looked]:
    """Every file in the order given; a file that cannot be decoded ends nothing.

    ``workers`` threads decode [default: the physical cores]. Raises ModelError.
    """
    decode = decode or _decoder(model)
    waiting: deque[tuple[Path, Future[Picture | str]]] = deque()
    left = iter(paths)
    pool = ThreadPoolExecutor(workers or cores(), thread_name_prefix="decode")
    try:
        while True:
            # Two batches ahead, no more: a decoded image is large.
            for path in islice(left, max(0, 3 * batch - len(waiting))):
                waiting.append((path, pool.submit(_decoded, decode, path)))
            if not waiting:
                return
            taken = [waiting.popleft() for _ in range(min(batch, len(waiting)))]
            yield from _seen(model, [(path, future.result()) for path, future in taken])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _decoder(model: VisionModel) -> Decode:
    from ehrqa_cli.vqa.imaging.decode import decode

    size = max(model.card.input.size)
    return lambda path: decode(path, size=size)


def _decoded(decode: Decode, path: Path) -> Picture | str:
    try:
        return decode(path)
    except EhrqaError as error:
        return error.message
    except Exception as error:  # a decoder may raise anything on a broken file
        return f"{path.name} cannot be decoded: {type(error).__name__}: {error}"


def _seen(model: VisionModel, batch: list[tuple[Path, Picture | str]]) -> Iterator[Looked]:
    pictures = [made for _, made in batch if isinstance(made, Picture)]
    seen = iter(model.see(pictures) if pictures else ())
    for path, made in batch:
        if isinstance(made, Picture):
            yield Looked(path, made.sha256, next(seen))
        else:
            yield Looked(path, digest(path), None, made)


def digest(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
