"""Lets these tests use the fakes of the engine's tests."""

import sys
from pathlib import Path

import pytest

from ehrqa_cli.ehr.demo.make import build_demo

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests" / "unit"))


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """A made-up EHR of twenty patients."""
    path = tmp_path / "ehr.sqlite"
    build_demo(path, seed=3, patients=20)
    return path
