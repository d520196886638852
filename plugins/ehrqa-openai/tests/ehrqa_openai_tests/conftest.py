"""A model server in a thread, and settings kept from the developer's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ehrqa_openai.settings import Secret, Settings

from .fake import KEY, FakeServer

GGUF = "EHRQA_TEST_GGUF"  # a chat model for the tests against llama.cpp's own server


@pytest.fixture(autouse=True)
def private_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's own settings."""
    for name in [key for key in os.environ if key.startswith("EHRQA_") and key != GGUF]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    server = FakeServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def settings(fake: FakeServer) -> Settings:
    return Settings(fake.url, "m", key=Secret(KEY), timeout=20.0, retries=0)
