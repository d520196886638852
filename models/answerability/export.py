"""Exports the trained reader to ONNX with eight-bit weights, and writes manifests."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from network import MOST_LEXEMES, Encoder, Writer
from onnx import helper, numpy_helper
from torch import Tensor, nn

OPSET = 18
SMALL = 1024  # weights with fewer numbers stay as they are


class Rating(nn.Module):
    """The writer as it is run: one question, so nothing is padded."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer

    def forward(self, states: Tensor, before: Tensor) -> Tensor:
        return self.writer(states, torch.zeros(1, 1, 1, 1), before)


def _plain(
    module: nn.Module,
    example: tuple[Tensor, ...],
    names: Sequence[str],
    outputs: Sequence[str],
    lengths: dict[str, dict[int, str]],
) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.onnx"
        torch.onnx.export(
            module.eval(), example, str(path), input_names=list(names), dynamo=False,
            output_names=list(outputs), dynamic_axes=lengths, opset_version=OPSET,
        )  # fmt: skip
        return onnx.load(str(path))


def shrink(model: onnx.ModelProto) -> onnx.ModelProto:
    """Each large matrix as int8 with one scale a row or column; onnxruntime unfolds it once when
    it loads (the vectors of word pieces it looks up first, so that they stay small)."""
    graph = model.graph
    kept, added = [], []
    for weight in graph.initializer:
        value = numpy_helper.to_array(weight)
        if value.dtype != np.float32 or value.size < SMALL or value.ndim != 2:
            kept.append(weight)
            continue
        looked_up = [n for n in graph.node if n.op_type == "Gather" and n.input[0] == weight.name]
        axis = 1 if looked_up else 0
        scale = np.abs(value).max(axis, keepdims=True).astype(np.float32) / 127 + 1e-12
        whole = np.round(value / scale).astype(np.int8)
        name = weight.name
        kept += [numpy_helper.from_array(whole, name + "_q"),
                 numpy_helper.from_array(scale, name + "_s")]  # fmt: skip
        if looked_up:
            for node in looked_up:
                at, out = node.input[1], node.output[0]
                node.input[0], node.output[0] = name + "_q", out + "_q"
                place = list(graph.node).index(node) + 1
                more = [
                    helper.make_node("Gather", [name + "_s", at], [out + "_s"], axis=0),
                    helper.make_node("Cast", [out + "_q"], [out + "_f"], to=onnx.TensorProto.FLOAT),
                    helper.make_node("Mul", [out + "_f", out + "_s"], [out]),
                ]
                for step in reversed(more):
                    graph.node.insert(place, step)
        else:
            added += [
                helper.make_node("Cast", [name + "_q"], [name + "_f"], to=onnx.TensorProto.FLOAT),
                helper.make_node("Mul", [name + "_f", name + "_s"], [name]),
            ]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    for node in reversed(added):
        graph.node.insert(0, node)
    onnx.checker.check_model(model)
    return model


def encoder_onnx(encoder: Encoder) -> bytes:
    """ids (1, n) int64 to logit (1), point (1, size), states (1, n, width)."""
    ids = torch.randint(4, 200, (1, 12))
    lengths = {"ids": {1: "n"}, "states": {1: "n"}}
    outputs = ("logit", "point", "states")
    return shrink(_plain(encoder, (ids,), ("ids",), outputs, lengths)).SerializeToString()


def writer_onnx(writer: Writer, width: int) -> bytes:
    """states (1, n, width), before (1, t) int64 to log-probabilities (1, t, lexemes)."""
    example = (torch.randn(1, 12, width), torch.randint(4, 50, (1, 7)))
    lengths = {"states": {1: "n"}, "before": {1: "t"}, "logp": {1: "t"}}
    names = ("states", "before")
    return shrink(_plain(Rating(writer), example, names, ("logp",), lengths)).SerializeToString()


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
    graph = helper.make_graph(
        nodes, "nearest",
        [helper.make_tensor_value_info("point", real, [1, points.shape[1]])],
        [helper.make_tensor_value_info("similar", real, [1, None]),
         helper.make_tensor_value_info("places", whole_number, [1, None])],
        weights,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
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
