"""MiniLM that reads a linked question, alone or with a reading of it, and small heads over it.

The encoder is that of the parser (models/text2sql/network.py), which knows the marks of linked
values; a question and its reading are one sequence, told apart by a segment vector as in BERT
(Devlin et al. 2019). Every head is one linear layer over the first state.
"""

from __future__ import annotations

import torch
from network import LONGEST, READ_LAYERS, WIDTH, ReadLayer
from torch import Tensor, nn

# What a question is, by itself: can the record answer it, and else why not.
CLASSES = ("answerable", "not_in_database", "ambiguous", "outside_knowledge", "prediction",
           "changes_data", "half", "chitchat", "too_complex")  # fmt: skip


class Encoder(nn.Module):
    """``tokens`` are word pieces and special tokens, as the parser's."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.parts = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.reads = nn.ModuleList(ReadLayer() for _ in range(READ_LAYERS))
        self.faithful = nn.Linear(WIDTH, 1)
        self.classes = nn.Linear(WIDTH, len(CLASSES))

    def forward(self, ids: Tensor, part: Tensor, drop: float = 0.0) -> Tensor:
        """First states (batch, width) of ``ids`` (batch, n), 0 where there is nothing; ``part``
        is 0 in the question and 1 in the reading."""
        mask = (ids != 0)[:, None, None, :]
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]] + self.parts(part)
        x = nn.functional.dropout(self.norm(x), drop, self.training)
        for layer in self.reads:
            x = layer(x, mask, drop)
        return x[:, 0]


class Served(nn.Module):
    """What is exported: ids and parts (batch, n) to log-odds of being faithful (batch) and
    log-probabilities of the classes (batch, classes)."""

    def __init__(self, net: Encoder) -> None:
        super().__init__()
        self.net = net

    def forward(self, ids: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
        first = self.net(ids, part)
        return self.net.faithful(first)[:, 0], torch.log_softmax(self.net.classes(first), -1)
