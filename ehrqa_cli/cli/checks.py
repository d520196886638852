"""The checks of ``ehrqa doctor``: each looks at one part and says how to mend it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli import config, modelstore, registry
from ehrqa_cli.cli import llama_build
from ehrqa_cli.contracts.errors import EhrqaError

OK, WARN, FAIL = "ok", "warn", "fail"
REBUILD = "rebuild it with `python -m ehrqa_cli.cli.llama_build --rebuild`"


@dataclass(frozen=True)
class Finding:
    """What one check found; ``hint`` is how to mend it, empty when ``status`` is ok."""

    check: str
    status: str
    detail: str
    hint: str = ""


def run_all(db: Path | None) -> Iterator[Finding]:
    """Every check in turn; a check that itself fails is a finding, not the end."""
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", python),
        ("packages", packages),
        ("settings", settings),
        ("plugins", plugins),
        ("models", models),
        ("llama.cpp", llama),
        ("providers", providers),
        ("folders", folders),
        ("database", lambda: database(db)),
    ]
    for name, check in checks:
        try:
            yield from check()
        except EhrqaError as error:
            yield Finding(name, FAIL, error.message, error.hint)
        except Exception as error:  # a doctor that dies helps nobody
            detail = f"this check failed: {type(error).__name__}: {error}"
            yield Finding(name, FAIL, detail, "report it, with this line")


def python() -> Iterator[Finding]:
    """The version of Python and of its SQLite."""
    import sqlite3

    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    hint = "" if good else "install Python 3.11 or newer"
    yield Finding("python", OK if good else FAIL, f"{version}, {sys.executable}", hint)
    # 3.25 brought window functions, which "the 5 commonest" needs.
    good = sqlite3.sqlite_version_info >= (3, 25)
    hint = "" if good else "use a Python that is built with SQLite 3.25 or newer"
    yield Finding("sqlite", OK if good else FAIL, sqlite3.sqlite_version, hint)


def packages() -> Iterator[Finding]:
    """The packages that ehrqa_cli requires, as its own metadata has them."""
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    try:
        stated = [Requirement(text) for text in requires("ehrqa_cli") or []]
    except PackageNotFoundError:
        hint = "run `make setup`, or install the wheel with pip"
        yield Finding("packages", FAIL, "ehrqa_cli is not installed", hint)
        return
    missing, found = [], []
    for requirement in stated:
        name = requirement.name
        # Some are of an extra, or of another platform.
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        detail = f"missing: {', '.join(missing)}"
        hint = "run `make setup`, or `pip install " + " ".join(missing) + "`"
        yield Finding("packages", FAIL, detail, hint)
    else:
        yield Finding("packages", OK, ", ".join(found))


def settings() -> Iterator[Finding]:
    """The settings file and variables."""
    resolved = config.resolve()
    told = [str(resolved.path) if resolved.written.document else f"none ({resolved.path})"]
    if profile := resolved.settings.profile:
        told.append(f"profile {profile}")
    told += [found.where for found in resolved.found.values() if found.layer == "variable"]
    yield Finding("settings", OK, ", ".join(told))


def plugins() -> Iterator[Finding]:
    """The plugins that are registered, by name; they are loaded when they are used."""
    for group in (registry.DATABASE, registry.TEXT2SQL):
        names = registry.names(group)
        hint = "" if names else "run `make setup`, or install the wheel with pip"
        yield Finding(group, OK if names else FAIL, ", ".join(names) or "none", hint)


def models() -> Iterator[Finding]:
    """The SHA-256 of every shipped model and of those that were pulled."""
    shipped = modelstore.shipped_models()
    if not shipped:
        hint = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"
        yield Finding("models", FAIL, f"no shipped model under {modelstore.models_root()}", hint)
    folder = config.load().models_dir()
    pulled = [model for model in modelstore.pullable_models(folder) if model.path.exists()]
    for model in [*shipped, *pulled]:
        state = modelstore.verify(model)
        hint = f"run `ehrqa models pull {model.name} --force`"
        if model.shipped:
            hint = "restore it with `git checkout models`, or install the wheel again"
        good = state == "ok"
        detail = f"{model.name}: {'SHA-256 is right' if good else state}"
        yield Finding("models", OK if good else FAIL, detail, "" if good else hint)


def llama() -> Iterator[Finding]:
    """llama-cpp-python in a child process, because a bad build ends the process."""
    model = llama_build.smallest_model(modelstore.models_root())
    found = llama_build.probe(model)
    what = f"{found.detail}, {'decodes ' + model.name if model else 'imports'}"
    if found.works:
        yield Finding("llama.cpp", OK, what)
        return
    yield Finding("llama.cpp", FAIL, found.detail, REBUILD)


def providers() -> Iterator[Finding]:
    """ONNX Runtime's providers; only questions about X-rays need any."""
    script = (
        "from ehrqa_cli.onnx import runtime; print(', '.join(runtime().get_available_providers()))"
    )
    # A child process: its import is noisy on stderr where a GPU's libraries are missing.
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        yield Finding("providers", OK, done.stdout.strip())
        return
    detail = "onnxruntime is not installed; only questions about X-rays would need it"
    if "No module named 'onnxruntime'" in done.stderr:
        yield Finding("providers", OK, detail)
        return
    last = (done.stderr.strip().splitlines() or ["it crashes"])[-1]
    hint = "reinstall it: `pip install --force-reinstall onnxruntime`"
    yield Finding("providers", WARN, f"onnxruntime does not import: {last}", hint)


def folders() -> Iterator[Finding]:
    """Where ehrqa would write: the answer log (when on) and pulled models."""
    found = config.load()
    places = [("models folder", found.models_dir(), "name another in EHRQA_MODELS")]
    if found.log:
        hint = "name another file in EHRQA_LOG_FILE, or set EHRQA_LOG=off"
        places.append(("answer log", found.log_path(), hint))
    else:
        yield Finding("answer log", OK, "off")
    for name, path, hint in places:
        if writable(path):
            yield Finding(name, OK, str(path))
        else:
            yield Finding(name, WARN, f"{path} cannot be written", hint)


def writable(path: Path) -> bool:
    """Whether ``path``, or the nearest folder above it that exists, lets us write."""
    if path.exists():
        return os.access(path, os.W_OK)
    above = next((parent for parent in path.parents if parent.exists()), path)
    return above.is_dir() and os.access(above, os.W_OK)


def database(db: Path | None) -> Iterator[Finding]:
    """The EHR of --db or of the settings, if there is one."""
    from ehrqa_cli.cli.options import as_path, open_database, target_of

    path = db or as_path(None, None, config.load().db)
    if path is None:
        yield Finding("database", OK, "none given (add --db FILE to check one)")
        return

    opened = open_database(path)
    try:
        rows = opened.execute("SELECT count(*) FROM patients").rows
        detail = f"{target_of(path)}: {len(opened.schema())} tables, {rows[0][0]:,} patients"
        yield Finding("database", OK, f"{detail}, as of {opened.default_as_of()}")
    finally:
        opened.close()
