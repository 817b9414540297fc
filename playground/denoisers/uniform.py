"""The uniform denoiser: every cell always holds a token, right or random (UDLM, arXiv 2412.10193; Duo,
arXiv 2506.10892; DiffusionGemma)."""

import torch
from torch import Tensor, nn

from playground.denoisers.backbone import Head, Trunk


class UniformDenoiser(nn.Module):
    """Row with random tokens -> what each cell should be.

    Nothing marks the wrong cells and no noise level is given: the denoiser tells them from the context and from its
    own last answer (self-conditioning), as in DiffusionGemma.
    """

    family = "uniform"

    def __init__(self, vocab_size: int, layers: int, width: int, heads: int, hidden: int, max_length: int):
        super().__init__()
        self.vocab_size = vocab_size
        self.tokens = nn.Parameter(torch.zeros(vocab_size + 1, width))  # the last row stands for "no answer yet"
        self.trunk = Trunk(layers, width, heads, hidden, max_length)
        self.head = Head(width, vocab_size)
        self.self_condition_in = nn.Linear(width, width, bias=False)
        self.given_flag = nn.Parameter(torch.zeros(2, width))

    def expected(self, probabilities: Tensor) -> Tensor:
        """The expected token vector of an answer: probabilities [B, L, V] -> self-condition [B, L, d]."""
        return probabilities.to(self.tokens.dtype) @ self.tokens[: self.vocab_size]

    def forward(self, ids: Tensor, self_condition: Tensor | None, given: Tensor) -> Tensor:
        """Token ids [B, L], `expected` of the last answer [B, L, d] or None, given [B, L] bool -> logits [B, L, V],
        float32."""
        return self.head(self.hidden(ids, self_condition, given), self.tokens[: self.vocab_size]).float()

    def hidden(self, ids: Tensor, self_condition: Tensor | None, given: Tensor) -> Tensor:
        """The trunk's answer [B, L, d], before the head."""
        if self_condition is None:
            self_condition = self.tokens[self.vocab_size].expand(*ids.shape, -1)
        x = self.tokens[ids] + self.self_condition_in(self_condition.to(self.tokens.dtype))
        return self.trunk(x + self.given_flag[given.long()])

    def blanks(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """Logits [B, L, V] of the cells hidden [B, L] in rows ids [B, L], all the others being given. What stands in
        hidden cells is random, but always the same."""
        luck = torch.Generator().manual_seed(0)
        random = torch.randint(self.vocab_size, ids.shape[1:], generator=luck).to(ids.device)
        return self(torch.where(hidden, random, ids), None, ~hidden)
