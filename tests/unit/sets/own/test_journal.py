"""A set's folder: whose it is, and going on where a build was broken off."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.making.journal import Journal

Plain = dict[str, Any]


def counter(size: int, calls: list[Plain | None]) -> Callable[[Plain | None], Plain | None]:
    """Attempts 0, 1, ... whose content depends on the sum of those before."""
    state = {"n": 0, "sum": 0}

    def attempt(done: Plain | None) -> Plain | None:
        if state["n"] == size:
            return None
        calls.append(done)
        made = done or {"n": state["n"], "before": state["sum"], "text": "é" * 5}
        state["sum"] += made["n"]
        state["n"] += 1
        return made

    return attempt


def content(out: Path) -> bytes:
    return (out / ".build" / "attempts.jsonl").read_bytes()


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    Journal(tmp_path / "whole", {"seed": 1}).run(counter(9, []))
    return content(tmp_path / "whole")


@pytest.mark.parametrize("cut", [0, 1, 30, 47, 48, 100, 10_000])
def test_a_build_cut_at_any_byte_ends_in_the_same_bytes(
    cut: int, whole: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    Journal(out, {"seed": 1}).run(counter(9, []))
    (out / ".build" / "attempts.jsonl").write_bytes(whole[:cut])
    calls: list[Plain | None] = []
    assert Journal(out, {"seed": 1}).run(counter(9, calls)) == 9
    assert content(out) == whole
    assert sum(done is not None for done in calls) == whole[:cut].count(b"\n")


def test_what_follows_a_damaged_line_is_made_anew(whole: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    Journal(out, {}).run(counter(9, []))
    (out / ".build" / "attempts.jsonl").write_bytes(whole.replace(b'{"n": 4', b'{"n" 4'))
    Journal(out, {}).run(counter(9, []))
    assert content(out) == whole


def test_a_folder_of_another_set_is_refused_and_says_how_it_differs(tmp_path: Path) -> None:
    Journal(tmp_path, {"seed": 1, "size": 5}).claim()
    with pytest.raises(UsageError, match=r"another set \(different seed\)"):
        Journal(tmp_path, {"seed": 2, "size": 5})


def test_a_folder_with_anything_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch")
    with pytest.raises(UsageError, match="holds something else"):
        Journal(tmp_path, {})
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_nothing_is_written_before_the_build_begins(tmp_path: Path) -> None:
    Journal(tmp_path / "out", {})
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_line_and_the_build_goes_on_later(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    real = Path.open

    class Full(io.TextIOWrapper):
        left = 4

        def write(self, text: str) -> int:
            Full.left -= 1
            if Full.left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text)

    def opened(path: Path, mode: str = "r", **options: Any) -> Any:
        if mode == "a":
            return Full(real(path, "ab"), **options)
        return real(path, mode, **options)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(BuildError, match="No space left on device") as raised:
        Journal(out, {}).run(counter(9, []))
    assert "goes on" in raised.value.hint
    monkeypatch.undo()
    Journal(out, {}).run(counter(9, []))
    assert content(out) == whole


def test_two_builds_of_one_set_at_once_are_refused(tmp_path: Path) -> None:
    def other(done: Plain | None) -> Plain | None:
        with pytest.raises(BuildError, match="another process"):
            Journal(tmp_path / "out", {}).run(counter(1, []))
        return None

    Journal(tmp_path / "out", {}).run(other)
