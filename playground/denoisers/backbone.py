"""The trunk all four families share: a BERT-shaped transformer encoder (post-norm, learned positions).

The shape is all-MiniLM-L6-v2's, so that its weights can start the training: 6 layers, d 384, 12 heads.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layer(nn.Module):
    """One BERT layer: self-attention and MLP, each followed by a residual sum and a LayerNorm."""

    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is not a multiple of heads {heads}")
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.mlp_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, causal: bool = False, past: Past | None = None, dropout: float = 0.0) -> Tensor:
        """[B, L, d] -> [B, L, d]. `causal`: a cell sees only itself and the cells before it; `past`: the keys and
        values of the P cells before x, which x sees too and adds itself to."""
        b, length, width = x.shape
        q, k, v = self.qkv(x).view(b, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = past.extend(self, k, v)
        a = attention(q, k, v, causal).transpose(1, 2).reshape(b, length, width)
        x = self.attention_norm(x + F.dropout(self.out(a), dropout))
        return self.mlp_norm(x + F.dropout(self.down(F.gelu(self.up(x), approximate="tanh")), dropout))


def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """q [B, H, L, c], k and v [B, H, P + L, c] -> [B, H, L, c]. Written out: on two cores and rows this short the
    training step is a third faster than with the fused kernel."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if causal and q.shape[2] > 1:
        length, seen = scores.shape[-2:]
        later = torch.ones(length, seen, dtype=torch.bool, device=q.device).triu(seen - length + 1)
        scores = scores.masked_fill(later, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v


class Past:
    """The keys and values of the cells a causal trunk has read (a KV cache)."""

    def __init__(self):
        self.length = 0
        self._kept: dict[Layer, tuple[Tensor, Tensor]] = {}

    def extend(self, layer: Layer, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self._kept:
            k, v = (torch.cat([old, new], dim=2) for old, new in zip(self._kept[layer], (k, v), strict=True))
        self._kept[layer] = k, v
        return k, v


class Trunk(nn.Module):
    """Embedded cells [B, L, d] -> contextual cells [B, L, d]; `prefix` [B, P, d] is seen but not returned.
    `dropout`: the share of each layer's additions that is dropped, in training only."""

    def __init__(self, layers: int, width: int, heads: int, hidden: int, max_length: int):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(max_length, width))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, hidden) for _ in range(layers))
        self.dropout = 0.0

    def forward(
        self, x: Tensor, prefix: Tensor | None = None, causal: bool = False, past: Past | None = None
    ) -> Tensor:
        skip, start = 0, 1 + (past.length if past else 0)  # BERT's position 0 belonged to its [CLS]
        x = x + self.positions[start : start + x.shape[1]]
        if prefix is not None:
            x, skip = torch.cat([prefix, x], dim=1), prefix.shape[1]
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, causal, past, self.dropout if self.training else 0.0)
        if past is not None:
            past.length += x.shape[1]
        return x[:, skip:].contiguous()  # a strided view would take another kernel, and other rounding, in a batch


class Head(nn.Module):
    """BERT's prediction head; the output matrix is the tied token table [V, d]."""

    def __init__(self, width: int, vocab_size: int):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, h: Tensor, table: Tensor) -> Tensor:
        """[B, L, d], [V, d] -> logits [B, L, V]"""
        return F.linear(self.norm(F.gelu(self.dense(h), approximate="tanh")), table, self.bias)
