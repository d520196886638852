"""What answers rest on beside the tables: the notes, their index and reader, the images, the
user's own concepts.

A run that was broken off is gone on with only where all of it is as it was.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ehrqa_cli.engine.session_parts import SessionParts


def sources_of(session: SessionParts) -> dict[str, Any]:
    """``notes``, ``images`` and ``concepts`` with what names their content, as plain values;
    nothing of what there is not. Raises what opening them raises."""
    found: dict[str, Any] = {}
    desk = session.notes
    if desk is not None:
        index = desk.finder.index
        found["notes"] = {
            "fingerprint": desk.fingerprint(),
            "index": index.state() if index else None,
            **desk.provenance(),
        }
    if session.graphs is not None:
        found["images"] = {**session.graphs.provenance(), **images_in(session.image_folders)}
    if session.own_concepts:
        found["concepts"] = concepts_of(session)
    return found


def concepts_of(session: SessionParts) -> list[dict[str, str]]:
    """The files of the user's own concepts, each {file, sha256}."""
    return [{"file": own.name, "sha256": own.sha256} for own in session.own_concepts]


def images_in(folders: Iterable[Path]) -> dict[str, str | None]:
    """Folders of images with a hash of the names, sizes and times of change of all files in them;
    None for a folder that is not there."""
    return {str(folder): _stamp(folder) if folder.is_dir() else None for folder in folders}


def _stamp(folder: Path) -> str:
    summed = hashlib.sha256()
    for name, about in _files(folder):
        told = f"{name}\0{about.st_size}\0{about.st_mtime_ns}\n"
        summed.update(told.encode("utf-8", "surrogateescape"))
    return summed.hexdigest()[:16]


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            try:
                yield os.path.relpath(path, folder), os.stat(path)
            except OSError:
                continue  # a link to nothing, or gone in this moment
