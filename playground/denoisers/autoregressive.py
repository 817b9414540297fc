"""The autoregressive baseline: each token from those before it, in a causal trunk (GPT)."""

import torch
from torch import Tensor, nn

from playground.denoisers.backbone import Head, Past, Pasts, Trunk, evened


class AutoregressiveDenoiser(nn.Module):
    """Row -> what each cell should be, given only the cells before it."""

    family = "autoregressive"

    def __init__(self, vocab_size: int, layers: int, width: int, heads: int, hidden: int, max_length: int):
        super().__init__()
        self.vocab_size = self.start_id = (
            vocab_size  # what stands before the first cell: the one id past the vocabulary
        )
        self.tokens = nn.Parameter(torch.zeros(vocab_size + 1, width))
        self.trunk = Trunk(layers, width, heads, hidden, max_length)
        self.head = Head(width, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids [B, L] -> logits [B, L, V], float32; those of cell i are computed from the ids before cell i."""
        return self.head(self.hidden(ids), self.tokens[: self.vocab_size]).float()

    def hidden(self, ids: Tensor) -> Tensor:
        """The trunk's answer [B, L, d], before the head."""
        return self.trunk(self.tokens[self.shifted(ids)], causal=True)

    def blanks(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """Logits [B, L, V] of cells in rows ids [B, L], the cells before each being given, whichever are hidden."""
        return self(ids)

    def shifted(self, ids: Tensor) -> Tensor:
        """The row as it is read: moved by one cell, after the start mark [B, L]."""
        return torch.cat([torch.full_like(ids[:, :1], self.start_id), ids[:, :-1]], dim=1)

    def following(self, read: Tensor, past: Past) -> Tensor:
        """Ids read since the last call [B, n], the cells before them in `past` -> logits [B, V] of the next cell.
        A whole row costs as many of these as it has cells, each of one cell's work."""
        return self.followings([(read, past)])[0]

    def followings(self, asked: list[tuple[Tensor, Past]]) -> list[Tensor]:
        """What `following` says of each, in one pass: as many ids are read of each row, wherever the rows are."""
        reads, pasts = zip(*asked, strict=True)
        rows = [len(read) for read in reads]
        h = self.trunk(self.tokens[evened(torch.cat(reads))], causal=True, past=Pasts(pasts, rows))[:, -1:]
        logits = self.head(h, self.tokens[: self.vocab_size]).squeeze(1).float()
        return logits[: sum(rows)].split(rows)
