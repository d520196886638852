"""Which reader of images is used: a card by path or name, or a plugin of the group ehrqa.vqa."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from ehrqa_cli import modelstore, registry
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.plugins import Database, SceneGraphSource
from ehrqa_cli.vqa.model import card
from ehrqa_cli.vqa.model.cache import GraphCache
from ehrqa_cli.vqa.model.network import VisionModel
from ehrqa_cli.vqa.model.source import ModelGraphs, OnImage, Parts
from ehrqa_cli.vqa.model.studies import Files, Folders
from ehrqa_cli.vqa.reader import Vqa

SHIPPED = "vision"  # the folder of models/ with the model that is used unless another is named
CARD = "card.json"


@dataclass(frozen=True)
class Wanted:
    """What a reader of images is to be made of.

    ``vision`` is a card's path, a model's name or a plugin's [default: the shipped model];
    ``images`` the folders of images, in the order in which they are searched; ``pulled`` the folder
    of models that are not shipped.
    """

    vision: str | None
    pulled: Path
    images: tuple[Path, ...] = ()
    db: Path | None = None
    database: Callable[[], Database | None] = lambda: None
    workers: int | None = None
    on_image: OnImage = lambda _done, _all: None
    warn: Callable[[str], None] = lambda _message: None


def find_card(vision: str | None, pulled: Path) -> Path | None:
    """The card of a model; None when nothing is named and none is shipped.

    Raises UsageError when what is named is no model.
    """
    roots = (modelstore.models_root(), pulled)
    if vision is None or vision == ModelGraphs.name:
        found = roots[0] / SHIPPED / CARD
        return found if found.is_file() else None
    path = Path(vision).expanduser()
    if path.suffix == ".onnx":
        path = path.with_name(CARD)
    if path.is_file() or (path / CARD).is_file():
        return path
    if Path(vision).name == vision:  # a name, not a path
        for root in roots:
            if (root / vision / CARD).is_file():
                return root / vision / CARD
    known = sorted({p.parent.name for root in roots for p in root.glob(f"*/{CARD}")})
    raise UsageError(
        f"there is no vision model '{vision}'",
        "name a card.json, or one of: " + ", ".join([*known, *_plugins()]),
    )


def model_graphs(wanted: Wanted) -> ModelGraphs | None:
    """The source over an ONNX model; None when nothing is named and none is shipped."""
    path = find_card(wanted.vision, wanted.pulled)
    if path is None:
        return None
    parts = Parts(
        files=lambda: _files(wanted),
        cache=lambda: _cache(wanted),
        database=wanted.database,
        on_image=wanted.on_image,
        workers=wanted.workers,
    )
    return ModelGraphs(VisionModel(card.load(path)), parts)


def reader(wanted: Wanted) -> Vqa | None:
    """A reader of images; None when nothing is named and none is shipped. Raises UsageError for
    a wrong card or name, PluginError for a broken plugin."""
    if wanted.vision in _plugins():
        return Vqa(_plugin(str(wanted.vision), wanted))
    source = model_graphs(wanted)
    return Vqa(source, source.thresholds()) if source is not None else None


def _plugins() -> list[str]:
    """Names of plugins that make their graphs of images by themselves."""
    ours = (ModelGraphs.name, "oracle")
    return [name for name in registry.names(registry.VQA) if name not in ours]


def _plugin(name: str, wanted: Wanted) -> SceneGraphSource:
    plugin = registry.load(registry.VQA, name, SceneGraphSource)  # type: ignore[type-abstract]
    # A plugin is made without arguments; one that asks for the folders or the database gets them.
    given: dict[str, Any] = {"images": wanted.images, "db": wanted.db}
    asked = signature(plugin).parameters
    made: Callable[..., SceneGraphSource] = plugin
    return made(**{key: value for key, value in given.items() if key in asked})


def _files(wanted: Wanted) -> Files:
    from ehrqa_cli.vqa.imaging.find import ImageRoot

    there = [folder for folder in wanted.images if folder.is_dir()]
    if wanted.images and not there:
        wanted.warn(f"there is no image folder {', '.join(map(str, wanted.images))}")
    return Folders([ImageRoot(folder) for folder in there])


def _cache(wanted: Wanted) -> GraphCache:
    cache = GraphCache.open(wanted.db)
    if cache.note:
        wanted.warn(cache.note)
    return cache
