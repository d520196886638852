"""``ehrqa plugins``: what is installed, from where, and whether it keeps its contract."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import json_option

if TYPE_CHECKING:
    from ehrqa_cli.contract_suite.checking import Outcome
    from ehrqa_cli.contract_suite.plugins import Installed


@click.group(short_help="List plugins and check that they keep their contracts.")
def plugins() -> None:
    """Plugins: databases, models that write queries, readers of images and notes, judges.

    \b
    Examples:
      ehrqa plugins list
      ehrqa plugins info duckdb
      ehrqa plugins check
    """


@plugins.command("list")
@json_option
def list_plugins(as_json: bool) -> int:
    """List the installed plugins: kind, name, package and version.

    \b
    Examples:
      ehrqa plugins list
      ehrqa plugins list --json
    """
    from ehrqa_cli.contract_suite.plugins import installed

    found = installed()
    if as_json:
        output.json_line([asdict(plugin) for plugin in found])
        return 0
    rows = [(p.group, p.name, f"{p.package} {p.version}".strip(), p.value) for p in found]
    output.table(("kind", "name", "package", "class"), rows)
    return 0


@plugins.command()
@click.argument("name")
@json_option
def info(name: str, as_json: bool) -> int:
    """Describe the plugin NAME: its package, where it is, and the contract it was written for.

    \b
    Examples:
      ehrqa plugins info duckdb
      ehrqa plugins info ehrqa.database:duckdb --json
    """
    from ehrqa_cli.contract_suite.plugins import chosen

    facts = [_facts(plugin) for plugin in chosen((name,))]
    if as_json:
        output.json_line(facts)
        return 0
    for fact in facts:
        for key, value in fact.items():
            if key != "settings":
                output.line(f"{key}: {value}")
        for name, sets in fact.get("settings", {}).items():
            output.line(f"{name}: {sets}")
    return 0


def _facts(plugin: Installed) -> dict[str, Any]:
    from ehrqa_cli.contract_suite.plugins import contract_version, settings
    from ehrqa_cli.contracts.errors import EhrqaError

    facts: dict[str, Any] = asdict(plugin)
    try:
        facts["contract_version"] = contract_version(plugin)
        if declared := settings(plugin):
            facts["settings"] = declared
    except EhrqaError as error:
        facts["broken"] = str(error)
    return facts


@plugins.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--verbose", is_flag=True, help="Show every check, not only what went wrong.")
@json_option
def check(names: tuple[str, ...], verbose: bool, as_json: bool) -> int:
    """Run the contract suite over every installed plugin, or over those named.

    The suite ships inside the package; it makes a small synthetic EHR and asks each plugin what
    its contract demands. A plugin that cannot be run here counts as not passed.

    \b
    Examples:
      ehrqa plugins check
      ehrqa plugins check duckdb --verbose

    \b
    Exit codes: 0 all passed, 1 one failed, is broken or was not run, 2 usage.
    """
    from ehrqa_cli.contract_suite import plugins as suite
    from ehrqa_cli.contract_suite.checking import State

    records: list[dict[str, Any]] = []
    for plugin in suite.chosen(names):
        outcomes = suite.check(plugin)
        state = suite.state(outcomes)
        records.append(
            {
                "group": plugin.group,
                "name": plugin.name,
                "state": state.value,
                "checks": [asdict(outcome) for outcome in outcomes],
            }
        )
        if not as_json:
            _show(plugin, state.value, outcomes, verbose)
    if as_json:
        output.json_line(records)
    bad = [record["name"] for record in records if record["state"] != State.PASSED]
    if bad:
        diagnostics.warn(f"not passed: {', '.join(bad)}")
    return int(bool(bad))


def _show(plugin: Installed, state: str, outcomes: list[Outcome], verbose: bool) -> None:
    passed = sum(outcome.state == "passed" for outcome in outcomes)
    where = f" ({plugin.package} {plugin.version})" if plugin.package else ""
    told = f"{passed} of {len(outcomes)} checks"
    output.line(f"{state:<7} {plugin.group}:{plugin.name}{where}: {told}")
    for outcome in outcomes:
        if verbose or outcome.state != "passed":
            message = f": {outcome.message}" if outcome.message else ""
            output.line(f"    {outcome.state:<7} {outcome.check}{message}")
