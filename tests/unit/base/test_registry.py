from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import PluginError
from ehrqa_cli.contracts.plugins import Database

POINTS = (
    ("sqlite", "ehrqa_cli.ehr.backend.sqlite:SqliteDatabase"),
    ("wrong", "pathlib:Path"),
    ("broken", "ehrqa_cli.no_such_module:Thing"),
    ("twice", "a:A"),
    ("twice", "b:B"),
)


@pytest.fixture(autouse=True)
def points(monkeypatch: pytest.MonkeyPatch) -> None:
    made = EntryPoints(EntryPoint(name, value, registry.DATABASE) for name, value in POINTS)
    monkeypatch.setattr(importlib.metadata, "entry_points", made.select)


def test_names_imports_nothing():
    assert registry.names(registry.DATABASE) == ["broken", "sqlite", "twice", "wrong"]


def test_load_gives_the_class():
    assert registry.load(registry.DATABASE, "sqlite", Database).dialect == "sqlite"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("none", "no ehrqa.database plugin is called 'none'"),
        ("wrong", "is not a Database"),
        ("broken", "does not load: ModuleNotFoundError"),
        ("twice", "two ehrqa.database plugins"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_said(name: str, word: str):
    with pytest.raises(PluginError, match=word) as raised:
        registry.load(registry.DATABASE, name, Database)
    assert raised.value.hint
    assert raised.value.exit_code == 2


def test_our_own_plugins_are_registered_by_the_installed_package(monkeypatch):
    monkeypatch.undo()
    assert "sqlite" in registry.names(registry.DATABASE)
    assert "local" in registry.names(registry.TEXT2SQL)
