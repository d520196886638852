"""What a model sees of every image of a folder, as plain values, without any database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.vqa.model import anatomy, graph, pipeline
from ehrqa_cli.vqa.model.network import Seen, VisionModel

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".dcm", ".dicom"})
_MAGIC = ((0, b"\x89PNG\r\n\x1a\n"), (0, b"\xff\xd8\xff"), (128, b"DICM"))


@dataclass(frozen=True)
class Listed:
    """The images of a folder, sorted by their path; and of all else there the path and why it was
    left out."""

    images: list[Path]
    skipped: list[tuple[str, str]]


def images_in(folder: Path) -> Listed:
    """What is in a folder and those below it: an image is named as one, or begins as one.

    Of folders only those are listed that are hidden, links, closed, or named as an image. Raises
    UsageError when there is no such folder, or no image in it.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", "name the folder of images")
    images: list[Path] = []
    skipped: list[tuple[str, str]] = []

    def sort(path: Path, why: str) -> None:
        if why:
            skipped.append((path.relative_to(folder).as_posix(), why))
        elif not path.is_dir():
            images.append(path)

    def closed(error: OSError) -> None:
        sort(Path(error.filename), f"cannot be opened: {error.strerror}")

    for here, folders, files in os.walk(folder, onerror=closed):
        for name in folders:
            sort(Path(here, name), _not_entered(Path(here, name)))
        for name in files:
            sort(Path(here, name), _no_image(Path(here, name)))
        folders[:] = [name for name in folders if not name.startswith(".")]
    if not images:
        raise UsageError(
            f"there is no image in {folder}", "it should hold PNG, JPEG or DICOM files"
        )
    images.sort(key=lambda path: path.relative_to(folder).as_posix())
    return Listed(images, sorted(skipped))


def _not_entered(path: Path) -> str:
    """Why a folder has no part in it, or is no image though it is named as one; else nothing."""
    if path.name.startswith("."):
        return "is hidden"
    if path.is_symlink():
        return "is a link to a folder, which is not followed"
    return "is a folder" if path.suffix.lower() in SUFFIXES else ""


def _no_image(path: Path) -> str:
    """Why a file is not looked at; nothing for an image."""
    if path.name.startswith("."):
        return "is hidden"
    if not path.is_file():
        return "is a link to nothing" if path.is_symlink() else "is no ordinary file"
    if path.suffix.lower() in SUFFIXES or _begins_as_image(path):
        return ""
    return "is no PNG, JPEG or DICOM file"


def predictions(
    model: VisionModel,
    folder: Path,
    paths: list[Path],
    *,
    masks: Path | None = None,
    workers: int | None = None,
) -> Iterator[dict[str, Any]]:
    """One record for each file, in the order given; of a file that cannot be read its ``error``.

    ``masks`` is a folder for heart/STEM.png, left_lung/STEM.png and right_lung/STEM.png.
    Raises ModelError, or UsageError when a mask cannot be written.
    """
    describe = describer(model)
    for looked in pipeline.look(model, paths, workers=workers):
        name = looked.path.relative_to(folder).as_posix()
        if looked.seen is None:
            yield {"file": name, "error": looked.error}
            continue
        if masks is not None:
            _write_masks(model, looked.seen, masks, Path(name).with_suffix(".png"))
        yield {"file": name, **describe(looked.seen)}


def describer(model: VisionModel) -> Callable[[Seen], dict[str, Any]]:
    """Of what a model sees the fields of ``ehrqa images predict``."""
    card = model.card
    relations = graph.Relations(card)

    def describe(seen: Seen) -> dict[str, Any]:
        heart = graph.heart_ratio(card, seen)
        findings = graph.findings(card, seen, heart)
        of_relations = zip(relations.names, relations.probabilities(findings), strict=True)
        return {
            "findings": {
                label.name: _rounded(float(p))
                # where the ratio is not to be believed: what the network alone says
                for label, p in zip(card.labels, _filled(findings, seen.findings), strict=True)
            },
            "view": _pair("PA", "AP", seen.pa),
            "sex": _pair("F", "M", seen.female),
            "ctr": _rounded(heart or graph.heart_ratio(card, seen, always=True)),
            "mtr": None,
            "relations": [
                {"object": place or None, "attribute": name, "probability": _rounded(float(p))}
                for (place, name), p in of_relations
            ],
            "in_distribution": seen.in_distribution,
        }

    return describe


def _filled(findings: graph.Floats, instead: graph.Floats) -> graph.Floats:
    return np.where(np.isnan(findings), instead, findings)


def _pair(one: str, other: str, p: float | None) -> dict[str, float | None] | None:
    if p is None:
        return None
    return {other: _rounded(1 - p), one: _rounded(p)}


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(value, 6)


def _begins_as_image(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(132)
    except OSError:
        return False
    return any(head[at : at + len(magic)] == magic for at, magic in _MAGIC)


def _write_masks(model: VisionModel, seen: Seen, folder: Path, name: Path) -> None:
    if model.card.masks is None or seen.masks is None:
        return
    from PIL import Image

    found = anatomy.masks_of(seen.masks, model.card.masks, seen.where, seen.size)
    try:
        for kind, mask in found.items():
            target = folder / kind / name
            target.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask.astype(np.uint8) * 255).save(target)
    except OSError as error:
        raise UsageError(
            f"cannot write masks into {folder}: {error.strerror or error}", "check --masks"
        ) from None
