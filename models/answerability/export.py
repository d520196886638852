"""Exports the trained reader to ONNX with eight-bit weights, and writes manifests."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from network import MOST_LEXEMES, Encoder, Writer
from onnx import helper, numpy_helper
from torch import Tensor, nn

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from quantize import OPSET, graph


class Rating(nn.Module):
    """The writer as it is run: one question, so nothing is padded."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer

    def forward(self, states: Tensor, before: Tensor) -> Tensor:
        return self.writer(states, torch.zeros(1, 1, 1, 1), before)


def encoder_onnx(encoder: Encoder) -> bytes:
    """ids (1, n) int64 to logit (1), point (1, size), states (1, n, width)."""
    ids = torch.randint(4, 200, (1, 12))
    lengths = {"ids": {1: "n"}, "states": {1: "n"}}
    outputs = ("logit", "point", "states")
    return graph(encoder, (ids,), ("ids",), outputs, lengths)


def writer_onnx(writer: Writer, width: int) -> bytes:
    """states (1, n, width), before (1, t) int64 to log-probabilities (1, t, lexemes)."""
    example = (torch.randn(1, 12, width), torch.randint(4, 50, (1, 7)))
    lengths = {"states": {1: "n"}, "before": {1: "t"}, "logp": {1: "t"}}
    names = ("states", "before")
    return graph(Rating(writer), example, names, ("logp",), lengths)


def index_onnx(points: np.ndarray, pool: int) -> bytes:
    """point (1, size) to the cosines and places of the ``pool`` nearest of the rows of points."""
    whole = np.round(points / np.abs(points).max(1, keepdims=True) * 127).astype(np.int8)
    length = np.linalg.norm(whole.astype(np.float32), axis=1).astype(np.float32)
    weights = [
        numpy_helper.from_array(np.ascontiguousarray(whole.T), "points"),
        numpy_helper.from_array((1.0 / length)[None], "scale"),
        numpy_helper.from_array(np.array([min(pool, len(points))], dtype=np.int64), "pool"),
    ]
    nodes = [
        helper.make_node("Cast", ["points"], ["real"], to=onnx.TensorProto.FLOAT),
        helper.make_node("MatMul", ["point", "real"], ["product"]),
        helper.make_node("Mul", ["product", "scale"], ["cosine"]),
        helper.make_node("TopK", ["cosine", "pool"], ["similar", "places"]),
    ]
    real, whole_number = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    found = helper.make_graph(
        nodes, "nearest",
        [helper.make_tensor_value_info("point", real, [1, points.shape[1]])],
        [helper.make_tensor_value_info("similar", real, [1, None]),
         helper.make_tensor_value_info("places", whole_number, [1, None])],
        weights,
    )  # fmt: skip
    model = helper.make_model(found, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def manifest(folder: Path, main: str, about: str, files: Sequence[str], **more: Any) -> None:
    """``manifest.json`` of a folder: its main file as modelstore reads it, and all hashes."""
    hashes: Mapping[str, str] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files
    }
    data = {
        "file": main,
        "bytes": (folder / main).stat().st_size,
        "sha256": hashes[main],
        "licence": "Apache-2.0",
        "about": about,
        "files": hashes,
        **more,
    }
    (folder / "manifest.json").write_text(json.dumps(data, indent=1) + "\n")


__all__ = ["MOST_LEXEMES", "encoder_onnx", "index_onnx", "manifest", "writer_onnx"]
