from __future__ import annotations

from pathlib import Path

from ehrqa_papers.versions import code_hash

from ehrqa_cli.evaluate import files


def test_the_hash_is_of_both_packages_files(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_text("1")
    first = code_hash(tmp_path)
    assert first == code_hash(tmp_path) != code_hash()
    (tmp_path / "notes.md").write_text("no code")
    assert code_hash(tmp_path) == first
    (tmp_path / "part" / "words.toml").write_text("a = 1")
    second = code_hash(tmp_path)
    monkeypatch.setattr(files, "code_hash", lambda: "0" * 16)
    assert len({first, second, code_hash(tmp_path)}) == 3
