"""Masks: cleaned, measured, cut into zones."""

from __future__ import annotations

import csv
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ehrqa_cli.vqa.model import anatomy, card, fit

HEART, LEFT, RIGHT = anatomy.HEART, anatomy.LEFT, anatomy.RIGHT


def flooded(mask: np.ndarray, start: tuple[int, int]) -> set[tuple[int, int]]:
    """Pixels connected to one by sides, one at a time."""
    seen, todo = {start}, deque([start])
    while todo:
        y, x = todo.popleft()
        for at in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            inside = 0 <= at[0] < mask.shape[0] and 0 <= at[1] < mask.shape[1]
            if inside and at not in seen and mask[at]:
                seen.add(at)
                todo.append(at)
    return seen


def parts_of(mask: np.ndarray) -> list[set[tuple[int, int]]]:
    left = {tuple(at) for at in np.argwhere(mask).tolist()}
    found = []
    while left:
        found.append(flooded(mask, min(left)))
        left -= found[-1]
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.2, 0.9), st.integers(0, 10_000))
def test_cleaning_keeps_a_largest_part_and_fills_its_holes(h, w, share, seed):
    mask = np.random.default_rng(seed).random((h, w)) < share
    found = anatomy.clean(mask)
    parts = parts_of(mask)
    if not parts:
        assert not found.any()
        return
    largest = max(map(len, parts))
    kept = {tuple(at) for at in np.argwhere(found & mask).tolist()}
    assert any(part <= kept for part in parts if len(part) == largest)
    padded = np.pad(~found, 1, constant_values=True)
    assert len(flooded(padded, (0, 0))) == int(padded.sum())  # no hole is left
    assert len(parts_of(found)) == 1


def chest(heart: tuple[int, int] = (40, 80)) -> dict[str, np.ndarray]:
    """100 x 120 pixels; the lungs reach from column 10 to 109."""
    masks = {name: np.zeros((100, 120), bool) for name in (HEART, LEFT, RIGHT)}
    masks[RIGHT][10:70, 10:45] = True
    masks[LEFT][10:70, 75:110] = True
    masks[HEART][50:80, heart[0] : heart[1]] = True
    return masks


def test_the_ratio_is_of_the_widest_extents():
    assert anatomy.ratio(chest((40, 80))) == pytest.approx(0.40)
    assert anatomy.ratio(chest((30, 91))) == pytest.approx(0.61)


@pytest.mark.parametrize("name", [HEART, LEFT, RIGHT])
def test_no_ratio_without_a_part(name: str):
    masks = chest()
    masks[name] = np.zeros_like(masks[name])
    assert anatomy.ratio(masks) is None
    assert 0 <= anatomy.rough_ratio(masks) < 2


def test_no_ratio_of_what_is_no_chest():
    masks = chest()
    masks[HEART][:] = True  # a heart everywhere
    assert anatomy.ratio(masks) is None
    assert anatomy.ratio(chest((60, 70))) is None  # a tenth of the thorax
    outside = chest()
    outside[HEART] = np.roll(outside[HEART], 55, axis=1)  # beside the thorax
    assert anatomy.ratio(outside) is None
    empty = {name: np.zeros((9, 9), bool) for name in chest()}
    assert anatomy.rough_ratio(empty) == 0.0


def test_zones_are_thirds_of_each_lungs_height():
    masks = chest()
    assert anatomy.zone_rows(masks[LEFT]) == (10, 30, 50, 70)
    where = {(15, 20): "right upper lung zone", (35, 90): "left mid lung zone"}
    where |= {(69, 109): "left lower lung zone", (75, 60): "cardiac silhouette", (5, 5): None}
    for (y, x), name in where.items():
        assert anatomy.place_at(masks, x, y) == name


def test_maps_become_masks_of_the_pictures_size():
    spec = card.Masks("m", "none", (LEFT, HEART, RIGHT), 0.5)  # in the model's order
    maps = np.zeros((3, 16, 16), np.float32)
    maps[1, 4:12, 2:6] = 1
    maps[1, 0, 15] = 1  # a speck
    found = anatomy.masks_of(maps, spec, fit.Frame(), (160, 320))
    assert {m.shape for m in found.values()} == {(320, 160)}
    rows, columns = np.nonzero(found[HEART])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (80, 239, 20, 59)
    assert not found[LEFT].any() and not found[RIGHT].any()


def test_hand_made_masks_give_the_published_ratio(shared_data: Path):
    root = shared_data / "cxr" / "heart-lung-masks"
    with (root / "ctr.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ctr"]][::4]
    spec = card.Masks("m", "none", (HEART, LEFT, RIGHT), 0.5)
    wrong = []
    for row in rows:
        stem = Path(row["file"]).stem
        maps = []
        for name in spec.labels:
            with Image.open(root / name / f"{stem}.png") as image:
                small = image.convert("L").resize((112, 112), Image.Resampling.BOX)
                maps.append(np.asarray(small, np.float32) / 255)
        masks = anatomy.masks_of(np.stack(maps), spec, fit.Frame(), (256, 256))
        ratio = anatomy.ratio(masks)
        assert ratio is not None, stem
        wrong.append(abs(ratio - float(row["ctr"])))
    assert len(wrong) > 30 and np.mean(wrong) < 0.005
