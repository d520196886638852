"""The files that stand for servers."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import DatabaseError, UsageError
from ehrqa_cli.ehr.backend import servers
from ehrqa_cli.ehr.open import address_of, backend_of, path_of

ADDRESS = "postgresql://reader@ward-7.example:5433/ehr?sslmode=require"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own, and two plugins whose databases are no files."""
    monkeypatch.setattr(servers, "folder", lambda: tmp_path / "data" / "servers")
    schemes = {"postgresql": "postgres", "spark": "spark"}
    monkeypatch.setattr(registry, "database_of", schemes.get)
    monkeypatch.setattr(registry, "load", lambda group, name, contract: contract)


def test_an_address_has_a_path_that_leads_back_to_it() -> None:
    path = path_of(ADDRESS)
    assert path.is_file()
    assert path.name.startswith("ehr@ward-7.example-")
    assert address_of(path) == ADDRESS
    assert backend_of(address_of(path)) == ("postgres", ADDRESS)
    assert backend_of(path) == ("postgres", ADDRESS)
    assert path_of(ADDRESS) == path
    assert path_of(str(path)) == path  # as a user may name it too
    assert path_of(ADDRESS.replace("5433", "5434")) != path


def test_it_is_called_by_its_address(tmp_path: Path) -> None:
    assert servers.called(path_of(ADDRESS)) == "ehr@ward-7.example"
    assert servers.called(tmp_path / "mine.sqlite") == "mine.sqlite"


def test_a_path_behind_a_backend_s_name_is_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ehr").mkdir()
    monkeypatch.chdir(tmp_path)
    assert address_of(path_of("spark:ehr")) == f"spark:{tmp_path / 'ehr'}"
    assert path_of(f"spark:{tmp_path / 'ehr'}") == path_of("spark:ehr")
    assert address_of(path_of("spark:s3a://bucket/ehr")) == "spark:s3a://bucket/ehr"


def test_only_its_owner_can_read_it() -> None:
    path = path_of(ADDRESS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://reader:hunter2@host/ehr",
        "postgresql://reader:@host/ehr",
        "postgresql://reader:hunter2/x@host/ehr",
        "postgresql://reader:a?hunter2@host/ehr",
        "postgresql://host/ehr?password=hunter2",
        "postgresql://host/ehr?%70assword=hunter2",
        "postgresql://host/ehr?sslmode=require&sslpassword=hunter2",
        "spark:sc://host:15002/;token=hunter2",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError) as raised:
        path_of(address)
    assert "hunter2" not in str(raised.value) + (raised.value.hint or "")
    assert "password" in raised.value.message
    assert not servers.folder().exists()


def test_what_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(servers, "folder", lambda: tmp_path / "file" / "servers")
    with pytest.raises(DatabaseError, match="cannot write"):
        path_of(ADDRESS)


@pytest.mark.parametrize(
    "text", ["", "ehrqa server 1", "ehrqa server 2\nspark:x\n", "\udcff", "x" * 10_000]
)
def test_any_other_file_stands_for_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"x{servers.SUFFIX}"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert servers.address_in(path) is None
    assert address_of(path) == path
