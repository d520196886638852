"""ONNX Runtime, kept silent: the one place that imports it. Folders of shipped networks.

Its official builds send events of use to their maker, and keep a device's id and a database of
events in the user's cache folder, from the moment they are imported (version 1.31, Privacy.md).
Only its variable, set before the import, prevents both; child processes inherit it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError

_SILENT = {"ORT_DISABLE_TELEMETRY": "1"}
_RESTORE = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"
_INSTALL = "`pip install onnxruntime-gpu` (it runs on a CPU too), or `onnxruntime`"


def runtime() -> Any:
    """The module onnxruntime. Raises ImportError where it is not installed."""
    os.environ.update(_SILENT)
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


class Folder:
    """A folder of ``models/`` whose ``manifest.json`` names its files under ``files``, each with
    its SHA-256. Raises ModelError when the manifest is missing or cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text("utf-8"))
            self.hashes = {str(k): str(v) for k, v in self.manifest["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"no usable manifest.json in {path}", _RESTORE) from error

    def read(self, name: str) -> bytes:
        """The bytes of a file, once their SHA-256 is the manifest's. Raises ModelError."""
        if name not in self.hashes:
            raise ModelError(f"the manifest of {self.path} does not name {name}", _RESTORE)
        try:
            data = (self.path / name).read_bytes()
        except OSError as error:
            raise ModelError(f"model file {self.path / name} cannot be read", _RESTORE) from error
        if hashlib.sha256(data).hexdigest() != self.hashes[name]:
            raise ModelError(f"{name} is corrupt: its SHA-256 is not the manifest's", _RESTORE)
        return data

    def json(self, name: str) -> Any:
        """A JSON file, checked. Raises ModelError."""
        try:
            return json.loads(self.read(name))
        except ValueError as error:
            raise ModelError(f"{name} cannot be read: {error}", _RESTORE) from error

    def network(self, name: str, threads: int = 1) -> Any:
        """An ONNX network, checked, as a session on the CPU. Raises ModelError."""
        data = self.read(name)
        try:
            onnxruntime = runtime()
        except ImportError as error:
            raise ModelError("onnxruntime is not installed", _INSTALL) from error
        options = onnxruntime.SessionOptions()
        # So small that many threads, or a graphics card, would only cost time.
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
        except Exception as error:
            raise ModelError(f"onnxruntime cannot load {name}: {error}", _RESTORE) from error
