from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.cli import checks
from ehrqa_cli.cli.llama_build import Probe

CONTENT = b"GGUF and some weights"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One shipped model (tiny) in a folder of its own, and an empty folder for pulled ones."""
    shipped = tmp_path / "shipped" / "text2sql"
    shipped.mkdir(parents=True)
    (shipped / "tiny.gguf").write_bytes(CONTENT)
    manifest = {"file": "tiny.gguf", "sha256": hashlib.sha256(CONTENT).hexdigest()}
    (shipped / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(modelstore, "models_root", lambda: tmp_path / "shipped")
    monkeypatch.setenv("EHRQA_MODELS", str(tmp_path / "pulled"))
    monkeypatch.setattr(modelstore, "_from_hub", lambda url: iter([CONTENT]))
    monkeypatch.setattr(modelstore, "_from_wheels", lambda wheels: iter([CONTENT]))
    return shipped


def test_list_tells_what_is_here_and_what_can_be_pulled(cli, folder):
    out = cli("models", "list").out
    assert "tiny  (shipped" in out and "smollm2-135m  (can be pulled" in out
    listed = json.loads(cli("models", "list", "--json").out)
    assert {"name", "state", "bytes", "licence", "sha256"} <= set(listed[0])


def test_pull_keeps_no_wrong_file(cli, folder, tmp_path):
    ran = cli("models", "pull", "smollm2-135m")
    assert (ran.code, ran.out) == (1, "")
    assert "SHA-256" in ran.err and str(tmp_path / "pulled") in ran.err
    assert not any(path.is_file() for path in tmp_path.glob("pulled/*"))


def test_pull_prints_the_path_of_a_right_file(cli, folder, tmp_path, monkeypatch):
    right = hashlib.sha256(CONTENT).hexdigest()
    toml = (Path(modelstore.__file__).parent / "models.toml").read_text()
    entry = next(e for e in modelstore.tomllib.loads(toml)["model"] if e["name"] == "smollm2-135m")
    monkeypatch.setattr(
        modelstore.tomllib, "loads", lambda text: {"model": [{**entry, "sha256": right}]}
    )
    ran = cli("models", "pull", "smollm2-135m")
    assert ran.code == 0, ran.err
    assert Path(ran.out.strip()).read_bytes() == CONTENT
    assert "is here already" in cli("models", "pull", "smollm2-135m").err


def test_verify_fails_on_a_corrupt_file(cli, folder):
    assert cli("models", "verify").code == 0
    (folder / "tiny.gguf").write_bytes(b"GGUF but other weights")
    ran = cli("models", "verify")
    assert ran.code == 1
    assert ran.out.startswith("corrupt  tiny")
    assert json.loads(cli("models", "verify", "--json").out) == {"tiny": "corrupt"}
    assert cli("models", "verify", "smollm2-135m").code == 1  # named, but not here
    assert cli("models", "pull", "tiny").code == 1  # a shipped model cannot be pulled


def test_unknown_names_are_errors(cli, folder):
    for command in ("pull", "verify"):
        ran = cli("models", command, "nonsense")
        assert ran.code == 1 and "nonsense" in ran.err


def states(out: str) -> dict[str, str]:
    return {item["check"]: item["status"] for item in json.loads(out)}


def test_doctor_is_content_with_a_sound_installation(cli, folder, ehr, monkeypatch):
    monkeypatch.setattr(checks.llama_build, "probe", lambda model: Probe(True, "1.0"))
    ran = cli("doctor", "--db", ehr, "--json")
    assert ran.code == 0, ran.out
    assert set(states(ran.out).values()) == {"ok"}
    assert "2 patients" in ran.out


def test_doctor_names_what_is_wrong_and_how_to_mend_it(cli, folder, tmp_path, monkeypatch):
    crash = Probe(False, "crashed with SIGSEGV", crashed=True)
    monkeypatch.setattr(checks.llama_build, "probe", lambda model: crash)
    (folder / "tiny.gguf").unlink()
    monkeypatch.setenv("EHRQA_LOG_FILE", str(folder / "manifest.json" / "log.db"))
    ran = cli("doctor", "--db", tmp_path / "none.sqlite", "--json")
    found = states(ran.out)
    assert ran.code == 1
    assert {found[name] for name in ("llama.cpp", "models", "database")} == {"fail"}
    assert found["answer log"] == "warn"
    for item in json.loads(ran.out):
        assert bool(item["hint"]) == (item["status"] != "ok"), item
    assert "to mend it: rebuild it with" in cli("doctor").out


def test_doctor_survives_its_own_checks(cli, folder, monkeypatch):
    def boom() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checks, "llama", boom)
    ran = cli("doctor", "--json")
    assert (ran.code, states(ran.out)["llama.cpp"]) == (1, "fail")
