"""PNG and JPEG to pictures: depth, colour, orientation, polarity, size."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ehrqa_cli.vqa.imaging.decode import check, decode

from .conftest import film

FILM = film()


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "LA"])
def test_a_grey_png_of_any_mode_gives_its_pixels(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(FILM).convert(mode).save(path)
    picture = decode(path)
    assert np.array_equal(picture.pixels, FILM)
    assert (picture.width, picture.height, picture.colour) == (100, 120, 0.0)
    assert picture.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert picture.path == path


def test_one_bit_png(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(FILM > 100).save(path)
    assert np.array_equal(decode(path).pixels, (FILM > 100) * np.uint8(255))


@pytest.mark.parametrize(("factor", "bits"), [(257, 16), (16, 12), (4, 10), (64, 14)])
def test_sixteen_bit_png_is_scaled_by_the_depth_that_it_uses(
    tmp_path: Path, factor: int, bits: int
) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(FILM.astype(np.uint16) * factor).save(path)
    wanted = FILM * (factor * 255 / (2**bits - 1))
    assert np.abs(decode(path).pixels - wanted).max() <= 0.51


def test_sixteen_bit_png_of_zeros(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(np.zeros((9, 8), dtype=np.uint16)).save(path)
    assert not decode(path).pixels.any()


def test_transparent_parts_are_black(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    opacity = np.full_like(FILM, 255)
    opacity[:40] = 0
    white = np.full_like(FILM, 255)
    Image.merge("LA", [Image.fromarray(white), Image.fromarray(opacity)]).save(path)
    pixels = decode(path).pixels
    assert not pixels[:40].any() and (pixels[40:] == 255).all()


def test_colour_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    flat = np.empty((40, 50, 3), dtype=np.uint8)
    flat[:] = (200, 100, 40)
    Image.fromarray(flat).save(path)
    assert decode(path).colour == 160


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_exif_orientation_is_undone(tmp_path: Path, orientation: int, suffix: str) -> None:
    # how a camera would store the upright film: the inverse of what EXIF asks a viewer to do
    stored = {
        1: FILM,
        2: FILM[:, ::-1],
        3: FILM[::-1, ::-1],
        4: FILM[::-1],
        5: FILM.T,
        6: np.rot90(FILM),
        7: FILM[::-1, ::-1].T,
        8: np.rot90(FILM, 3),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif, quality=98)
    picture = decode(path)
    assert (picture.width, picture.height) == (100, 120)
    assert np.abs(picture.pixels.astype(int) - FILM).max() < 12


def test_a_damaged_exif_block_loses_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    Image.fromarray(FILM).save(path, exif=b"Exif\0\0MM\0*\0\0\xff\xff")
    assert decode(path).pixels.shape == FILM.shape


def test_the_name_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    Image.fromarray(FILM).save(path, "png")
    assert np.array_equal(decode(path).pixels, FILM)
    check(path)


def test_a_negative_is_turned_positive(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(255 - FILM).save(path)
    assert np.array_equal(decode(path).pixels, FILM)


def test_a_coloured_picture_is_never_taken_for_a_negative(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    blue = np.stack([255 - FILM, 255 - FILM, np.zeros_like(FILM)], axis=2)
    Image.fromarray(blue).save(path)
    assert decode(path).pixels[0, 0] > 150  # the film's corner is dark


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_size_reduces_but_not_below(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(FILM).resize((1250, 1500)).save(path)
    picture = decode(path, size=224)
    assert (picture.width, picture.height) == (1250, 1500)
    assert 224 <= min(picture.pixels.shape) < 2 * 224
    whole = Image.fromarray(FILM).resize(picture.pixels.shape[::-1])
    assert np.abs(picture.pixels.astype(int) - np.asarray(whole)).mean() < 2
    assert min(decode(path, size=5000).pixels.shape) == 1250


def test_a_large_jpeg_is_decoded_at_a_fraction_of_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    Image.fromarray(FILM).resize((2500, 3000)).convert("RGB").save(path)

    def seconds(size: int | None) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            decode(path, size=size)
            times.append(time.perf_counter() - start)
        return min(times)

    assert seconds(224) < 0.6 * seconds(None)


def _thumbnails(folder: Path) -> list[np.ndarray]:
    files = sorted(folder.iterdir())[::4]
    return [np.asarray(Image.open(path).convert("L")) for path in files]


def test_real_images_are_not_taken_for_negatives(shared_data: Path) -> None:
    """At least 99.5% of real images stay as they are; most negatives are found."""
    from ehrqa_cli.vqa.imaging.polarity import is_negative

    images = _thumbnails(shared_data / "cxr" / "nih" / "images")
    images += _thumbnails(shared_data / "cxr" / "heart-lung-masks" / "images")
    assert np.mean([is_negative(pixels) for pixels in images]) <= 0.005
    assert np.mean([is_negative(255 - pixels) for pixels in images]) >= 0.9
