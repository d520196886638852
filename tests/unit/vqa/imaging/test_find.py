"""Images under a folder by image id and study id."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.find import ImageRoot


def tree(folder: Path, *names: str) -> ImageRoot:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return ImageRoot(folder)


def test_the_tree_of_mimic_cxr(tmp_path: Path) -> None:
    base = "files/p10/p10000032/s50414267"
    root = tree(tmp_path, f"{base}/b-2.jpg", f"{base}/a-1.jpg", "files/p10/p10000032/s5/c.dcm")
    assert root.of_image("a-1") == tmp_path / base / "a-1.jpg"
    assert root.of_image("a-1.jpg") == root.of_image("a-1")
    assert root.of_study(50414267) == [tmp_path / base / n for n in ("a-1.jpg", "b-2.jpg")]
    assert root.of_study(5) == [tmp_path / "files/p10/p10000032/s5/c.dcm"]
    assert root.of_study(7) == [] and root.of_image("z") is None
    assert len(root) == 3


def test_a_flat_folder(tmp_path: Path) -> None:
    root = tree(tmp_path, "00000001_000.png", "s77.jpg", "78.DCM", "notes.txt", ".hidden.png")
    assert root.of_image("00000001_000.png") == tmp_path / "00000001_000.png"
    assert root.of_image("00000001_000.jpg") is None
    assert root.of_study(77) == [tmp_path / "s77.jpg"]
    assert root.of_study(78) == [tmp_path / "78.DCM"]
    assert root.of_image("notes") is None and root.of_image(".hidden") is None
    assert sorted(path.name for path in root) == ["00000001_000.png", "78.DCM", "s77.jpg"]


def test_names_with_dots_and_without_suffix(tmp_path: Path) -> None:
    root = tree(tmp_path, "1.2.840.113", "1.2.840.114.dcm", "IM0001", "DICOMDIR")
    assert root.of_image("1.2.840.113") == tmp_path / "1.2.840.113"
    assert root.of_image("1.2.840.114") == tmp_path / "1.2.840.114.dcm"
    assert root.of_image("IM0001") == tmp_path / "IM0001"
    assert len(root) == 3


def test_the_same_name_in_two_folders(tmp_path: Path) -> None:
    root = tree(tmp_path, "p2/1.png", "p1/1.png", "p1/1.jpg")
    assert root.of_image("1") == tmp_path / "p1/1.jpg"
    assert root.of_image("1.png") == tmp_path / "p1/1.png"
    assert root.of_image("p2/1.png") == root.of_image("p2\\1") == tmp_path / "p2/1.png"


@pytest.mark.parametrize("wanted", ["../secret", "../secret.png", "/etc/passwd", "", "..", "a/"])
def test_nothing_outside_the_folder_is_found(tmp_path: Path, wanted: str) -> None:
    tree(tmp_path, "secret.png")
    assert tree(tmp_path / "images", "b.png").of_image(wanted) is None


def test_the_folder_is_walked_once(tmp_path: Path) -> None:
    root = tree(tmp_path, "a.png")
    assert root.of_image("a") is not None
    tree(tmp_path, "b.png")
    assert root.of_image("b") is None and ImageRoot(tmp_path).of_image("b") is not None


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="is not a folder"):
        ImageRoot(tmp_path / "none").of_image("a")
