"""What each family learns: one function a family, rows of text -> a loss in nats a token.

All have one signature, `(denoiser, rows, noise, part)`: clean rows [B, L]; `noise` draws everything random;
`part` is the slice of the rows that this process computes. What is random is drawn for the whole batch and the loss
is divided by the weight of the whole batch, so the losses (and gradients) of the parts add up to those of the batch.

The loss is always cross-entropy, and only the cells that count reach the vocabulary. <pad> weighs a tenth.
"""

import math
import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.schedules import clean_log_nsr
from playground.text import BOS, EOS, PAD
from playground.training.data import given_cells

PAD_WEIGHT = 0.1
CODE_SHARE = 0.35  # of the rows, told their semantic code
CHUNK = 512  # cells that reach the vocabulary together: their logits stay in the processor's cache
ALL = slice(None)


@dataclass
class Noise:
    """Everything random about training, from one seed; its state goes into the checkpoint."""

    cells: torch.Generator
    choices: random.Random
    device: str = "cpu"

    @classmethod
    def seeded(cls, seed: int, device: str = "cpu") -> "Noise":
        return cls(torch.Generator().manual_seed(seed), random.Random(seed), device)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.cells).to(self.device)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.cells).to(self.device)

    def token(self, *shape: int, vocab_size: int) -> Tensor:
        return torch.randint(vocab_size, shape, generator=self.cells).to(self.device)

    def given(self, rows: Tensor) -> Tensor:
        return given_cells(rows.cpu(), self.choices, self.cells).to(self.device)

    def stratified(self, count: int) -> Tensor:
        """`count` numbers in [0, 1), one in each of as many equal parts, in random order: less variance in the loss
        than independent draws (VDM, arXiv 2107.00630)."""
        levels = (torch.arange(count) + torch.rand(1, generator=self.cells)) / count
        return levels[torch.randperm(count, generator=self.cells)].to(self.device)


def masked(denoiser, rows: Tensor, noise: Noise, part: slice = ALL) -> Tensor:
    """Guess the masked cells (LLaDA, arXiv 2502.09992; MDLM, arXiv 2406.07524). Each row's mask rate is uniform in
    (0, 1); in a quarter of the rows the masks are what follows a prefix, as in writing on. Flat weight on masked
    cells: MDLM's 1/t would make it a likelihood bound, and far noisier."""
    rate = 0.02 + 0.98 * noise.stratified(len(rows))
    hidden = noise.uniform(*rows.shape) < rate[:, None]
    prefix = torch.arange(rows.shape[1], device=rows.device) < ((1 - rate) * rows.shape[1])[:, None]
    hidden = torch.where((noise.uniform(len(rows)) < 0.25)[:, None], ~prefix, hidden)
    weight = weights(rows, hidden)
    rows, hidden, weight = rows[part], hidden[part], weight[part]
    return cross_entropy(denoiser, denoiser.hidden(torch.where(hidden, denoiser.mask_id, rows)), rows, weight)


def uniform(denoiser, rows: Tensor, noise: Noise, part: slice = ALL) -> Tensor:
    """Guess every cell that is not given, where a uniform share t of them was replaced by random tokens
    (DiffusionGemma's recipe: flat cross-entropy on right and wrong cells alike; UDLM, arXiv 2412.10193, has the
    bound). Half of the batches are told their own first answer."""
    given = noise.given(rows)
    rate = noise.stratified(len(rows))
    wrong = (noise.uniform(*rows.shape) < rate[:, None]) & ~given
    seen = torch.where(wrong, noise.token(*rows.shape, vocab_size=denoiser.vocab_size), rows)
    weight = weights(rows, ~given)
    rows, seen, given, weight = rows[part], seen[part], given[part], weight[part]
    hint = None
    if noise.choices.random() < 0.5:
        with torch.no_grad():
            hint = denoiser.expected(torch.softmax(denoiser(seen, None, given), dim=-1))
    return cross_entropy(denoiser, denoiser.hidden(seen, hint, given), rows, weight)


def autoregressive(denoiser, rows: Tensor, noise: Noise, part: slice = ALL) -> Tensor:
    """Guess every cell from those before it; nothing is random but the rows. Rows are cut at their last cell
    (`Corpus.rows(cut=True)`), and <pad> does not count."""
    weight = weights(rows, rows != PAD)
    return cross_entropy(denoiser, denoiser.hidden(rows[part]), rows[part], weight[part])


