"""The continuous denoiser: Gaussian noise on token embeddings (CDCD, arXiv 2211.15089; Plaid, arXiv 2305.18619).

z = alpha E[x] + sigma eps, with g = log(sigma^2 / alpha^2) the log noise-to-signal ratio. The network
reads z as a *soft mask*: a cell that z leaves certain looks like its token, a hopeless one looks masked.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.denoisers.backbone import Head, Trunk

GIVEN_EVIDENCE = 3.0  # weight of a given cell's embedding: enough to make its token certain
LEVEL_FEATURES = 64
HOPELESS = 12.0  # a log noise-to-signal ratio at which a latent tells nothing


class ContinuousDenoiser(nn.Module):
    """Noisy embeddings of a row and the noise level -> what each cell should be.

    `prior` is the log unigram frequency of the training text; `schedule_loc` and `schedule_log_scale`
    are the Gumbel noise schedule fitted in training (LangFlow), read by `schedules.Learned`;
    `schedule_plateau` is the cross-entropy at full noise in the same fit, nats.
    """

    family = "continuous"

    def __init__(
        self, vocab_size: int, layers: int, width: int, heads: int, hidden: int, max_length: int, embedding_width: int
    ):
        super().__init__()
        self.vocab_size, self.embedding_width = vocab_size, embedding_width
        self.tokens = nn.Parameter(torch.zeros(vocab_size + 1, width))  # the last row is [MASK]
        self.embeddings = nn.Parameter(torch.zeros(vocab_size, embedding_width))
        self.prior = nn.Parameter(torch.zeros(vocab_size))
        self.trunk = Trunk(layers, width, heads, hidden, max_length)
        self.head = Head(width, vocab_size)
        self.latent_in = nn.Linear(embedding_width, width, bias=False)
        self.self_condition_in = nn.Linear(embedding_width, width, bias=False)
        self.given_flag = nn.Parameter(torch.zeros(2, width))
        self.prefix = nn.Parameter(torch.zeros(2, width))  # one cell for the noise level, one for the semantic code
        self.level_in = nn.Linear(LEVEL_FEATURES, width)
        self.level_out = nn.Linear(width, width)
        self.code_in = nn.Linear(embedding_width, width, bias=False)
        self.schedule_loc = nn.Parameter(torch.zeros(()))
        self.schedule_log_scale = nn.Parameter(torch.zeros(()))
        self.schedule_plateau = nn.Parameter(torch.zeros(()))

    def table(self) -> Tensor:
        """The diffused embeddings E [V, De], float32: rows of norm sqrt(De), so each coordinate has unit variance."""
        return F.normalize(self.embeddings.float(), dim=-1) * math.sqrt(self.embedding_width)

    def forward(
        self,
        z: Tensor,
        log_nsr: Tensor,
        self_condition: Tensor,
        given: Tensor,
        code: Tensor | None = None,
        table: Tensor | None = None,
    ) -> Tensor:
        """z [B, L, De], log_nsr [B], self_condition [B, L, De] (the last x_hat, or zeros), given [B, L] bool,
        code [B, De] or None, table = self.table() where the caller keeps it -> logits [B, L, V], float32.

        Given cells hold their clean embedding in z. The logits contain the evidence
        (alpha / sigma^2) z E^T: alone it is the exact posterior were the tokens independent.
        """
        h, evidence = self.hidden(z, log_nsr, self_condition, given, code, table)
        return self.head(h, self.tokens[: self.vocab_size]).float() + evidence

    def blanks(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """Logits [B, L, V] of the cells hidden [B, L] in rows ids [B, L], all the others being given. Hidden cells hold
        noise, always the same, at the highest level."""
        table = self.table()
        noise = torch.randn(ids.shape[1], table.shape[1], generator=torch.Generator().manual_seed(0)).to(ids.device)
        z = torch.where(hidden[..., None], noise, table[ids])
        level = torch.full((len(ids),), HOPELESS, device=ids.device)
        return self(z, level, torch.zeros_like(z), ~hidden, table=table)

    def hidden(
        self,
        z: Tensor,
        log_nsr: Tensor,
        self_condition: Tensor,
        given: Tensor,
        code: Tensor | None = None,
        table: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The trunk's answer [B, L, d], before the head, and the evidence [B, L, V]."""
        table = self.table() if table is None else table
        dtype = self.tokens.dtype
        alpha = torch.sigmoid(-log_nsr).sqrt()[:, None, None]
        weight = torch.exp((F.softplus(-log_nsr) - log_nsr) / 2)[:, None, None]  # alpha / sigma^2
        known = given[..., None]
        weight, scale = torch.where(known, GIVEN_EVIDENCE, weight), torch.where(known, 1.0, alpha)

        evidence = weight * (z @ table.t())
        posterior = torch.softmax(evidence + self.prior.float(), dim=-1)
        certainty = posterior.square().sum(-1, keepdim=True).to(dtype)
        soft_token = posterior.to(dtype) @ self.tokens[: self.vocab_size]
        x = certainty * soft_token + (1 - certainty) * self.tokens[self.vocab_size]
        x = x + self.latent_in((scale * z).to(dtype)) + self.self_condition_in(self_condition.to(dtype))
        x = x + self.given_flag[given.long()]
        return self.trunk(x, self._prefix(log_nsr, code, dtype)), evidence

    def _prefix(self, log_nsr: Tensor, code: Tensor | None, dtype: torch.dtype) -> Tensor:
        """Two extra cells [B, 2, d]: the noise level and the semantic code."""
        rate = torch.exp(torch.linspace(math.log(0.1), math.log(10), LEVEL_FEATURES // 2, device=log_nsr.device))
        angle = log_nsr[:, None].float() * rate
        features = torch.cat([angle.sin(), angle.cos()], dim=-1).to(dtype)
        each_row = _rowwise if not self.training else lambda f, x: f(x)
        level = self.prefix[0] + each_row(lambda f: self.level_out(F.silu(self.level_in(f))), features)
        meaning = self.prefix[1].expand_as(level)
        if code is not None:
            meaning = meaning + each_row(self.code_in, code.to(dtype))
        return torch.stack([level, meaning], dim=1)


def _rowwise(f, x: Tensor) -> Tensor:
    """f(x) one row at a time: a product of one row and of several rounds differently, which would make a row's
    text depend on its batch."""
    return torch.cat([f(row) for row in x.split(1)])
