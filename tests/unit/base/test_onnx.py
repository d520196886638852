"""ONNX Runtime is told to be silent before it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

RUN = """
from ehrqa_cli.notes.find.embed import Embedder
Embedder.open().embed(["a line of a note"])
import os
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_nothing_is_kept_for_the_maker_of_onnxruntime(tmp_path: Path) -> None:
    places = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TMPDIR")
    env = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    env |= dict.fromkeys(places, str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.strip() == "1", done.stderr
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name] == []
