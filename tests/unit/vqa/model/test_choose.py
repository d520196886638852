"""Which reader of images is used, by name or by path."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli import config, modelstore, registry
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Coverage
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.vqa import OracleGraphs
from ehrqa_cli.vqa.model import choose
from ehrqa_cli.vqa.model.choose import Wanted
from ehrqa_cli.vqa.model.source import ModelGraphs

from .films import CARD, FIXTURES, film, save


class Elsewhere(SceneGraphSource):
    """A plugin that wants to know where the images are."""

    name: ClassVar[str] = "elsewhere"

    def __init__(self, images: tuple[Path, ...] = ()) -> None:
        self.images = images

    def coverage(self) -> Coverage:
        return Coverage(())

    def read(self, studies):
        return {}

    def provenance(self):
        return {}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped models, empty at first."""
    root = tmp_path / "shipped"
    root.mkdir()
    monkeypatch.setattr(modelstore, "models_root", lambda: root)
    return root


def ship(root: Path, name: str) -> Path:
    folder = root / name
    shutil.copytree(FIXTURES, folder)
    return folder / "card.json"


def test_without_a_shipped_model_there_is_none(shipped: Path, tmp_path: Path):
    assert choose.find_card(None, tmp_path) is None
    assert choose.reader(Wanted(None, tmp_path)) is None


def test_the_shipped_model_is_the_default(shipped: Path, tmp_path: Path):
    card = ship(shipped, "vision")
    assert choose.find_card(None, tmp_path) == card
    assert choose.find_card("onnx", tmp_path) == card  # its plugin's name
    assert choose.find_card("vision", tmp_path) == card


def test_a_name_may_be_that_of_a_pulled_model(shipped: Path, tmp_path: Path):
    card = ship(tmp_path / "pulled", "big")
    assert choose.find_card("big", tmp_path / "pulled") == card


def test_a_path_may_be_that_of_the_card_its_folder_or_the_network(shipped, tmp_path):
    assert choose.find_card(str(CARD), tmp_path) == CARD
    assert choose.find_card(str(FIXTURES), tmp_path) == FIXTURES
    assert choose.find_card(str(FIXTURES / "vision.onnx"), tmp_path) == CARD


def test_what_is_no_model_is_said_with_those_there_are(shipped: Path, tmp_path: Path):
    ship(shipped, "vision")
    for wrong in ("visoin", "../vision", str(tmp_path)):
        with pytest.raises(UsageError, match="there is no vision model") as raised:
            choose.find_card(wrong, tmp_path / "pulled")
        assert "vision" in raised.value.hint


def test_a_third_partys_source_by_its_name(shipped, tmp_path: Path, monkeypatch):
    value = f"{__name__}:Elsewhere"
    made = EntryPoints([EntryPoint("elsewhere", value, registry.VQA)])
    monkeypatch.setattr(importlib.metadata, "entry_points", made.select)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Elsewhere)
    reader = choose.reader(Wanted("elsewhere", tmp_path, images=(tmp_path,)))
    assert reader is not None and isinstance(reader.source, Elsewhere)
    assert reader.source.images == (tmp_path,)


def test_our_own_sources_are_registered():
    assert registry.load(registry.VQA, "onnx", SceneGraphSource) is ModelGraphs
    assert registry.load(registry.VQA, "oracle", SceneGraphSource) is OracleGraphs


def test_the_cards_thresholds_are_used(tmp_path: Path):
    data = json.loads(CARD.read_text())
    data["findings"]["labels"][0]["threshold"] = 0.01
    shutil.copy(FIXTURES / "vision.onnx", tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(data))
    images = tmp_path / "films"
    save(images / "s7.png", film())
    for card, value in ((CARD, 0), (tmp_path / "card.json", 1)):
        reader = choose.reader(Wanted(str(card), tmp_path, images=(images,)))
        assert reader is not None
        assert reader.detail("Is there a pleural effusion?", 7).values == (value,)
        reader.close()


def test_several_folders_and_one_that_is_gone(tmp_path: Path):
    said: list[str] = []
    images = tmp_path / "films"
    save(images / "7.png", film())
    folders = (tmp_path / "gone", images)
    reader = choose.reader(Wanted(str(CARD), tmp_path, images=folders, warn=said.append))
    assert reader is not None and reader.graph(7) is not None and said == []
    reader = choose.reader(Wanted(str(CARD), tmp_path, images=folders[:1], warn=said.append))
    assert reader is not None and reader.graph(7) is None
    assert said == [f"there is no image folder {folders[0]}"]


def test_settings(tmp_path: Path):
    env = {"EHRQA_IMAGES": "~/films", "EHRQA_VISION": "big"}
    found = config.load({"EHRQA_CONFIG": "", **env})
    assert found.images == Path("~/films").expanduser() and found.vision == "big"
    (tmp_path / "c.toml").write_text('vision = "m/card.json"\nimages = "/x"\n')
    found = config.load({"EHRQA_CONFIG": str(tmp_path / "c.toml")})
    # Relative to the file, as every path in it.
    assert (found.images, found.vision) == (Path("/x"), str(tmp_path / "m" / "card.json"))
    assert config.Settings().vision is None


def test_a_shipped_model_is_listed_and_verified_by_its_manifest(shipped: Path):
    card = json.loads(ship(shipped, "vision").read_text())
    manifest = {"file": card["file"], "sha256": card["sha256"], "licence": "CC0", "about": "a test"}
    (shipped / "vision" / "manifest.json").write_text(json.dumps(manifest))
    (found,) = modelstore.shipped_models()
    assert (found.name, modelstore.verify(found)) == ("vision", "ok")
    (shipped / "vision" / card["file"]).write_bytes(b"")
    assert modelstore.verify(found) == "corrupt"