def continuous(denoiser, rows: Tensor, noise: Noise, part: slice = ALL) -> Tensor:
    """Guess every cell that is not given from Gaussian noise on its embedding, z = alpha E[x] + sigma eps
    (CDCD, arXiv 2211.15089; Plaid, arXiv 2305.18619). The noise level is drawn from the learned schedule, which is
    fitted on the side (LangFlow). Half of the batches are told their own first answer (self-conditioning), a third
    of the rows their semantic code."""
    table = denoiser.table()
    width = table.shape[1]
    given = noise.given(rows)
    level = log_nsr(denoiser, noise.stratified(len(rows)))
    clean = table[rows]
    alpha, sigma = torch.sigmoid(-level).sqrt()[:, None, None], torch.sigmoid(level).sqrt()[:, None, None]
    z = torch.where(given[..., None], clean, alpha * clean + sigma * noise.normal(*rows.shape, width))
    told = noise.uniform(len(rows)) < CODE_SHARE
    jitter = noise.normal(len(rows), width) * 0.5 * noise.uniform(len(rows), 1)
    code = (semantic_code(clean.detach(), rows) + jitter) * told[:, None]
    weight = weights(rows, ~given)
    free = (~given.any(1) & ~told).float()
    free = free / free.sum().clamp(min=1)
    rows, given, level, z, code, weight, free = (t[part] for t in (rows, given, level, z, code, weight, free))

    hint = torch.zeros_like(z)
    if noise.choices.random() < 0.5:
        with torch.no_grad():
            answer = torch.softmax(denoiser(z, level, hint, given, code, table), dim=-1)
            hint = (answer.to(denoiser.tokens.dtype) @ table.to(denoiser.tokens.dtype)).float()
    h, evidence = denoiser.hidden(z, level, hint, given, code, table)
    loss, each = cross_entropy(denoiser, h, rows, weight, evidence, per_row=True)
    return loss + schedule_error(denoiser, level, each, free)


def log_nsr(denoiser, u: Tensor) -> Tensor:
    """g = ln(sigma^2 / alpha^2) [B] at the quantiles u [B] of the learned schedule, from a little below its clean end
    (where every token is decided) up; no gradient."""
    clean = clean_log_nsr(denoiser.vocab_size, denoiser.embedding_width) - 0.3
    loc, scale = denoiser.schedule_loc.detach().double(), denoiser.schedule_log_scale.detach().double().exp()
    first = torch.exp(-torch.exp(-(clean - loc) / scale)).clamp(min=1e-6)
    quantile = first + (1 - 1e-4 - first) * u.double()
    return (loc - scale * torch.log(-torch.log(quantile))).clamp(min=clean).float()


def schedule_error(denoiser, level: Tensor, loss: Tensor, weight: Tensor) -> Tensor:
    """Weighted squared distance of the rows' losses [B] from the curve plateau * GumbelCDF(g): its gradient fits the
    schedule's three scalars and nothing else. It is added with value zero, as it is not the model's loss."""
    scale = denoiser.schedule_log_scale.exp()
    curve = denoiser.schedule_plateau * torch.exp(-torch.exp(-(level - denoiser.schedule_loc) / scale))
    error = ((loss.detach() - curve).square() * weight).sum()
    return error - error.detach()


def semantic_code(clean: Tensor, rows: Tensor) -> Tensor:
    """The mean clean embedding of a row's words, at the norm of an embedding: [B, L, De] -> [B, De]."""
    words = ((rows != PAD) & (rows != BOS) & (rows != EOS)).float()[..., None]
    return F.normalize((clean * words).sum(1), dim=-1) * math.sqrt(clean.shape[-1])


def weights(rows: Tensor, counted: Tensor) -> Tensor:
    """The weight of each cell [B, L] in the loss; over the batch they sum to 1."""
    weight = counted.float() * torch.where(rows == PAD, PAD_WEIGHT, 1.0)
    return weight / weight.sum().clamp(min=1e-9)


def cross_entropy(
    denoiser, h: Tensor, rows: Tensor, weight: Tensor, evidence: Tensor | None = None, per_row: bool = False
):
    """Trunk's answer [B, L, d], clean rows and weights [B, L] -> the weighted cross-entropy, nats. `evidence`
    [B, L, V] is added to the logits. With `per_row` also each row's mean over its weighted cells [B]."""
    cells = weight > 0
    h, target, table = h[cells], rows[cells], denoiser.tokens[: denoiser.vocab_size]
    extra = None if evidence is None else evidence[cells]
    losses = []
    for at in range(0, len(h), CHUNK):
        logits = denoiser.head(h[at : at + CHUNK], table).float()
        if extra is not None:
            logits = logits + extra[at : at + CHUNK]
        losses.append(F.cross_entropy(logits, target[at : at + CHUNK], reduction="none"))
    each = torch.cat(losses) if losses else h.sum(-1)
    loss = (each * weight[cells]).sum()
    if not per_row:
        return loss
    spread = torch.zeros_like(weight).masked_scatter(cells, each.detach() * weight[cells])
    return loss, spread.sum(1) / weight.sum(1).clamp(min=1e-9)


OBJECTIVES = {f.__name__: f for f in (masked, uniform, autoregressive, continuous)}
