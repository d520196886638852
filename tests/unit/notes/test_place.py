from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli.notes.store import NoteStore, notes_path


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of notes of the EHR ``a/ehr.sqlite``, of the settings."""
    (tmp_path / "config.toml").write_text('db = "a/ehr.sqlite"\nnotes = "kept"\n')
    monkeypatch.setenv("EHRQA_CONFIG", str(tmp_path / "config.toml"))
    for name in ("a", "b", "kept"):
        (tmp_path / name).mkdir()
    return tmp_path / "kept"


def test_notes_lie_beside_the_ehr_unless_the_settings_name_a_folder(kept, tmp_path, monkeypatch):
    db = tmp_path / "a" / "ehr.sqlite"
    monkeypatch.chdir(tmp_path)
    with NoteStore.open(Path("a/ehr.sqlite"), create=True):
        assert notes_path(db).parent == kept
        assert notes_path(db).is_file()
    assert notes_path(tmp_path / "b" / "ehr.sqlite") == tmp_path / "b" / "ehr.sqlite.notes.sqlite"
    monkeypatch.delenv("EHRQA_CONFIG")
    assert notes_path(db) == tmp_path / "a" / "ehr.sqlite.notes.sqlite"


def test_two_ehrs_of_one_name_never_share_notes(kept, tmp_path, monkeypatch):
    first = notes_path(tmp_path / "a" / "ehr.sqlite")
    monkeypatch.setenv("EHRQA_DB", str(tmp_path / "b" / "ehr.sqlite"))
    second = notes_path(tmp_path / "b" / "ehr.sqlite")
    assert first.parent == second.parent == kept
    assert first != second
