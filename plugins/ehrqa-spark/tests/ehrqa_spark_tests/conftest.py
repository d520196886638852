"""Spark where it is; the plugin itself where `make setup` has left it out."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if importlib.util.find_spec("ehrqa_spark") is None:
    sys.path.insert(0, str(Path(__file__).parents[2]))


def lacking() -> str:
    """Why Spark cannot run here; empty if it can."""
    if importlib.util.find_spec("pyspark") is None:
        return "needs pyspark: pip install -e plugins/ehrqa-spark"
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return "" if found else "needs Java 17: Debian's openjdk-17-jre-headless"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the developer's; two threads and little memory. Spark may leave nothing where
    the user stands, so each test stands in a folder of its own."""
    for name in [key for key in os.environ if key.startswith(("EHRQA_", "SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EHRQA_SPARK_THREADS", "2")
    monkeypatch.setenv("EHRQA_SPARK_MEMORY", "1g")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def ended() -> Iterator[None]:
    """Spark ends with the tests."""
    yield
    from ehrqa_spark import engine

    engine.stop()


@pytest.fixture
def spark() -> None:
    """Skip a test where Spark cannot run."""
    if why := lacking():
        pytest.skip(why)
