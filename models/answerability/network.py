"""The second reader: a small encoder of linked questions with four uses, for the trainer.

``Encoder``: word pieces as frozen vectors distilled from MiniLM (each piece run through it alone,
as model2vec does), two transformer layers, then whether the question can be answered, a unit
vector for finding similar questions, and the states that the writer reads.
``Writer``: one causal layer with attention over the states; it rates a form, token by token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MOST_TOKENS, MOST_LEXEMES = 96, 64


class Attention(nn.Module):
    """Multi-head attention of ``x`` (batch, n, width) over ``y`` (batch, m, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.v, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.size)).transpose(1, 2)

    def forward(self, x: Tensor, y: Tensor, hidden: Tensor) -> Tensor:
        """``hidden``: added to the scores, broadcast to (batch, heads, n, m)."""
        q, k, v = self._split(self.q(x)), self._split(self.k(y)), self._split(self.v(y))
        scores = q @ k.transpose(-1, -2) * self.size**-0.5 + hidden
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))


class Layer(nn.Module):
    """Pre-norm transformer layer; with ``across`` it also reads other states."""

    def __init__(self, width: int, heads: int, drop: float, across: bool = False) -> None:
        super().__init__()
        self.norm1, self.own = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Dropout(drop),
                                  nn.Linear(3 * width, width))  # fmt: skip
        self.across = Attention(width, heads) if across else None
        self.norm3 = nn.LayerNorm(width) if across else None
        self.drop = nn.Dropout(drop)

    def forward(
        self, x: Tensor, hidden: Tensor, y: Tensor | None = None, y_hidden: Tensor | None = None
    ) -> Tensor:
        seen = self.norm1(x)
        x = x + self.drop(self.own(seen, seen, hidden))
        if self.across is not None and self.norm3 is not None:
            assert y is not None and y_hidden is not None
            x = x + self.drop(self.across(self.norm3(x), y, y_hidden))
        return x + self.drop(self.feed(self.norm2(x)))


class Encoder(nn.Module):
    """Token ids (batch, n) to (logit of unanswerable, unit vector, states)."""

    def __init__(self, vectors: Tensor, specials: int, width: int, layers: int, size: int) -> None:
        super().__init__()
        drop = 0.1
        self.specials = specials
        self.register_buffer("vectors", vectors)  # rows of the specials are zero
        self.project = nn.Linear(vectors.shape[1], width, bias=False)
        self.special = nn.Embedding(specials, width)
        self.place = nn.Embedding(MOST_TOKENS, width)
        nn.init.normal_(self.special.weight, std=0.5)
        nn.init.normal_(self.place.weight, std=0.1)
        self.drop = nn.Dropout(drop)
        self.layers = nn.ModuleList(Layer(width, 4, drop) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.pool = nn.Linear(width, 4)
        self.answer = nn.Sequential(nn.Dropout(drop), nn.Linear(4 * width, 64), nn.GELU(),
                                    nn.Linear(64, 1))  # fmt: skip
        self.point = nn.Linear(4 * width, size)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        beyond = ids >= self.specials
        x = self.project(self.vectors[ids])
        x = x + self.special(ids.masked_fill(beyond, 0)) * (~beyond).unsqueeze(-1)
        x = x + self.place.weight[: ids.shape[1]]
        hidden = ((ids == 0).to(x.dtype) * -1e4)[:, None, None, :]
        x = self.drop(x)
        for layer in self.layers:
            x = layer(x, hidden)
        states = self.norm(x)
        weights = (self.pool(states) + hidden[:, 0, 0, :, None]).softmax(1)
        pooled = (weights.transpose(1, 2) @ states).flatten(1)
        return self.answer(pooled)[:, 0], F.normalize(self.point(pooled), dim=-1), states


class Writer(nn.Module):
    """Log-probabilities of a form's lexemes given the states of its question."""

    def __init__(self, lexemes: int, width: int) -> None:
        super().__init__()
        self.word = nn.Embedding(lexemes, width)
        self.place = nn.Embedding(MOST_LEXEMES, width)
        nn.init.normal_(self.word.weight, std=0.3)
        nn.init.normal_(self.place.weight, std=0.1)
        self.layer = Layer(width, 4, 0.1, across=True)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, lexemes)

    def forward(self, states: Tensor, hidden: Tensor, before: Tensor) -> Tensor:
        """``before`` (batch, t): the lexeme before each; gives log-probabilities (batch, t, L)."""
        t = before.shape[1]
        later = torch.ones(t, t, dtype=torch.bool, device=before.device).triu(1)
        causal = later.to(states.dtype)[None, None] * -1e4
        x = self.word(before) + self.place.weight[:t]
        x = self.layer(x, causal, states, hidden)
        return self.out(self.norm(x)).log_softmax(-1)


class Reader(nn.Module):
    """Encoder, writer, and the lexemes that the unit vector must tell (which shape it)."""

    def __init__(self, vectors: Tensor, specials: int, lexemes: int, labels: int) -> None:
        super().__init__()
        self.shape = {"width": 128, "layers": 2, "size": 64}
        self.encoder = Encoder(vectors, specials, **self.shape)
        self.writer = Writer(lexemes, self.shape["width"])
        self.labels = nn.Linear(self.shape["size"], labels)
        self.scale = nn.Parameter(torch.tensor(8.0))

    def forward(self, ids: Tensor, before: Tensor, can: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(logit of unanswerable, log-probabilities of lexemes, logits of labels); the last two
        only of the questions in ``can``, a mask: the others have no form."""
        logit, point, states = self.encoder(ids)
        hidden = ((ids[can] == 0).to(states.dtype) * -1e4)[:, None, None, :]
        logp = self.writer(states[can], hidden, before[can])
        return logit, logp, self.labels(point[can] * self.scale)
