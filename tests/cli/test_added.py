"""Commands that packages add to ``ehrqa eval`` and ``ehrqa build`` by entry point."""

from __future__ import annotations

import importlib.metadata
import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace
from typing import Any

import click
import pytest

from ehrqa_cli import registry
from ehrqa_cli.cli import added, output
from ehrqa_cli.evaluate.catalogue import Benchmark


@click.command(
    cls=added.ListedCommand,
    listed=Benchmark("mine", "what mine measures", "", (), ()),
    short_help="Mine.",
)
@click.option("--n", type=int, default=1)
def mine(n: int) -> int:
    """Count."""
    output.line(f"counted {n}")
    return 0


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """One package with a command for two groups, and one that does not load."""
    monkeypatch.setitem(sys.modules, "made_up", SimpleNamespace(mine=mine, other=3))
    points = EntryPoints(
        EntryPoint(name, value, registry.COMMAND)
        for name, value in (
            ("eval mine", "made_up:mine"),
            ("build mine", "made_up:mine"),
            ("eval torn", "made_up:lacking"),
            ("eval odd", "made_up:other"),
        )
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", points.select)


@pytest.mark.usefixtures("packages")
def test_an_added_command_is_listed_and_runs(cli: Any) -> None:
    ran = cli("eval", "mine", "--n", 3)
    assert (ran.code, ran.out) == (0, "counted 3\n")
    assert cli("build", "mine").out == "counted 1\n"
    assert "  mine " in cli("eval", "--help").out and "  mine " in cli("build", "--help").out
    assert "mine  what mine measures" in cli("eval", "list").out
    assert cli("eval", "main").err.startswith("error: no command 'main'; did you mean 'mine'?")


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("name", "said"),
    [("torn", "does not load: AttributeError"), ("odd", "is not a click.core.Command")],
)
def test_a_broken_one_is_told_of_and_the_others_work(cli: Any, name: str, said: str) -> None:
    listed = cli("eval", "--help")
    assert listed.code == 0 and f"{name} " in listed.out and "broken: " in listed.out
    for more in (("--out", "x"), ("--help",)):
        ran = cli("eval", name, *more)
        assert ran.code == 2 and said in ran.err and "hint: mend" in ran.err


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", added.PACKAGES)
def test_without_the_package_it_says_what_to_install(cli: Any, name: str) -> None:
    ran = cli(*name.split(), "--data", "x")
    assert ran.code == 2 and ran.out == ""
    first, hint = ran.err.splitlines()
    assert first.startswith(f"error: `ehrqa {name}` is in the package ehrqa-papers")
    assert "`pip install ehrqa-papers`" in hint


def test_the_packages_commands_are_those_that_it_brings() -> None:
    brought = [f"{group} {name}" for group in ("eval", "build") for name in added.names(group)]
    assert sorted(added.PACKAGES) == sorted(brought)


@pytest.mark.parametrize("args", [("--help",), ("eval", "ehrsql", "--help"), ("log", "--help")])
def test_nothing_is_looked_for_where_it_is_not_needed(
    cli: Any, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    def scanned(**_asked: object) -> None:
        raise AssertionError("entry points were looked for")

    monkeypatch.setattr(importlib.metadata, "entry_points", scanned)
    assert cli(*args).code == 0
