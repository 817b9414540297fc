"""The trunk all four families share: a BERT-shaped transformer encoder (post-norm, learned positions).

The shape is all-MiniLM-L6-v2's, so that its weights can start the training: 6 layers, d 384, 12 heads.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EVEN = 4


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

    def forward(
        self, x: Tensor, causal: bool = False, past: Past | Pasts | None = None, dropout: float = 0.0
    ) -> Tensor:
        """[B, L, d] -> [B, L, d]. `causal`: a cell sees only itself and the cells before it; `past`: the keys and
        values of the P cells before x, which x sees too and adds itself to."""
        b, length, width = x.shape
        q, k, v = self.qkv(x).view(b, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = attention(q, k, v, causal) if past is None else past.attention(self, q, k, v)
        a = seen.transpose(1, 2).reshape(b, length, width)
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
    """The keys and values of the `length` cells a causal trunk has read of some rows (a KV cache)."""

    def __init__(self):
        self.length = 0
        self._kept: dict[Layer, tuple[Tensor, Tensor]] = {}  # of more cells where the last pass failed

    def positions(self, table: Tensor, length: int) -> Tensor:
        """Those [length, d] of the next cells; BERT's position 0 belonged to its [CLS]."""
        return table[1 + self.length : 1 + self.length + length]

    def attention(self, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal attention of the next cells [B, H, L, c] to those before them and to themselves."""
        if layer in self._kept:
            kept = (old[:, :, : self.length] for old in self._kept[layer])
            k, v = (torch.cat([old, new], dim=2) for old, new in zip(kept, (k, v), strict=True))
        self._kept[layer] = k, v
        # Of one group of rows the parts are views that take another kernel, and other rounding, than those of several.
        return attention(q.contiguous(), k.contiguous(), v.contiguous(), causal=True)

    def read(self, length: int) -> None:
        self.length += length


class Pasts:
    """The pasts of several groups of rows that are read together, wherever each group is; `rows`: how many each has.
    Only the cells before it differ for a row, so all but the attention is done for all of them at once. Rows after
    theirs are there for company, see `evened`."""

    def __init__(self, pasts: list[Past], rows: list[int]):
        self._pasts, self._rows = pasts, rows

    def positions(self, table: Tensor, length: int) -> Tensor:
        """Those [B, length, d] of the next cells."""
        groups = zip(self._pasts, self._rows, strict=True)
        return evened(torch.cat([past.positions(table, length).expand(rows, -1, -1) for past, rows in groups]))

    def attention(self, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        *parts, company = zip(*(part.split([*self._rows, len(q) - sum(self._rows)]) for part in (q, k, v)), strict=True)
        seen = [past.attention(layer, *part) for past, part in zip(self._pasts, parts, strict=True)]
        return torch.cat([*seen, company[0]])

    def read(self, length: int) -> None:
        for past in self._pasts:
            past.read(length)


def evened(rows: Tensor) -> Tensor:
    """Rows [B, ...] and as many zeros as make their number a multiple of EVEN. A product of a few rows may take another
    kernel, and other rounding, than one of many; these take the same."""
    return F.pad(rows, (0,) * (2 * rows.dim() - 1) + (-len(rows) % EVEN,))


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
        self, x: Tensor, prefix: Tensor | None = None, causal: bool = False, past: Past | Pasts | None = None
    ) -> Tensor:
        skip = 0
        x = x + (past or Past()).positions(self.positions, x.shape[1])
        if prefix is not None:
            x, skip = torch.cat([prefix, x], dim=1), prefix.shape[1]
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, causal, past, self.dropout if self.training else 0.0)
        if past is not None:
            past.read(x.shape[1])
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
