"""A torch module as an ONNX graph with eight-bit weights; the recipes of several models use it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

OPSET = 18
SMALL = 1024  # weights with fewer numbers stay as they are


def graph(
    module: nn.Module,
    example: tuple[Tensor, ...],
    names: Sequence[str],
    outputs: Sequence[str],
    lengths: dict[str, dict[int, str]],
) -> bytes:
    """The graph of ``module``, traced on ``example``; ``lengths`` names what may vary."""
    return shrink(_plain(module, example, names, outputs, lengths)).SerializeToString()


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
