"""Every installed plugin against its contract, one test a check: the suite of `plugins check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contract_suite import database
from ehrqa_cli.contract_suite.checking import named
from ehrqa_cli.contract_suite.plugins import GROUPS, Installed, installed, lacking

PLUGINS = installed()
CASES = [(p, check) for p in PLUGINS for check in GROUPS[p.group].checks]


@pytest.fixture(scope="session")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What is checked by plugin, made once."""
    made: dict[str, Any] = {}
    with ExitStack() as stack:
        made["stack"] = stack
        yield made


def subject(plugin: Installed, made: dict[str, Any], folder: Path) -> Any:
    key = f"{plugin.group}:{plugin.name}"
    if key in made:
        return made[key]
    if todo := lacking(plugin):
        pytest.skip(todo)
    group = GROUPS[plugin.group]
    loaded = registry.load(plugin.group, plugin.name, group.contract)
    stack: ExitStack = made["stack"]
    if group.make is None:
        made[key] = stack.enter_context(database.opened(loaded, folder))
    else:
        made[key] = group.make(loaded, folder)
        if hasattr(made[key], "close"):
            stack.callback(made[key].close)
    if made[key] is None:
        pytest.skip("it needs a server; run by `make test-backends`")
    return made[key]


@pytest.mark.parametrize(
    ("plugin", "check"), CASES, ids=[f"{p.group}:{p.name}: {named(c)}" for p, c in CASES]
)
def test_contract(
    plugin: Installed,
    check: Any,
    subjects: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    check(subject(plugin, subjects, tmp_path_factory.mktemp("contract")))


def test_our_own_are_among_them() -> None:
    found = {f"{p.group}:{p.name}" for p in PLUGINS}
    assert {"ehrqa.database:sqlite", "ehrqa.text2sql:local", "ehrqa.note_reader:embedded"} <= found
    assert {"ehrqa.vqa:onnx", "ehrqa.vqa:oracle"} <= found
