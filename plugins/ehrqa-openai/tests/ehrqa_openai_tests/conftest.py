"""A model server in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from ehrqa_openai.settings import Secret, Settings

from .fake import KEY, FakeServer

GGUF = "EHRQA_TEST_GGUF"  # a chat model for the tests against llama.cpp's own server


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
