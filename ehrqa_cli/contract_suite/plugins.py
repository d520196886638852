"""Every installed plugin, and the suite run over it. A broken one is told of by name, no more."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from ehrqa_cli import registry
from ehrqa_cli.contract_suite import benchmark, database, judge, note_reader, text2sql, vqa
from ehrqa_cli.contract_suite.checking import Check, Outcome, State, run, without_arguments
from ehrqa_cli.contracts import benchmarks, judging
from ehrqa_cli.contracts import plugins as contracts
from ehrqa_cli.contracts.errors import EhrqaError

_LOADS = "It loads and can be made"


@dataclass(frozen=True)
class Group:
    """One contract: its class, its checks, and how the program makes a plugin of it."""

    contract: type[Any]
    checks: tuple[Check[Any], ...]
    make: Callable[[Any, Path], Any] | None = None
    opened: Callable[[Any, Path], AbstractContextManager[Any]] | None = None


GROUPS: dict[str, Group] = {
    registry.DATABASE: Group(contracts.Database, database.CHECKS, opened=database.opened),
    registry.TEXT2SQL: Group(contracts.Text2Sql, text2sql.CHECKS, text2sql.make),
    registry.VQA: Group(contracts.SceneGraphSource, vqa.CHECKS, vqa.make),
    registry.NOTE_READER: Group(contracts.NoteReader, note_reader.CHECKS, without_arguments),
    registry.JUDGE: Group(judging.Judge, judge.CHECKS, without_arguments),
    registry.BENCHMARK: Group(benchmarks.Benchmark, benchmark.CHECKS, opened=benchmark.made),
}


@dataclass(frozen=True)
class Installed:
    """One entry point: what it is called, its class, and the package that it came with."""

    group: str
    name: str
    value: str
    package: str = ""
    version: str = ""
    where: str = ""


def installed() -> list[Installed]:
    """Every plugin by group and name, nothing of it imported."""
    found: dict[tuple[str, str, str], Installed] = {}
    for group in GROUPS:
        for point in entry_points(group=group):
            one = _installed(group, point)
            found.setdefault((group, one.name, one.value), one)
    return [found[key] for key in sorted(found)]


def _installed(group: str, point: EntryPoint) -> Installed:
    if point.dist is None:
        return Installed(group, point.name, point.value)
    where = str(point.dist.locate_file(""))
    return Installed(
        group, point.name, point.value, str(point.dist.name), str(point.dist.version), where
    )


def contract_version(plugin: Installed) -> int:
    """The version of the contracts that a plugin was written for. Raises PluginError."""
    loaded = registry.load(plugin.group, plugin.name, GROUPS[plugin.group].contract)
    return int(getattr(loaded, "contract_version", contracts.VERSION))


def settings(plugin: Installed) -> Mapping[str, str]:
    """The environment variables that a plugin reads, and what each sets. Raises PluginError."""
    loaded = registry.load(plugin.group, plugin.name, GROUPS[plugin.group].contract)
    return dict(getattr(loaded, "settings", {}))


def check(plugin: Installed) -> list[Outcome]:
    """The suite over one plugin; whatever it does, there are outcomes."""
    group = GROUPS[plugin.group]
    try:
        loaded = registry.load(plugin.group, plugin.name, group.contract)
        version = int(getattr(loaded, "contract_version", contracts.VERSION))
    except EhrqaError as error:
        return [Outcome(_LOADS, State.BROKEN, str(error))]
    except Exception as error:  # a plugin may be anything
        return [Outcome(_LOADS, State.BROKEN, f"{type(error).__name__}: {error}")]
    if version != contracts.VERSION:
        told = f"it was written for version {version} of the contracts, not {contracts.VERSION}"
        return [Outcome(_LOADS, State.FAILED, told)]
    with tempfile.TemporaryDirectory(prefix="ehrqa-check-") as name, ExitStack() as stack:
        try:
            subject = _subject(loaded, group, Path(name), stack)
        except EhrqaError as error:
            return [Outcome(_LOADS, State.FAILED, str(error))]
        except Exception as error:
            return [Outcome(_LOADS, State.BROKEN, f"{type(error).__name__}: {error}")]
        if subject is None:
            told = "it cannot make a sample EHR here; see its README for what it needs"
            return [Outcome(_LOADS, State.NOT_RUN, told)]
        return [Outcome(_LOADS, State.PASSED), *run(group.checks, subject)]


def _subject(loaded: type[Any], group: Group, folder: Path, stack: ExitStack) -> Any:
    if group.opened is not None:
        return stack.enter_context(group.opened(loaded, folder))
    assert group.make is not None
    # One that needs a server or a key has a class method ``for_check``: itself over a stand-in.
    stand_in = getattr(loaded, "for_check", None)
    made = (stand_in() if callable(stand_in) else None) or group.make(loaded, folder)
    if callable(close := getattr(made, "close", None)):
        stack.callback(close)
    return made


def state(outcomes: list[Outcome]) -> State:
    """What all of a plugin's outcomes come to."""
    states = {outcome.state for outcome in outcomes}
    for worst in (State.BROKEN, State.FAILED, State.NOT_RUN):
        if worst in states:
            return worst
    return State.PASSED if states else State.NOT_RUN


def chosen(names: tuple[str, ...]) -> Iterator[Installed]:
    """The installed plugins of these names (``duckdb`` or ``ehrqa.database:duckdb``), or all.

    Raises PluginError for a name that none has.
    """
    from ehrqa_cli.contracts.errors import PluginError

    every = installed()
    for name in names:
        if not any(name in (p.name, f"{p.group}:{p.name}") for p in every):
            known = ", ".join(sorted({p.name for p in every}))
            raise PluginError(f"no plugin is called '{name}'", f"installed: {known}")
    for plugin in every:
        if not names or {plugin.name, f"{plugin.group}:{plugin.name}"} & set(names):
            yield plugin
