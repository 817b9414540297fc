"""The trunk all four families share: a BERT-shaped transformer encoder (post-norm, learned positions).

The shape is all-MiniLM-L6-v2's, so that its weights can start the training: 6 layers, d 384, 12 heads.
"""

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

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, d] -> [B, L, d]"""
        b, length, width = x.shape
        q, k, v = self.qkv(x).view(b, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = self.attention_norm(x + self.out(a.transpose(1, 2).reshape(b, length, width)))
        return self.mlp_norm(x + self.down(F.gelu(self.up(x), approximate="tanh")))


class Trunk(nn.Module):
    """Embedded cells [B, L, d] -> contextual cells [B, L, d]; `prefix` [B, P, d] is seen but not returned."""

    def __init__(self, layers: int, width: int, heads: int, hidden: int, max_length: int):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(max_length, width))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, hidden) for _ in range(layers))

    def forward(self, x: Tensor, prefix: Tensor | None = None) -> Tensor:
        x = x + self.positions[1 : x.shape[1] + 1]  # BERT's position 0 belonged to its [CLS]
        skip = 0
        if prefix is not None:
            x, skip = torch.cat([prefix, x], dim=1), prefix.shape[1]
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
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
