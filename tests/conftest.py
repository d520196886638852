"""Fixtures shared by all tests: the measured data (optional) and a private home for each test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# A test that imports onnxruntime by itself must not send events either (ehrqa_cli.onnx).
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
SHARED = Path(
    os.environ.get("EHRQA_SHARED", Path(__file__).resolve().parents[2] / "shared")
).resolve()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of measured data beside the checkout; a test that needs it skips without."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder} (set EHRQA_SHARED to its parent)")
    return folder


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the developer's own settings, answer log and pulled models."""
    home = tmp_path_factory.mktemp("home")
    for name in [key for key in os.environ if key.startswith("EHRQA_") and key != "EHRQA_SHARED"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    return home
