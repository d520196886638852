"""Every installed plugin against its contract: the suite of `ehrqa plugins check`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ehrqa_cli.contract_suite.checking import State
from ehrqa_cli.contract_suite.plugins import Installed, check, installed

ROOT = Path(__file__).resolve().parents[2]
_PROJECTS = [tomllib.loads(p.read_text()) for p in ROOT.glob("plugins/*/pyproject.toml")]
# Their own tests run the suite (`make test-backends`, which installs them): Spark's starts Java.
ON_REQUEST = {
    p["project"]["name"] for p in _PROJECTS if p.get("tool", {}).get("ehrqa", {}).get("on-request")
}
PLUGINS = [plugin for plugin in installed() if plugin.package not in ON_REQUEST]


@pytest.mark.parametrize("plugin", PLUGINS, ids=[f"{p.group}:{p.name}" for p in PLUGINS])
def test_contract(plugin: Installed) -> None:
    outcomes = check(plugin)
    if outcomes[-1].state == State.NOT_RUN:
        pytest.skip(outcomes[-1].message)  # a server: `make test-backends`
    assert len(outcomes) > 1
    assert [f"{o.check}: {o.message}" for o in outcomes if o.state != State.PASSED] == []


def test_our_own_are_among_them() -> None:
    found = {f"{p.group}:{p.name}" for p in PLUGINS}
    assert {"ehrqa.database:sqlite", "ehrqa.text2sql:local", "ehrqa.note_reader:embedded"} <= found
    assert {"ehrqa.vqa:onnx", "ehrqa.vqa:oracle"} <= found
