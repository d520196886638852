"""How far an image is from the chest X-rays of the training: features and the areas of its masks.

The distance is Mahalanobis's (Lee et al. 2018) in the features' main directions, plus what is left
outside them, plus a little for heart and lungs whose areas are not usual: a lung may be white,
so that they alone tell nothing.
"""

from __future__ import annotations

import torch
from torch import nn

DIRECTIONS = 48
MOST = 12.0  # what unusual areas may count for


class Outlier(nn.Module):
    """Features (n, 1280) and mask logits (n, 3, h, w) -> distance (n); about 1 for an X-ray."""

    def __init__(self, features: torch.Tensor, areas: torch.Tensor) -> None:
        """Learn what is usual from features (m, 1280) and areas (m, 6) of X-rays."""
        super().__init__()
        mean = features.mean(0)
        _, spread, across = torch.linalg.svd(features - mean, full_matrices=False)
        self.register_buffer("mean", mean)
        self.register_buffer("main", across[:DIRECTIONS].T.contiguous())
        deviation = spread[:DIRECTIONS] / len(features) ** 0.5
        self.register_buffer("deviation", deviation)
        away = (features - mean) - (features - mean) @ self.main @ self.main.T
        self.register_buffer("left", away.pow(2).sum(1).mean().sqrt())
        self.register_buffer("area_mean", areas.mean(0))
        self.register_buffer("area_deviation", areas.std(0))

    def forward(self, features: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        centred = features - self.mean
        along = centred @ self.main
        inside = (along / self.deviation).pow(2).mean(1)
        outside = (centred - along @ self.main.T).pow(2).sum(1) / self.left**2
        strange = ((areas(masks) - self.area_mean) / self.area_deviation).pow(2).mean(1)
        return (inside + outside + strange.clamp(max=MOST) / 4) / 2


def areas(masks: torch.Tensor) -> torch.Tensor:
    """Logits (n, 3, h, w) -> share of the image that is heart, left and right lung, and how sure
    the network is where it sees one (n, 6)."""
    p = torch.sigmoid(masks)
    share = p.mean(dim=(2, 3))
    sure = (p * p).sum(dim=(2, 3)) / (p.sum(dim=(2, 3)) + 1.0)
    return torch.cat([share, sure], 1)
