"""The files of the second opinion: found, checked against their manifests, and opened."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError

_RESTORE = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"


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

    def network(self, name: str) -> Any:
        """An ONNX network, checked, as a session on one thread of the CPU. Raises ModelError."""
        data = self.read(name)
        from ehrqa_cli.onnx import runtime

        try:
            onnxruntime = runtime()
        except ImportError as error:
            raise ModelError(
                "onnxruntime is not installed, so there is no second opinion",
                "`pip install onnxruntime-gpu` (it runs on a CPU too), or `onnxruntime`",
            ) from error
        options = onnxruntime.SessionOptions()
        # So small that a second thread, or a graphics card, would only cost time.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
        except Exception as error:
            raise ModelError(f"onnxruntime cannot load {name}: {error}", _RESTORE) from error
