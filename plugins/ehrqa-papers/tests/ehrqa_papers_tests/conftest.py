"""The command line run in this process, a home of its own for every test, and the tests' fakes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ehrqa_cli.cli import main
from ehrqa_cli.ehr.demo.make import build_demo

_CHECKOUT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(_CHECKOUT / "tests" / "unit"))  # the fakes of the engine's tests
SHARED = Path(os.environ.get("EHRQA_SHARED", _CHECKOUT.parent / "shared")).resolve()


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `ehrqa ARGS...` in this process."""

    def run(*args: object) -> Ran:
        capsys.readouterr()
        code = main.run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's own settings."""
    home = tmp_path_factory.mktemp("home")
    for name in [key for key in os.environ if key.startswith("EHRQA_") and key != "EHRQA_SHARED"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of measured data beside the checkout; a test that needs it skips without."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder} (set EHRQA_SHARED to its parent)")
    return folder


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """A made-up EHR of twenty patients."""
    path = tmp_path / "ehr.sqlite"
    build_demo(path, seed=3, patients=20)
    return path
