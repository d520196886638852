"""Image files under a folder, by image id or study id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ehrqa_cli.contracts.errors import ImageError

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".dcm", ".dicom"})
_STUDY = re.compile(r"s?(\d{1,18})")


class ImageRoot:
    """The images under ``folder``: MIMIC-CXR(-JPG)'s tree, where a study is a folder ``s50414267``,
    or any other tree of PNG, JPEG and DICOM files.

    The folder is walked once, when it is first asked for. Only what lies in it is ever found,
    whatever an id says.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[str, list[str]] | None = None  # stem to paths in the folder
        self._studies: dict[int, list[str]] = {}

    def of_image(self, image_id: str) -> Path | None:
        """The file with this stem, name or path in the folder; None without one.

        Where several have the stem, the first by path. Raises ImageError if there is no folder.
        """
        names = self._walked()
        wanted = PurePosixPath(image_id.replace("\\", "/").strip())
        for stem in dict.fromkeys((wanted.name, wanted.stem)):
            fits = [path for path in names.get(stem, ()) if _fits(PurePosixPath(path), wanted)]
            if fits:
                return self.folder / fits[0]
        return None

    def of_study(self, study_id: int) -> list[Path]:
        """The files in the study's folder, or else the file named by the study; by path."""
        names = self._walked()
        found = self._studies.get(study_id)
        if found is None:
            found = [p for stem in (f"s{study_id}", str(study_id)) for p in names.get(stem, ())]
        return [self.folder / path for path in found]

    def __iter__(self) -> Iterator[Path]:
        """All images, by path."""
        paths = (path for found in self._walked().values() for path in found)
        return (self.folder / path for path in sorted(paths))

    def __len__(self) -> int:
        return sum(map(len, self._walked().values()))

    def _walked(self) -> dict[str, list[str]]:
        if self._names is None:
            if not self.folder.is_dir():
                raise ImageError(
                    f"{self.folder} is not a folder", "name the folder of the images with --images"
                )
            self._names = {}
            for path in sorted(_images(self.folder)):
                self._names.setdefault(_stem(path), []).append(path)
                study = _study_of(path)
                if study is not None:
                    self._studies.setdefault(study, []).append(path)
        return self._names


def _images(folder: Path) -> Iterator[str]:
    """Paths in the folder of what may be an image by its name; no symbolic links to folders."""
    base = str(folder)
    for here, folders, files in os.walk(base):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = os.path.relpath(here, base).replace(os.sep, "/")
        prefix = "" if inside == "." else inside + "/"
        for name in files:
            if not name.startswith(".") and (_suffix(name) in _SUFFIXES or _bare(name)):
                yield prefix + name


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _bare(name: str) -> bool:
    """Whether ``name`` has no suffix; DICOM files may be named by UIDs, as 1.2.840.10008."""
    suffix = _suffix(name)[1:]
    return (not suffix or suffix.isdigit()) and name.upper() not in ("DICOMDIR", "LICENSE")


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if _bare(name) else os.path.splitext(name)[0]


def _fits(path: PurePosixPath, wanted: PurePosixPath) -> bool:
    """Whether ``path`` is what was asked for: the folders, if named, and the suffix, if named."""
    if wanted.name not in (path.name, _stem(path.as_posix())):
        return False
    folders = wanted.parts[:-1]
    return not folders or path.parts[:-1][-len(folders) :] == folders


def _study_of(path: str) -> int | None:
    """MIMIC-CXR: .../p10000032/s50414267/name.jpg, or p10000032/s50414267.jpg."""
    parts = path.split("/")
    for part in reversed(parts[:-1]):
        if part.startswith("s") and (found := _STUDY.fullmatch(part)):
            return int(found[1])
    return None
