"""The contract suite, which ships in ehrqa_cli, over every plugin of this package."""

from __future__ import annotations

import pytest

from ehrqa_cli.contract_suite import plugins as suite

PACKAGE = "ehrqa-template"
OURS = [plugin for plugin in suite.installed() if plugin.package == PACKAGE]


def test_it_is_installed() -> None:
    assert OURS, f"install it first: pip install -e . (no plugin is of {PACKAGE})"


@pytest.mark.parametrize("plugin", OURS, ids=lambda plugin: f"{plugin.group}:{plugin.name}")
def test_it_keeps_its_contract(plugin: suite.Installed) -> None:
    wrong = [outcome for outcome in suite.check(plugin) if outcome.state != "passed"]
    assert not wrong
