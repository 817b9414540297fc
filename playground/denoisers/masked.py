"""The masked denoiser: a cell is either its token or [MASK] (MDLM, arXiv 2406.07524; LLaDA, arXiv 2502.09992)."""

import torch
from torch import Tensor, nn

from playground.denoisers.backbone import Head, Trunk


class MaskedDenoiser(nn.Module):
    """Row with masks -> what each masked cell should be. It needs no noise level: the masks show it."""

    family = "masked"

    def __init__(self, vocab_size: int, layers: int, width: int, heads: int, hidden: int, max_length: int):
        super().__init__()
        self.vocab_size = self.mask_id = vocab_size  # [MASK] is the one id past the vocabulary
        self.tokens = nn.Parameter(torch.zeros(vocab_size + 1, width))
        self.trunk = Trunk(layers, width, heads, hidden, max_length)
        self.head = Head(width, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids [B, L] (`mask_id` where nothing is known) -> logits [B, L, V], float32."""
        return self.head(self.hidden(ids), self.tokens[: self.vocab_size]).float()

    def hidden(self, ids: Tensor) -> Tensor:
        """The trunk's answer [B, L, d], before the head."""
        return self.trunk(self.tokens[ids])

    def blanks(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """Logits [B, L, V] of the cells hidden [B, L] in rows ids [B, L], all the others being given."""
        return self(ids.masked_fill(hidden, self.mask_id))
