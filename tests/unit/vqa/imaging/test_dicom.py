"""DICOM to pictures: photometry, windows, depths, padding, orientation, compression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydicom.dataset import Dataset
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    RLELossless,
)

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.decode import check, decode, dicom_header

from .conftest import Write, bare_dataset, film

FILM = film()
WIDE = FILM.astype(np.uint16) * 16  # 12 bit
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "images"
FULL = {"WindowCenter": 2048, "WindowWidth": 4096}


def off(path: Path, wanted: np.ndarray) -> float:
    """The largest difference between the decoded picture and ``wanted``."""
    check(path)
    return float(np.abs(decode(path).pixels.astype(float) - wanted).max())


def test_eight_bits_as_they_are(write_dicom: Write) -> None:
    path = write_dicom(FILM)
    picture = decode(path)
    assert np.array_equal(picture.pixels, FILM)
    assert (picture.width, picture.height) == (100, 120)


def test_monochrome1_is_inverted(write_dicom: Write) -> None:
    path = write_dicom(255 - FILM, PhotometricInterpretation="MONOCHROME1")
    assert np.array_equal(decode(path).pixels, FILM)


def test_a_window_is_applied(write_dicom: Write) -> None:
    path = write_dicom(WIDE, 12, WindowCenter=1600, WindowWidth=1600)
    wanted = np.clip((WIDE.astype(float) - 1599.5) / 1599 + 0.5, 0, 1) * 255
    assert off(path, wanted) <= 0.51


def test_the_first_of_several_windows(write_dicom: Write) -> None:
    path = write_dicom(WIDE, 12, WindowCenter=[2048, 100], WindowWidth=[4096, 10])
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_a_sigmoid_window(write_dicom: Write) -> None:
    path = write_dicom(WIDE, 12, WindowCenter=2000, WindowWidth=1500, VOILUTFunction="SIGMOID")
    assert off(path, 255 / (1 + np.exp(-4 * (WIDE - 2000.0) / 1500))) <= 0.51


def test_rescale_comes_before_the_window(write_dicom: Write) -> None:
    path = write_dicom(
        (WIDE // 2).astype(np.int16),
        12,
        RescaleSlope="2",
        RescaleIntercept="-1000",
        WindowCenter=1048,
        WindowWidth=4096,
    )
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_a_negative_slope_keeps_the_meaning_of_the_values(write_dicom: Write) -> None:
    path = write_dicom(4095 - WIDE, 12, RescaleSlope="-1", RescaleIntercept="4095", **FULL)
    assert off(path, WIDE * (255 / 4095)) <= 0.6


@pytest.mark.parametrize("depth", [8, 12])
def test_a_voi_lut_wins_over_a_window(write_dicom: Write, depth: int) -> None:
    item = Dataset()
    item.LUTDescriptor = [4096, 0, depth]
    steps = np.sqrt(np.arange(4096) / 4095) * (2**depth - 1)
    item.add_new("LUTData", "US", [int(step) for step in steps])
    path = write_dicom(WIDE, 12, VOILUTSequence=[item], WindowCenter=1, WindowWidth=2)
    assert off(path, np.sqrt(WIDE / 4095) * 255) <= 1.1


def test_without_a_window_the_values_are_stretched(write_dicom: Write) -> None:
    path = write_dicom(WIDE, 16)
    low, high = np.percentile(WIDE, (0.5, 99.5))
    assert off(path, np.clip((WIDE - low) / (high - low), 0, 1) * 255) <= 0.51


@pytest.mark.parametrize(
    "window", [{"WindowWidth": 0}, {"WindowWidth": 1, "WindowCenter": 60000}, {"WindowWidth": None}]
)
def test_a_window_that_shows_nothing_is_ignored(write_dicom: Write, window: dict) -> None:
    plain = decode(write_dicom(WIDE, 16)).pixels
    path = write_dicom(WIDE, 16, "b.dcm", **{"WindowCenter": 40, **window})
    assert np.array_equal(decode(path).pixels, plain) and np.ptp(plain) == 255


def test_signed_pixels(write_dicom: Write) -> None:
    signed = WIDE.astype(np.int16) - 2048
    path = write_dicom(signed, 16, WindowCenter=0, WindowWidth=4096)
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_unused_high_bits_are_ignored(write_dicom: Write) -> None:
    path = write_dicom(WIDE | 0x8000, 12, **FULL)
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_thirty_two_bits(write_dicom: Write) -> None:
    path = write_dicom(WIDE.astype(np.uint32) * 1000, 32)
    low, high = np.percentile(WIDE, (0.5, 99.5))
    assert off(path, np.clip((WIDE - low) / (high - low), 0, 1) * 255) <= 0.51


def test_padding_is_black_and_takes_no_part_in_the_range(write_dicom: Write) -> None:
    padded = WIDE.copy()
    padded[:, :20] = 65000
    low, high = np.percentile(WIDE[:, 20:], (0.5, 99.5))
    wanted = np.clip((WIDE - low) / (high - low), 0, 1) * 255
    wanted[:, :20] = 0
    tags = {"PixelPaddingValue": 65000}
    assert off(write_dicom(padded, 16, **tags), wanted) <= 0.51
    low, high = 4095 - high, 4095 - low
    padded[:, 20:] = 4095 - WIDE[:, 20:]
    tags["PhotometricInterpretation"] = "MONOCHROME1"
    assert off(write_dicom(padded, 16, **tags), wanted) <= 1.01


@pytest.mark.parametrize(
    ("directions", "stored"),
    [
        (["L", "F"], FILM),
        (["R", "F"], FILM[:, ::-1]),
        (["L", "H"], FILM[::-1]),
        (["R", "H"], FILM[::-1, ::-1]),
        (["F", "L"], FILM.T),
        (["F", "R"], np.rot90(FILM)),
        (["H", "L"], np.rot90(FILM, 3)),
        (["H", "R"], FILM[::-1, ::-1].T),
        (["P", "F"], FILM),
        (["A", "F"], FILM),
        (["A", "HL"], FILM[::-1]),
        (["L", "P"], FILM),
        (["", ""], FILM),
    ],
)
def test_patient_orientation(write_dicom: Write, directions: list[str], stored: np.ndarray) -> None:
    path = write_dicom(np.ascontiguousarray(stored), PatientOrientation=directions)
    picture = decode(path)
    assert np.array_equal(picture.pixels, FILM)
    assert (picture.width, picture.height) == (100, 120)


def test_image_orientation_where_patient_orientation_lacks(write_dicom: Write) -> None:
    path = write_dicom(
        np.ascontiguousarray(FILM[::-1, ::-1]), ImageOrientationPatient=[-1, 0, 0, 0, 0, 1]
    )
    assert np.array_equal(decode(path).pixels, FILM)


def test_of_several_frames_the_first(write_dicom: Write) -> None:
    both = np.stack([FILM, FILM // 2])
    path = write_dicom(FILM, NumberOfFrames=2, PixelData=both.tobytes())
    assert np.array_equal(decode(path).pixels, FILM)


def test_colour(write_dicom: Write) -> None:
    picture = decode(write_dicom(np.stack([FILM] * 3, axis=2)))
    assert np.array_equal(picture.pixels, FILM) and picture.colour == 0
    red = np.stack([FILM, FILM * 0, FILM * 0], axis=2)
    assert decode(write_dicom(red)).colour == pytest.approx(FILM.mean(), abs=1)


@pytest.mark.parametrize("syntax", [RLELossless, JPEG2000Lossless])
def test_compressed_without_further_packages(
    tmp_path: Path, write_dicom: Write, syntax: str
) -> None:
    path = tmp_path / "c.dcm"
    if syntax == RLELossless:
        dataset = bare_dataset(WIDE, 12, **FULL)
        dataset.compress(syntax, encoding_plugin="pydicom")
    else:
        dataset = _encapsulated(WIDE, "JPEG2000", syntax, 12)
    dataset.save_as(path, enforce_file_format=True)
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_baseline_jpeg(tmp_path: Path) -> None:
    path = tmp_path / "c.dcm"
    _encapsulated(FILM, "JPEG", JPEGBaseline8Bit, 8).save_as(path, enforce_file_format=True)
    assert off(path, FILM) < 12


def _encapsulated(pixels: np.ndarray, kind: str, syntax: str, bits: int) -> Dataset:
    from io import BytesIO

    from PIL import Image
    from pydicom.encaps import encapsulate

    stream = BytesIO()
    Image.fromarray(pixels).save(stream, kind, **({"no_jp2": True} if kind == "JPEG2000" else {}))
    dataset = bare_dataset(pixels, bits, **({} if bits == 8 else FULL))
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.PixelData = encapsulate([stream.getvalue()])
    dataset["PixelData"].VR = "OB"
    return dataset


def test_lossless_jpeg_with_the_extra() -> None:
    pytest.importorskip("libjpeg", reason="needs the extra: pip install 'ehrqa_cli[images]'")
    wanted = np.arange(16 * 32).reshape(16, 32) * 8 * 255 / 4095
    assert off(FIXTURES / "jpeg-lossless.dcm", wanted) <= 0.6


def test_lossless_jpeg_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from pydicom.pixels.decoders.base import Decoder

    monkeypatch.setattr(Decoder, "available_plugins", ("gdcm",))
    for read in (decode, check):
        with pytest.raises(ImageError, match=r"JPEG Lossless.*no decoder") as error:
            read(FIXTURES / "jpeg-lossless.dcm")
        assert "pip install 'ehrqa_cli[images]'" in error.value.hint


@pytest.mark.parametrize(
    ("syntax", "encoding"),
    [
        (DeflatedExplicitVRLittleEndian, {}),
        (ImplicitVRLittleEndian, {}),
        (ExplicitVRBigEndian, {"implicit_vr": False, "little_endian": False}),
    ],
)
def test_uncompressed_syntaxes(tmp_path: Path, syntax: str, encoding: dict) -> None:
    path = tmp_path / "d.dcm"
    dataset = bare_dataset(WIDE, 12, **FULL)
    dataset.file_meta.TransferSyntaxUID = syntax
    if encoding:
        dataset.PixelData = WIDE.byteswap().tobytes()
        dataset["PixelData"].VR = "OW"
    dataset.save_as(path, enforce_file_format=True)
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_without_preamble_and_meta(tmp_path: Path) -> None:
    path = tmp_path / "d.dcm"
    dataset = bare_dataset(WIDE, 12, **FULL)
    del dataset.file_meta
    dataset.save_as(path, implicit_vr=True, little_endian=True)
    assert path.read_bytes()[:4] == b"\x08\x00\x16\x00"
    assert off(path, WIDE * (255 / 4095)) <= 0.6


def test_header(write_dicom: Write) -> None:
    path = write_dicom(
        FILM, PatientID="101", PatientSex="F", StudyDate="21000202", ViewPosition="PA"
    )
    header = dicom_header(path)
    assert header is not None
    assert (header.patient, header.sex, header.date, header.view) == ("101", "F", "21000202", "PA")
    assert (header.study, header.time, header.age) == ("", "", "")
