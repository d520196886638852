"""The encoder-decoder: MiniLM reads the linked question, a small decoder writes the form.

The encoder is all-MiniLM-L6-v2's (six layers of width 384, normalised after each part as BERT is:
Devlin et al. 2019); the decoder has layers of the same width, normalised before each part, that
attend to themselves and to the question (Vaswani et al. 2017, section 3.1). Its vocabulary is the
form's own words, tied to its scores.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH, WIDE = 384, 1536
READ_HEADS, WRITE_HEADS = 12, 6
READ_LAYERS = 6
LONGEST, MOST_LEXEMES = 512, 98


class Attention(nn.Module):
    """Attention of ``x`` (batch, n, width) to ``y`` (batch, m, width)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def split(self, x: Tensor) -> Tensor:
        """(batch, heads, n, width of a head)."""
        return x.view(x.shape[0], -1, self.heads, WIDTH // self.heads).transpose(1, 2)

    def attend(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Of ``x`` to keys and values as `split` gives them."""
        q = self.split(self.query(x))
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(found.transpose(1, 2).reshape(x.shape))

    def forward(
        self, x: Tensor, y: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        k, v = self.split(self.key(y)), self.split(self.value(y))
        return self.attend(x, k, v, mask, causal)


class ReadLayer(nn.Module):
    """A layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm1 = Attention(READ_HEADS), nn.LayerNorm(WIDTH, 1e-12)
        self.wide, self.narrow = nn.Linear(WIDTH, WIDE), nn.Linear(WIDE, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, x: Tensor, mask: Tensor | None, drop: float) -> Tensor:
        x = self.norm1(x + F.dropout(self.attention(x, x, mask), drop, self.training))
        wide = self.narrow(F.gelu(self.wide(x)))
        return self.norm2(x + F.dropout(wide, drop, self.training))


class WriteLayer(nn.Module):
    """A layer of the decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.own = nn.LayerNorm(WIDTH), Attention(WRITE_HEADS)
        self.norm2, self.question = nn.LayerNorm(WIDTH), Attention(WRITE_HEADS)
        self.norm3 = nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, WIDE), nn.Linear(WIDE, WIDTH)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, drop: float) -> Tensor:
        own = self.norm1(x)
        x = x + F.dropout(self.own(own, own, causal=True), drop, self.training)
        x = x + F.dropout(self.question(self.norm2(x), memory, mask), drop, self.training)
        return x + F.dropout(self.grow(x), drop, self.training)

    def grow(self, x: Tensor) -> Tensor:
        """The part that looks at each place alone."""
        return self.narrow(F.gelu(self.wide(self.norm3(x))))


class Network(nn.Module):
    """``tokens`` of the question (word pieces, then the special ones), ``lexemes`` of the form."""

    def __init__(self, tokens: int, lexemes: int, layers: int = 3) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.reads = nn.ModuleList(ReadLayer() for _ in range(READ_LAYERS))
        self.lexemes = nn.Embedding(lexemes, WIDTH)
        self.written = nn.Embedding(MOST_LEXEMES, WIDTH)
        self.writes = nn.ModuleList(WriteLayer() for _ in range(layers))
        self.last = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.lexemes.weight, std=0.04)
        nn.init.normal_(self.written.weight, std=0.02)

    def read(self, ids: Tensor, drop: float = 0.0) -> tuple[Tensor, Tensor]:
        """The question's states (batch, n, width) and which of them are no padding (0)."""
        mask = (ids != 0)[:, None, None, :]
        x = self.norm(self.tokens(ids) + self.places.weight[: ids.shape[1]])
        for layer in self.reads:
            x = layer(x, mask, drop)
        return x, mask

    def forward(self, ids: Tensor, form: Tensor, drop: float = 0.0) -> Tensor:
        """Scores (batch, m, lexemes) of what follows each lexeme of ``form`` (batch, m)."""
        memory, mask = self.read(ids, drop)
        x = self.lexemes(form) + self.written.weight[: form.shape[1]]
        for layer in self.writes:
            x = layer(x, memory, mask, drop)
        return self.last(x) @ self.lexemes.weight.T


class Reading(nn.Module):
    """What is run once a question: ids (1, n) to the keys and values of each layer of the decoder,
    (2 x layers, 1, heads, n, width of a head)."""

    def __init__(self, net: Network) -> None:
        super().__init__()
        self.net = net

    def forward(self, ids: Tensor) -> Tensor:
        x = self.net.norm(self.net.tokens(ids) + self.net.places.weight[: ids.shape[1]])
        for layer in self.net.reads:
            x = layer(x, None, 0.0)
        made = []
        for layer in self.net.writes:
            a = layer.question
            made += [a.split(a.key(x)), a.split(a.value(x))]
        return torch.stack(made)


class Writing(nn.Module):
    """What is run once a lexeme: token (forms), memory as `Reading` gives it, past (2 x layers,
    forms, heads, m, width of a head), to scores (forms, lexemes) and past with one more."""

    def __init__(self, net: Network) -> None:
        super().__init__()
        self.net = net

    def forward(self, token: Tensor, memory: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        place = past.shape[3]
        x = self.net.lexemes(token)[:, None] + self.net.written.weight[place : place + 1]
        made = []
        for k, layer in enumerate(self.net.writes):
            own = layer.norm1(x)
            keys = torch.cat([past[2 * k], layer.own.split(layer.own.key(own))], 2)
            values = torch.cat([past[2 * k + 1], layer.own.split(layer.own.value(own))], 2)
            made += [keys, values]
            x = x + layer.own.attend(own, keys, values, None, False)
            shape = (x.shape[0], *memory.shape[2:])
            known = memory[2 * k].expand(shape), memory[2 * k + 1].expand(shape)
            x = x + layer.question.attend(layer.norm2(x), *known, None, False)
            x = x + layer.grow(x)
        return (self.net.last(x) @ self.net.lexemes.weight.T)[:, 0], torch.stack(made)
