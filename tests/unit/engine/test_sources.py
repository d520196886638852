"""What a run rests on beside the tables is named by its content."""

from __future__ import annotations

import os
from pathlib import Path

from ehrqa_cli.engine.sources import images_in, sources_of

from .fakes import session


def test_a_folder_of_images_is_named_by_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    (folder / "p1").mkdir(parents=True)
    film = folder / "p1" / "a.png"
    film.write_bytes(b"one")
    first = images_in([folder])
    assert images_in([folder]) == first and set(first) == {str(folder)}
    about = film.stat()
    film.write_bytes(b"two")  # of the same size
    os.utime(film, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    second = images_in([folder])
    assert second != first
    (folder / "b.png").symlink_to(tmp_path / "nowhere")
    assert images_in([folder]) == second, "a link to nothing is no image"
    film.rename(folder / "a.png")
    assert images_in([folder]) not in (first, second)
    assert images_in([tmp_path / "none"]) == {str(tmp_path / "none"): None}


def test_there_is_nothing_to_name_without_notes_and_images() -> None:
    assert sources_of(session(graphs=None)) == {}
