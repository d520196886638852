"""Plugins by name, one at a time: an entry point is loaded only when it is asked for.

Our own databases and models use the same door as third parties' (pyproject's entry points),
so nothing here knows a plugin by heart.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ehrqa_cli.contracts.errors import PluginError

T = TypeVar("T")

DATABASE = "ehrqa.database"
SCHEME = "ehrqa.scheme"  # what else an address may begin with that a database plugin opens
TEXT2SQL = "ehrqa.text2sql"
VQA = "ehrqa.vqa"
NOTE_READER = "ehrqa.note_reader"
JUDGE = "ehrqa.judge"
BENCHMARK = "ehrqa.benchmark"
COMMAND = "ehrqa.command"


def names(group: str) -> list[str]:
    """The names registered in ``group``, sorted; nothing is imported."""
    from importlib.metadata import entry_points

    return sorted({point.name for point in entry_points(group=group)})


def database_of(scheme: str) -> str | None:
    """The database plugin that opens addresses which begin with ``scheme``: the one of that name,
    or the one that is registered for it (group SCHEME). None if none is installed; nothing is
    imported."""
    from importlib.metadata import entry_points

    known = names(DATABASE)
    if scheme in known:
        return scheme
    classes = {point.value for point in entry_points(group=SCHEME, name=scheme)}
    points = entry_points(group=DATABASE)
    return next((p.name for p in points if p.value in classes and p.name in known), None)


def load(group: str, name: str, contract: type[T]) -> type[T]:
    """The class called ``name`` in ``group``, checked to be a ``contract``.

    Raises PluginError when there is none of that name, it does not import, or it is not one.
    """
    loaded, value = _load(group, name)
    if not (isinstance(loaded, type) and issubclass(loaded, contract)):
        raise PluginError(
            f"the plugin '{name}' ({value}) is not a {contract.__name__}",
            "its class must derive from the contract in ehrqa_cli.contracts.plugins",
        )
    return loaded


def load_object(group: str, name: str, kind: type[T]) -> T:
    """The object called ``name`` in ``group``, checked to be a ``kind``. Raises as ``load``."""
    loaded, value = _load(group, name)
    if not isinstance(loaded, kind):
        raise PluginError(
            f"the plugin '{name}' ({value}) is not a {kind.__module__}.{kind.__name__}",
            "mend its entry point, or uninstall its package",
        )
    return loaded


def _load(group: str, name: str) -> tuple[Any, str]:
    """What the entry point loads, and how the entry point is written."""
    from importlib.metadata import entry_points

    found = list(entry_points(group=group, name=name))
    if not found:
        known = ", ".join(names(group)) or "none; run `make setup`, or install ehrqa_cli with pip"
        raise PluginError(f"no {group} plugin is called '{name}'", f"installed: {known}")
    if len({point.value for point in found}) > 1:
        values = " and ".join(sorted({point.value for point in found}))
        raise PluginError(f"two {group} plugins are called '{name}': {values}", "uninstall one")
    try:
        return found[0].load(), found[0].value
    except Exception as error:  # a plugin may raise anything while it is imported
        origin = found[0].dist.name if found[0].dist else found[0].value
        message = f"the plugin '{name}' does not load: {type(error).__name__}: {error}"
        raise PluginError(message, f"mend or uninstall {origin}") from error
