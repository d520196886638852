"""File, profile, variables and flags laid over each other, with where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.config.document import read, settings_file
from ehrqa_cli.config.fields import FIELDS, PROFILE, Settings, from_text
from ehrqa_cli.config.reading import FLAG, VARIABLE, Found, Problem, Written, near, read_tables
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
    found = {name: Found(value) for name, value in vars(Settings()).items()}
    found |= wrote.tables[None]
    given = dict(_variables(env)) | dict(_flags(flags or {}))
    chosen = given.get(PROFILE, found[PROFILE])
    if chosen.value is not None:
        if problem := _unknown_profile(chosen, wrote, settings_file(env)):
            raise problem.error()
        found |= wrote.tables[chosen.value]
    return Resolved(settings_file(env), wrote, found | given)


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
    found = [*wrote.problems, *_odd_variables(env)]
    chosen = wrote.tables[None].get(PROFILE)
    for variable in _VARIABLES.values():
        try:
            given = dict(_variables({variable: env.get(variable, "")}))
        except UsageError as error:
            found.append(Problem("", error.message, error.hint))
        else:
            chosen = given.get(PROFILE, chosen)
    if chosen and (problem := _unknown_profile(chosen, wrote, settings_file(env))):
        found.append(problem)
    return found


def _first(found: tuple[Problem, ...]) -> UsageError:
    error = found[0].error()
    if len(found) == 1:
        return error
    more = f"`ehrqa config validate` shows {len(found) - 1} more"
    return UsageError(error.message, f"{error.hint}; {more}")


def _variables(env: Mapping[str, str]) -> Iterator[tuple[str, Found]]:
    for name, variable in _VARIABLES.items():
        if text := env.get(variable):
            yield name, _given(name, text, VARIABLE, variable)


def _flags(flags: Mapping[str, str]) -> Iterator[tuple[str, Found]]:
    for name, text in flags.items():
        yield name, _given(name, text, FLAG, f"--{name.replace('_', '-')}")


def _given(name: str, text: str, layer: str, where: str) -> Found:
    if name == PROFILE:
        return Found(text, layer, where)
    try:
        return Found(from_text(_BY_NAME[name], text), layer, where)
    except UsageError as error:
        raise Problem(where, error.message, error.hint).error() from None


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
