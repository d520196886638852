"""A small llama-architecture transformer, named as GGUF names its tensors.

Own code rather than transformers' because it must train fast on two CPU cores (bf16 products,
loss on the form only) and export to llama.cpp without renaming or permuting anything: rotary
positions are applied to neighbouring pairs, as llama.cpp's "llama" architecture does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; ``vocab`` counts text tokens, types, references and lexemes."""

    vocab: int
    hidden: int = 576
    layers: int = 8
    heads: int = 9
    kv_heads: int = 3
    ffn: int = 1536
    rope_base: float = 100_000.0
    eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def rotary(length: int, dim: int, base: float) -> Tensor:
    """Cosines and sines (2, length, dim / 2) of the rotary embedding (Su et al. 2021)."""
    inverse = base ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    angle = torch.arange(length, dtype=torch.float32)[:, None] * inverse[None, :]
    return torch.stack((angle.cos(), angle.sin()))


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate neighbouring pairs of ``x`` (batch, length, heads, dim)."""
    cos, sin = table[0][None, :, None, :], table[1][None, :, None, :]
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return pairs.flatten(-2).to(x.dtype)


class Norm(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich 2019)."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (wide * scale * self.weight.float()).to(x.dtype)


class Block(nn.Module):
    """One layer: grouped-query attention and a SwiGLU feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        kv = shape.kv_heads * shape.head_dim
        self.attn_norm = Norm(shape.hidden, shape.eps)
        self.attn_q = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.attn_k = nn.Linear(shape.hidden, kv, bias=False)
        self.attn_v = nn.Linear(shape.hidden, kv, bias=False)
        self.attn_output = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.ffn_norm = Norm(shape.hidden, shape.eps)
        self.ffn_gate = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.ffn_up = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.ffn_down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x: Tensor, table: Tensor, drop: float) -> Tensor:
        batch, length, _ = x.shape
        dim, groups = self.shape.head_dim, self.shape.heads // self.shape.kv_heads
        h = self.attn_norm(x)
        q = rotate(self.attn_q(h).view(batch, length, -1, dim), table).transpose(1, 2)
        k = rotate(self.attn_k(h).view(batch, length, -1, dim), table).transpose(1, 2)
        v = self.attn_v(h).view(batch, length, -1, dim).transpose(1, 2)
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        # Right-padded batches need no mask: a real token never looks to its right.
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        a = self.attn_output(a.transpose(1, 2).reshape(batch, length, -1))
        x = x + (F.dropout(a, drop) if drop else a)
        h = self.ffn_norm(x)
        f = self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))
        return x + (F.dropout(f, drop) if drop else f)


class Network(nn.Module):
    """The whole model; input and output embeddings are tied."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocab, shape.hidden)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape.hidden, shape.eps)
        self.register_buffer("table", rotary(512, shape.head_dim, shape.rope_base), False)

    def hidden(self, ids: Tensor, drop: float = 0.0) -> Tensor:
        """Last hidden states (batch, length, hidden) of token ids (batch, length)."""
        x = self.token_embd(ids)
        table = self.table[:, : ids.shape[1]]
        for block in self.blk:
            x = block(x, table, drop)
        return self.output_norm(x)

    def logits(self, states: Tensor) -> Tensor:
        """Scores over the vocabulary, float32."""
        return F.linear(states, self.token_embd.weight.to(states.dtype)).float()

    def forward(self, ids: Tensor, drop: float = 0.0) -> Tensor:
        return self.logits(self.hidden(ids, drop))
