"""One ONNX file of both networks, its weights as eight-bit numbers with a scale a channel.

onnxruntime unfolds them once, when it loads the file, so that it runs as fast as with weights of 32
bits and the file is a quarter of the size. Models given several times are averaged weight by weight
(a model soup: Wortsman et al. 2022).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import network
import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from outlier import Outlier
from torch import nn

OPSET = 18
SMALL = 512  # weights with fewer numbers stay as they are


class Whole(nn.Module):
    """Image (n, 1, 224, 224) in 0..1 -> findings (n, 14), view (n), sex (n), masks (n, 3, 112,
    112), distance (n)."""

    def __init__(
        self, members: list[network.FindingsNet], masks: network.MaskNet, outlier: Outlier
    ) -> None:
        """Several networks of findings are asked side by side, each of the image and of its mirror
        image, and their logits averaged."""
        super().__init__()
        self.members = nn.ModuleList(members)
        self.masks, self.outlier = masks, outlier

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mirrored = images.flip(3)
        masks = (self.masks(images) + swapped(self.masks(mirrored))) / 2
        shapes = network.shapes_of(masks)
        each = [one(view, shapes) for one in self.members for view in (images, mirrored)]
        parts = zip(*each, strict=True)
        found, facts, features, _ = (torch.stack(part).mean(0) for part in parts)
        distance = self.outlier(features, masks)
        return found, facts[:, 0], facts[:, 1], masks, distance


def swapped(masks: torch.Tensor) -> torch.Tensor:
    """Masks of a mirrored image as those of the image: the lungs change sides."""
    return torch.stack([masks[:, 0], masks[:, 2], masks[:, 1]], 1).flip(3)


OUTPUTS = ("findings", "view", "sex", "masks", "distance")


def soup(states: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of several sets of weights."""
    return {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}


def onnx_of(model: nn.Module) -> onnx.ModelProto:
    """The network as ONNX, with any number of images at a time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.onnx"
        torch.onnx.export(
            model.eval(),
            (torch.rand(2, 1, 224, 224),),
            str(path),
            input_names=["image"],
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "n"} for name in ("image", *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
        )
        return onnx.load(str(path))


def shrink(model: onnx.ModelProto) -> onnx.ModelProto:
    """Each large weight as int8 with one scale for each output channel, unfolded when loaded."""
    kept, steps = [], []
    for weight in model.graph.initializer:
        value = numpy_helper.to_array(weight)
        if value.dtype != np.float32 or value.size < SMALL or value.ndim < 2:
            kept.append(weight)
            continue
        rest = tuple(range(1, value.ndim))
        scale = np.abs(value).max(axis=rest, keepdims=True).astype(np.float32) / 127 + 1e-12
        whole = np.round(value / scale).astype(np.int8)
        name = weight.name
        kept.append(numpy_helper.from_array(whole, name + "_q"))
        kept.append(numpy_helper.from_array(scale, name + "_s"))
        cast = helper.make_node("Cast", [name + "_q"], [name + "_f"], to=onnx.TensorProto.FLOAT)
        steps += [cast, helper.make_node("Mul", [name + "_f", name + "_s"], [name])]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for step in reversed(steps):
        model.graph.node.insert(0, step)
    onnx.checker.check_model(model)
    return model
