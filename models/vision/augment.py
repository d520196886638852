"""What is done to training images so that another hospital's look no stranger than these.

Crops, stretched sides, turns, shifts; contrast and brightness; borders; burned-in marks covered or
added (the AP and PORTABLE texts give the view away, and with it the patient's state).
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F


def warp(
    images: torch.Tensor, masks: torch.Tensor | None, size: int, strength: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Crop, stretch, turn, shift and mirror: images (n, 1, h, w) in 0..1 -> (n, 1, size, size).

    Masks (n, 3, h, w) go the same way; a mirrored image's lungs change sides, since the lung on
    the right of the picture is called the left one.
    """
    n = len(images)
    zoom = torch.exp(torch.empty(n).uniform_(math.log(0.75), math.log(1.18)) * strength)
    aspect = torch.exp(torch.empty(n).uniform_(-0.14, 0.14) * strength)
    angle = torch.randn(n) * math.radians(6) * strength
    shift = torch.randn(n, 2) * 0.06 * strength
    mirror = torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
    cos, sin = torch.cos(angle), torch.sin(angle)
    theta = torch.stack(
        [
            torch.stack([mirror * zoom * aspect * cos, -zoom * sin, shift[:, 0]], 1),
            torch.stack([mirror * zoom * sin, zoom / aspect * cos, shift[:, 1]], 1),
        ],
        1,
    )
    grid = F.affine_grid(theta, [n, 1, size, size], align_corners=False)
    fill = torch.rand(n, 1, 1, 1) * (torch.rand(n, 1, 1, 1) < 0.2)  # mostly black outside
    moved = F.grid_sample(images - fill, grid, align_corners=False) + fill
    if masks is None:
        return moved, None
    turned = F.grid_sample(masks, grid, align_corners=False)
    swapped = turned[:, [0, 2, 1]]
    return moved, torch.where((mirror < 0)[:, None, None, None], swapped, turned)


def tone(images: torch.Tensor) -> torch.Tensor:
    """Change gamma, contrast, brightness and grain of images in 0..1."""
    n = len(images)
    gamma = torch.exp(torch.randn(n, 1, 1, 1) * 0.3)
    gain = torch.exp(torch.randn(n, 1, 1, 1) * 0.25)
    lift = torch.randn(n, 1, 1, 1) * 0.08
    grain = torch.rand(n, 1, 1, 1) * 0.03
    seen = images.clamp(0, 1) ** gamma
    return (seen * gain + lift + grain * torch.randn_like(images)).clamp(0, 1)


def marks(images: torch.Tensor) -> torch.Tensor:
    """Borders of black or white, patches over the corners and elsewhere, and marks like letters."""
    n, _, h, w = images.shape
    out = images.clone()
    for k in range(n):
        if torch.rand(()) < 0.15:
            edge = int(torch.randint(1, max(2, h // 12), ()))
            level = float(torch.rand(()) < 0.3)
            side = int(torch.randint(4, ()))
            if side % 2:
                out[k, :, slice(0, edge) if side == 1 else slice(h - edge, h)] = level
            else:
                out[k, :, :, slice(0, edge) if side == 0 else slice(w - edge, w)] = level
        for _ in range(int(torch.randint(0, 3, ()))):
            high, wide = (int(torch.randint(4, h // 6, ())) for _ in range(2))
            top, left = _corner(h, high), _corner(w, wide)
            patch = out[k, :, top : top + high, left : left + wide]
            if torch.rand(()) < 0.5:
                patch[:] = patch.mean()
            else:  # strokes of a few pixels, as letters are
                strokes = F.interpolate(
                    (torch.rand(1, 1, max(1, high // 2), max(1, wide // 2)) < 0.4).float(),
                    size=(high, wide),
                )[0]
                patch[:] = torch.where(strokes > 0, torch.ones_like(patch), patch)
    return out


def _corner(length: int, part: int) -> int:
    """Where a mark begins along one side: mostly near an end."""
    room = length - part
    near = int(torch.rand(()) ** 2 * room * 0.4)
    return near if torch.rand(()) < 0.5 else room - near


def mixed(
    images: torch.Tensor, labels: torch.Tensor, alpha: float = 0.3
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mixup (Zhang et al. 2018): images and labels blended with those of another in the batch."""
    share = torch.distributions.Beta(alpha, alpha).sample((len(images),))
    share = torch.maximum(share, 1 - share)
    other = torch.randperm(len(images))
    wide = share[:, None, None, None]
    blended = wide * images + (1 - wide) * images[other]
    return blended, share[:, None] * labels + (1 - share[:, None]) * labels[other]
