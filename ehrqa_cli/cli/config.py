"""``ehrqa config``: which settings are in force, where each came from, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import json_option
from ehrqa_cli.cli.profile import chosen, profile_option

if TYPE_CHECKING:
    from ehrqa_cli.config import Field, Found, Resolved

# user:password@host in a URL
_PASSWORD = re.compile(r"(:/{1,2}[^/@:\s]*:)[^@/\s]+@")
# Settings with a flag of the same name in ask and batch.
_FLAGS = (
    "db",
    "images",
    "scene_graphs",
    "model",
    "vision",
    "reader",
    "as_of",
    "goal",
    "thresholds",
    "concepts",
)


@click.group(short_help="Show, write and check the settings and their profiles.")
def config() -> None:
    """Settings: flags win over EHRQA_* variables, which win over the settings file (TOML).

    A profile is a table of the file, as in [profiles.ward-7], chosen with --profile NAME.

    \b
    Examples:
      ehrqa config init
      ehrqa config show --profile ward-7
      ehrqa config validate
    """


@config.command(short_help="Print where the settings file is.")
def path() -> int:
    """Print the settings file's path, whether it exists or not.

    \b
    Examples:
      $EDITOR "$(ehrqa config path)"
    """
    from ehrqa_cli import config as settings

    output.write(f"{settings.settings_file()}\n")
    return 0


@config.command(short_help="Write a commented settings file.")
@click.option("--force", is_flag=True, help="Overwrite the file that is there.")
def init(force: bool) -> int:
    """Write a settings file with every setting in it, commented out; only you can read it.

    \b
    Examples:
      ehrqa config init
      EHRQA_CONFIG=ward.toml ehrqa config init --force
    """
    from ehrqa_cli import config as settings
    from ehrqa_cli.config import template

    file = settings.settings_file()
    template.write(file, force=force)
    output.write(f"{file}\n")
    return 0


def _flags(command: Callable[..., int]) -> Callable[..., int]:
    for name in reversed(_FLAGS):
        flag = f"--{name.replace('_', '-')}"
        about = f"As if this were given as {flag}."
        command = click.option(flag, name, metavar="VALUE", help=about)(command)
    return command


@config.command(short_help="Print the settings in force and their origin.")
@profile_option
@_flags
@click.option("--no-log", is_flag=True, help="As if this were given.")
@json_option
def show(no_log: bool, as_json: bool, **flags: str | None) -> int:
    """Print the settings in force and where each came from: FILE:LINE, a variable or a flag.

    \b
    Examples:
      ehrqa config show
      ehrqa config show --profile ward-7 --json
      EHRQA_DB=ehr.sqlite ehrqa config show --model local
    """
    from ehrqa_cli import config as settings

    given = {name: text for name, text in flags.items() if text is not None}
    if profile := chosen():
        given["profile"] = profile
    if no_log:
        given["log"] = "off"
    resolved = settings.resolve(flags=given)
    _show_json(resolved) if as_json else _show(resolved)
    return 0


def _show(resolved: Resolved) -> None:
    from ehrqa_cli.config import FIELDS

    profile = resolved.found["profile"]
    rows = [("profile", _told(profile.value), _origin(profile))]
    for of in FIELDS:
        found = resolved.found[of.name]
        rows.append((of.key, _told(_in_force(of, resolved)), _origin(found)))
    # Not a table, which would cut a long path short in a narrow terminal.
    wide, broad = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, value, origin in rows:
        output.line(f"{name:<{wide}}  {value:<{min(broad, 40)}}  {origin}")
    there = "" if resolved.written.document else " (there is none)"
    diagnostics.note(f"settings file: {resolved.path}{there}")
    if names := resolved.written.profiles:
        diagnostics.note(f"profiles: {', '.join(names)}")


def _show_json(resolved: Resolved) -> None:
    from ehrqa_cli.config import FIELDS

    profile = resolved.found["profile"]
    told = {"profile": _record(profile.value, profile)}
    told |= {of.key: _record(_in_force(of, resolved), resolved.found[of.name]) for of in FIELDS}
    output.json_line(
        {
            "file": str(resolved.path),
            "exists": resolved.written.document is not None,
            "profiles": resolved.written.profiles,
            "settings": told,
        }
    )


def _record(value: Any, found: Found) -> dict[str, Any]:
    if isinstance(value, tuple):
        plain: Any = [*map(str, value)]
    else:
        plain = value if value is None or isinstance(value, bool | dict) else _told(value)
    return {"value": plain, "from": found.layer, "where": found.where or None}


def _in_force(of: Field, resolved: Resolved) -> Any:
    """The value, also where it is the default that another part of the program makes."""
    settings = resolved.settings
    made = {"models": settings.models_dir, "log_file": settings.log_path}
    return made[of.name]() if of.name in made else resolved.found[of.name].value


def _told(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{action} = {key}" for action, key in value.items()) or "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    return _PASSWORD.sub(r"\1***@", str(value))


def _origin(found: Found) -> str:
    return f"{found.where} (profile)" if found.layer == "profile" else found.where or "default"


@config.command(short_help="Check the file, its profiles and the variables.")
@profile_option
@json_option
def validate(as_json: bool) -> int:
    """Check the file, all of its profiles and the variables: one line for each problem.

    Files must be there and open, names be known, times be times. Nothing is written.

    \b
    Examples:
      ehrqa config validate
      EHRQA_CONFIG=ward.toml ehrqa config validate --json

    \b
    Exit codes: 0 nothing is wrong, 1 something is.
    """
    from ehrqa_cli import config as settings
    from ehrqa_cli.cli.config_values import all_problems

    found = all_problems()
    if as_json:
        output.json_line([asdict(problem) for problem in found])
        return int(bool(found))
    for problem in found:
        output.line(" ".join(str(problem.error()).split()))
    if not found:
        file = settings.settings_file()
        none = "" if file.exists() else "; there is no file, `ehrqa config init` writes one"
        diagnostics.note(f"nothing is wrong: {file}{none}")
    return int(bool(found))
