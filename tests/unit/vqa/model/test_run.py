"""The model at work on drawn films, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.model import card, fit, pipeline
from ehrqa_cli.vqa.model.network import COLOUR_LIMIT, VisionModel

from .films import CARD, FIXTURES, PLAIN, film, picture, save


@pytest.fixture(scope="module")
def model() -> VisionModel:
    return VisionModel.open(CARD, threads=1)


def logistic(mean: float) -> float:
    return float(1 / (1 + np.exp(-12 * (mean - 0.5))))


def test_each_output_is_that_of_its_picture(model: VisionModel):
    films = [film(), film(top=0.9), film(left=0.9)]
    plain, high, left = model.see([picture(f) for f in films])
    assert plain.pa == pytest.approx(logistic(0.6), abs=0.01)
    assert high.pa == pytest.approx(logistic(0.9), abs=0.01)
    assert left.findings[0] > plain.findings[0] + 0.1
    assert left.findings[2:] == pytest.approx(plain.findings[2:])
    assert plain.in_distribution and plain.distance is not None
    means = [float(f[80:, :80].mean()) / 255 for f in films]  # the third finding's quarter
    assert plain.findings[2] == pytest.approx(logistic(means[0]), abs=0.01)


def test_one_by_one_or_together_is_the_same(model: VisionModel):
    films = [picture(film(heart=h / 10)) for h in range(2, 9)]
    together = model.see(films)
    for one, alone in zip(together, (model.see([f])[0] for f in films), strict=True):
        assert one.findings == pytest.approx(alone.findings, abs=1e-6)
        assert one.pa == pytest.approx(alone.pa, abs=1e-6)
    assert model.see([]) == []


def test_temperature_and_bias(tmp_path: Path):
    data = json.loads(CARD.read_text())
    data["findings"]["labels"][3] |= {"temperature": 2.0, "bias": -1.0}
    data["view"]["positive"] = "AP"
    shutil.copy(FIXTURES / "vision.onnx", tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(data))
    plain = VisionModel.open(CARD).see([picture(film())])[0]
    tuned = VisionModel.open(tmp_path).see([picture(film())])[0]
    logit = np.log(plain.findings[3] / (1 - plain.findings[3]))
    assert tuned.findings[3] == pytest.approx(1 / (1 + np.exp(-(logit / 2 - 1))), abs=1e-5)
    assert tuned.findings[:3] == pytest.approx(plain.findings[:3])
    assert tuned.pa == pytest.approx(1 - (plain.pa or 0), abs=1e-6)


def test_what_is_strange_is_said(model: VisionModel):
    white = picture(np.full((64, 64), 255, np.uint8))
    tinted = picture(film(), colour=COLOUR_LIMIT + 1)
    edge = picture(film(), colour=COLOUR_LIMIT)
    found = model.see([white, tinted, edge])
    assert "unlike the X-rays" in found[0].strange
    assert "colour" in found[1].strange
    assert found[2].in_distribution


def coloured(path: Path, kind: str) -> float:
    """How far from grey a file is decoded to be."""
    grey = Image.fromarray(film(320)).convert("RGB")
    if kind == "stamp":  # a coloured outline and letters, as viewers burn in
        pen = ImageDraw.Draw(grey)
        pen.rectangle([90, 90, 180, 170], outline=(255, 0, 0), width=3)
        pen.text((5, 5), "PORTABLE 12:30", fill=(255, 255, 0))
    elif kind == "sepia":
        scale = np.asarray([1.0, 0.86, 0.67])
        grey = Image.fromarray((np.asarray(grey) * scale).astype(np.uint8))
    elif kind == "photo":  # sky, skin and grass, in soft tones
        across = np.linspace(0, 1, 320)[None, :, None]
        sky, grass = np.asarray([150, 180, 215]), np.asarray([95, 120, 70])
        made = (sky * (1 - across) + grass * across) * np.ones((320, 1, 1))
        grey = Image.fromarray(made.astype(np.uint8))
    grey.save(path, quality=60)
    return decode(path).colour


@pytest.mark.parametrize(
    ("kind", "accepted"), [("grey", True), ("stamp", True), ("sepia", False), ("photo", False)]
)
def test_the_limit_of_colour(tmp_path: Path, kind: str, accepted: bool):
    found = coloured(tmp_path / "x.jpg", kind)
    assert (found <= COLOUR_LIMIT) is accepted
    assert found < COLOUR_LIMIT / 1.5 or found > COLOUR_LIMIT * 1.5  # with room on both sides


def test_real_films_are_not_in_colour(shared_data: Path):
    paths = sorted((shared_data / "cxr" / "nih" / "images").glob("*.jpg"))[::40]
    assert paths and max(decode(path).colour for path in paths) <= COLOUR_LIMIT / 2


def test_a_plain_classifier_of_three_channels_and_a_batch_of_one():
    model = VisionModel.open(PLAIN)
    grey = np.full((40, 40), 102, np.uint8)  # 0.4 of white
    dark, light = model.see([picture(grey), picture(grey + 51)])
    # channel 1: (x - 0) / 1; channel 3: 1 - (x - 0.2) / 0.5
    assert dark.findings == pytest.approx([0.4, 0.6], abs=1e-3)
    assert light.findings == pytest.approx([0.6, 0.2], abs=1e-3)
    assert (dark.pa, dark.masks, dark.heat, dark.distance) == (None,) * 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sha256": "0" * 64}, "is corrupt"),
        ({"file": "none.onnx"}, "cannot read the model"),
        ({"findings": {"output": "scores"}}, "has no output 'scores', but findings"),
        ({"input": {"name": "x"}}, "takes image, not 'x'"),
        ({"input": {"size": [32, 32]}}, "does not run"),
        ({"view": {"index": 2}}, "output 'facts' has no column 2"),
        ({"findings": {"labels": [{"name": "A"}]}}, "gives 'findings' as 1x4"),
        ({"heat": {"output": "masks"}}, "gives 'masks' as 1x3x16x16"),
    ],
)
def test_a_card_that_does_not_fit_its_model(tmp_path: Path, change: dict, said: str):
    data = json.loads(CARD.read_text())
    for key, value in change.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) else value
    shutil.copy(FIXTURES / "vision.onnx", tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(data))
    with pytest.raises(ModelError, match=said) as raised:
        VisionModel.open(tmp_path).see([picture(film())])
    assert raised.value.hint


def test_a_file_that_is_no_network(tmp_path: Path):
    import hashlib

    (tmp_path / "vision.onnx").write_bytes(b"nothing")
    data = json.loads(CARD.read_text()) | {"sha256": hashlib.sha256(b"nothing").hexdigest()}
    (tmp_path / "card.json").write_text(json.dumps(data))
    with pytest.raises(ModelError, match="onnxruntime cannot load"):
        VisionModel.open(tmp_path).see([picture(film())])


def test_opening_and_running_is_quiet(capfd: pytest.CaptureFixture[str]):
    model = VisionModel.open(CARD)
    model.see([picture(film())])
    assert model.provider.endswith("ExecutionProvider")
    assert capfd.readouterr() == ("", "")


def spec_of(kind: str) -> card.Input:
    return card.Input("image", (16, 16), 1, 1.0, (0.0,), (1.0,), kind)


def test_a_wide_picture_stretched_padded_and_cropped():
    grey = np.zeros((40, 80), np.uint8)
    grey[:, 40:] = 200  # the right half
    wide = picture(grey)
    stretched, padded, cropped = (fit.pixels(wide, spec_of(k)) for k in ("stretch", "pad", "crop"))
    assert stretched[8].tolist() == [0] * 8 + [200] * 8
    assert padded[8].tolist() == [0] * 8 + [200] * 8
    assert padded[0].max() == 0 and padded[3].max() == 0 and padded[4].max() == 200
    assert cropped[0].tolist() == [0] * 8 + [200] * 8


@pytest.mark.parametrize("kind", ["stretch", "pad", "crop"])
@pytest.mark.parametrize("size", [(80, 40), (40, 80), (48, 48), (101, 37)])
def test_a_map_comes_back_to_where_it_was(kind: str, size: tuple[int, int]):
    width, height = size
    x, y = 0.5 * width, 0.5 * height
    grey = np.zeros((height, width), np.uint8)
    grey[int(y - 5) : int(y + 5), int(x - 5) : int(x + 5)] = 255
    film_ = picture(grey)
    grid = fit.pixels(film_, spec_of(kind)).astype(np.float32) / 255
    back = fit.unfitted(grid, fit.frame(film_, spec_of(kind)), size)
    assert back.shape == (height, width)
    rows, columns = np.nonzero(back > 0.25)
    assert abs(rows.mean() + 0.5 - y) < height / 16 and abs(columns.mean() + 0.5 - x) < width / 16


def test_files_are_looked_at_in_order_and_a_bad_one_ends_nothing(
    model: VisionModel, tmp_path: Path
):
    paths = [save(tmp_path / f"{k:02}.png", film(top=k / 40)) for k in range(20)]
    paths[7].write_bytes(paths[7].read_bytes()[:200])
    paths[11].unlink()
    found = list(pipeline.look(model, paths, workers=3, batch=4))
    assert [one.path for one in found] == paths
    assert [k for k, one in enumerate(found) if one.error] == [7, 11]
    assert found[7].sha256 == pipeline.digest(paths[7]) and found[11].sha256 == ""
    views = [one.seen.pa for one in found if one.seen]
    assert views == sorted(views) and len(set(views)) == 18


def test_no_more_is_decoded_than_is_needed(model: VisionModel):
    asked: list[Path] = []

    def decode_(path: Path):
        asked.append(path)
        return picture(film())

    looked = pipeline.look(model, (Path(str(k)) for k in range(1000)), batch=4, decode=decode_)
    next(looked)
    looked.close()
    assert 4 <= len(asked) <= 12
