"""File, profile, variables and flags laid over each other, with where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.config.document import read, settings_file
from ehrqa_cli.config.fields import FIELDS, PROFILE, Settings, from_text
from ehrqa_cli.config.reading import (
    FLAG,
    LAYERS,
    VARIABLE,
    Found,
    Problem,
    Written,
    near,
    read_tables,
)
from ehrqa_cli.contracts.errors import UsageError

_PROFILE_VARIABLE = "EHRQA_PROFILE"
_BY_NAME = {of.name: of for of in FIELDS}
_VARIABLES = {PROFILE: _PROFILE_VARIABLE} | {of.name: of.variable for of in FIELDS if of.variable}
_OTHERS = ("EHRQA_CONFIG", "EHRQA_DEBUG")  # variables that are no settings


@dataclass(frozen=True)
class Resolved:
    """The settings in force; ``found`` has every field of `Settings` with where it came from."""

    path: Path
    written: Written
    found: Mapping[str, Found]

    @property
    def settings(self) -> Settings:
        """The values alone."""
        return Settings(**{name: found.value for name, found in self.found.items()})

    def blame(self, name: str, error: UsageError) -> UsageError:
        """``error``, of a setting's value, with the place where it was set."""
        return Problem(self.found[name].where or name, error.message, error.hint).error()


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. Raises UsageError naming the file and line, or the variable."""
    return resolve(environ).settings


def resolve(
    environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
) -> Resolved:
    """The settings in force and where each came from.

    ``flags`` are texts by field (``profile`` among them), each as strong as a flag of that name.
    Raises UsageError for the first thing that is wrong in the file, a variable or a flag.
    """
    env = os.environ if environ is None else environ
    wrote = written(env)
    if wrote.problems:
        raise _first(wrote.problems)
    given, wrong = _variables(env)
    if wrong:
        raise wrong[0].error()
    given |= _flags(flags or {})
    chosen = given.get(PROFILE) or wrote.tables[None].get(PROFILE)
    if chosen and (problem := _unknown_profile(chosen, wrote, settings_file(env))):
        raise problem.error()
    return _merged(settings_file(env), wrote, given, chosen.value if chosen else None)


def every(environ: Mapping[str, str] | None = None) -> Iterator[Resolved]:
    """The settings outside profiles, then as each profile has them; what is wrong is left out.

    Raises UsageError where the file cannot be read or is not TOML.
    """
    env = os.environ if environ is None else environ
    wrote = written(env)
    given, _ = _variables(env)
    for name in wrote.tables:
        yield _merged(settings_file(env), wrote, given, name)


def written(environ: Mapping[str, str] | None = None) -> Written:
    """What the settings file says. Raises UsageError where it cannot be read or is not TOML."""
    env = os.environ if environ is None else environ
    path = settings_file(env)
    document = read(path)
    if document is not None:
        return read_tables(document)
    if env.get("EHRQA_CONFIG"):
        hint = "unset EHRQA_CONFIG, or write the file with `ehrqa config init`"
        raise UsageError(f"there is no settings file {path}", hint)
    return Written()


def problems(environ: Mapping[str, str] | None = None) -> list[Problem]:
    """All that is wrong with the form of the file and the variables; values are not tried."""
    env = os.environ if environ is None else environ
    try:
        wrote = written(env)
    except UsageError as error:
        return [Problem("", error.message, error.hint)]
    given, wrong = _variables(env)
    found = [*wrote.problems, *_odd_variables(env), *wrong]
    chosen = given.get(PROFILE) or wrote.tables[None].get(PROFILE)
    if chosen and (problem := _unknown_profile(chosen, wrote, settings_file(env))):
        found.append(problem)
    return found


def _merged(
    path: Path, wrote: Written, given: Mapping[str, Found], profile: str | None
) -> Resolved:
    found = {name: Found(value) for name, value in vars(Settings()).items()}
    found = {**found, **wrote.tables[None], **wrote.tables[profile], **given}
    # Labels stand in for images: those of a weaker layer are of other images.
    if LAYERS.index(found["images"].layer) > LAYERS.index(found["scene_graphs"].layer):
        found["scene_graphs"] = Found(None)
    return Resolved(path, wrote, found)


def _first(found: tuple[Problem, ...]) -> UsageError:
    error = found[0].error()
    if len(found) == 1:
        return error
    more = f"`ehrqa config validate` shows {len(found) - 1} more"
    return UsageError(error.message, f"{error.hint}; {more}")


def _variables(env: Mapping[str, str]) -> tuple[dict[str, Found], list[Problem]]:
    found, wrong = {}, []
    for name, variable in _VARIABLES.items():
        if text := env.get(variable):
            try:
                found[name] = _given(name, text, VARIABLE, variable)
            except UsageError as error:
                wrong.append(Problem(variable, error.message, error.hint))
    return found, wrong


def _flags(flags: Mapping[str, str]) -> dict[str, Found]:
    """Raises UsageError naming the flag."""
    found = {}
    for name, text in flags.items():
        flag = "--no-log" if name == "log" else f"--{name.replace('_', '-')}"
        try:
            found[name] = _given(name, text, FLAG, flag)
        except UsageError as error:
            raise Problem(flag, error.message, error.hint).error() from None
    return found


def _given(name: str, text: str, layer: str, where: str) -> Found:
    value = text if name == PROFILE else from_text(_BY_NAME[name], text)
    return Found(value, layer, where)


def _unknown_profile(chosen: Found, wrote: Written, path: Path) -> Problem | None:
    if chosen.value in wrote.profiles:
        return None
    if wrote.document is None:
        message = f"there is no profile '{chosen.value}', and no settings file {path}"
        return Problem(chosen.where, message, "write the file with `ehrqa config init`")
    message = f"there is no profile '{chosen.value}' in {path}"
    hint = near(chosen.value, wrote.profiles) or f"add a table [profiles.{chosen.value}] to it"
    return Problem(chosen.where, message, hint)


def _odd_variables(env: Mapping[str, str]) -> Iterator[Problem]:
    """Variables that look like ours and are none; those of others are not our business."""
    from difflib import get_close_matches

    ours = {variable.removeprefix("EHRQA_"): variable for variable in _VARIABLES.values()}
    for name in env:
        if not name.startswith("EHRQA_") or name in {*ours.values(), *_OTHERS}:
            continue
        meant = get_close_matches(name.removeprefix("EHRQA_"), ours, n=1, cutoff=0.75)
        if meant:
            yield Problem(name, "unknown variable", f"did you mean {ours[meant[0]]}?")
