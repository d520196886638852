"""The Python API, as docs/python.md shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ehrqa_cli
from ehrqa_cli.ehr.demo.make import build_demo

DOCS = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_example_of_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("llama_cpp")
    build_demo(tmp_path / "ehr.sqlite", patients=20)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ehrqa_cli.llama.THREADS", 1)
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    exec(compile(code, str(DOCS), "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "answered 20"
    assert said[1].startswith("q1 20 ")
    assert said[2].startswith("q2 ")
    assert said[3].startswith("q3 I don't know: ")


def test_importing_it_imports_nothing():
    code = (
        "import sys, ehrqa_cli; assert 'open_session' in dir(ehrqa_cli);"
        "print([m for m in sys.modules if m.startswith('ehrqa_cli.') or m == 'numpy'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_every_name_is_there_and_no_other():
    for name in ehrqa_cli.__all__:
        assert getattr(ehrqa_cli, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ehrqa_cli.nonsense  # noqa: B018
