"""Do the values of the settings hold: are the files there, the names known, the times times?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ehrqa_cli import config, modelstore, registry
from ehrqa_cli.config import Found, Problem, Resolved, Settings
from ehrqa_cli.contracts.errors import EhrqaError, UsageError


def all_problems() -> list[Problem]:
    """Everything wrong in the settings file, in all of its profiles, and in the variables."""
    found = config.problems()
    try:
        layers = [*config.every()]
    except UsageError:
        return found  # which says so
    seen: set[tuple[str, str]] = set()
    for resolved in layers:
        for name, value in resolved.found.items():
            if value.layer != "default" and (name, value.where) not in seen:
                seen.add((name, value.where))
                found += _tried(name, value, resolved)
        if ("goal", key := _pair(resolved)) not in seen:
            seen.add(("goal", key))
            found += _goal_of_thresholds(resolved)
    return found


def _tried(name: str, value: Found, resolved: Resolved) -> Iterator[Problem]:
    check = _CHECKS.get(name)
    if check is None:
        return
    try:
        check(value.value, resolved.settings)
    except EhrqaError as error:
        yield Problem(value.where, f"{name}: {error.message}", error.hint)


def _pair(resolved: Resolved) -> str:
    return "+".join(resolved.found[name].where for name in ("goal", "thresholds"))


def _goal_of_thresholds(resolved: Resolved) -> Iterator[Problem]:
    """A goal that the thresholds which go with it have no limit for."""
    from ehrqa_cli.engine.risk import Thresholds, goal_key

    settings = resolved.settings
    if settings.goal is None or settings.thresholds is None:
        return
    try:
        goal, thresholds = goal_key(settings.goal), Thresholds.load(settings.thresholds)
    except UsageError:
        return  # told already
    try:
        thresholds.for_goal(goal)
    except UsageError as error:
        where = resolved.found["goal"].where
        yield Problem(where, f"goal: {settings.thresholds}: {error.message}", error.hint)


def _database(target: Path | str, _settings: Settings) -> None:
    from ehrqa_cli.ehr.open import open_database

    open_database(target).close()


def _schema(name: str, _settings: Settings) -> None:
    from ehrqa_cli.ehr.mapping import document as mapping

    mapping.load(name)


def _folder(path: Path, _settings: Settings) -> None:
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}", "check the path")


def _labels(path: Path, _settings: Settings) -> None:
    from ehrqa_cli.vqa import OracleGraphs

    OracleGraphs.open(path)


def _models(path: Path, _settings: Settings) -> None:
    # The folder itself is made when the first model is pulled.
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is not a folder", "check the path")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", "check the path")


def _log_file(path: Path, _settings: Settings) -> None:
    from ehrqa_cli.cli.checks import writable

    if path.is_dir() or not writable(path):
        raise UsageError(f"{path} cannot be written", "name another file")


def _model(name: str, _settings: Settings) -> None:
    _known(name, registry.names(registry.TEXT2SQL), "text-to-SQL model")


def _reader(name: str, settings: Settings) -> None:
    if Path(name).is_file():
        return
    pulled = [model.name for model in modelstore.pullable_models(settings.models_dir())]
    if name in pulled:
        modelstore.find(name, settings.models_dir())
    else:
        _known(name, registry.names(registry.NOTE_READER), "reader of notes")


def _vision(name: str, settings: Settings) -> None:
    from ehrqa_cli.vqa.model.choose import find_card

    if name not in registry.names(registry.VQA):
        find_card(name, settings.models_dir())


def _known(name: str, names: list[str], what: str) -> None:
    from ehrqa_cli.config.reading import near

    if name not in names:
        raise UsageError(f"there is no {what} '{name}'", near(name, names) or "install its plugin")


def _time(text: str, _settings: Settings) -> None:
    from ehrqa_cli.engine.times import check_time

    check_time(text)


def _goal(text: str, _settings: Settings) -> None:
    from ehrqa_cli.engine.risk import goal_key

    goal_key(text)


def _thresholds(path: Path, _settings: Settings) -> None:
    from ehrqa_cli.engine.risk import Thresholds

    Thresholds.load(path)


def _concepts(paths: tuple[Path, ...], _settings: Settings) -> None:
    from ehrqa_cli.concepts.own import files_for

    files_for(None, paths)


_CHECKS: Mapping[str, Callable[[Any, Settings], None]] = {
    "db": _database,
    "schema": _schema,
    "images": _folder,
    "notes": _folder,
    "scene_graphs": _labels,
    "model": _model,
    "models": _models,
    "vision": _vision,
    "reader": _reader,
    "as_of": _time,
    "goal": _goal,
    "thresholds": _thresholds,
    "concepts": _concepts,
    "log_file": _log_file,
}
