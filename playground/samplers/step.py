"""What one function evaluation showed: the record every family yields and every view draws."""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from playground.text import EOS, PAD

CANDIDATES = 5
GREEDY = 1e-4  # a temperature below it takes the best token: logits divided by less would overflow
NEVER = -1e4  # a logit; infinity would make the entropy 0 * inf


class State(IntEnum):
    """What a cell is in a Step."""

    NOISE = 0  # nothing to read yet: a mask, or a guess below DRAFT_FROM
    DRAFT = 1  # a guess that may still change
    COMMITTED = 2  # the sampler has decided, or the guess has passed COMMITTED_FROM
    FIXED = 3  # given by the visitor; never changes


DRAFT_FROM, COMMITTED_FROM = 0.1, 0.95  # probabilities; continuous rows never commit a cell before the end


@dataclass(frozen=True)
class Step:
    """One function evaluation over a batch of rows. All tensors are on the CPU.

    tokens [B, L] the row as it stands (an id past the vocabulary is a mask); state [B, L] of State;
    probability [B, L] of the shown token and entropy [B, L] in nats, under the denoiser at temperature 1;
    candidates and candidate_probability [B, L, 5]; estimate [B, L, De] the denoiser's x_hat, or None where
    the family has no embeddings; level: the noise level u this step started from, 1 noise to 0 text;
    evaluations: forward passes so far (guidance costs two a step); seconds: compute time so far.
    """

    index: int
    total: int
    level: float
    tokens: Tensor
    state: Tensor
    probability: Tensor
    entropy: Tensor
    candidates: Tensor
    candidate_probability: Tensor
    estimate: Tensor | None = None
    evaluations: int = 0
    seconds: float = 0.0

    def timed(self, seconds: float) -> "Step":
        return replace(self, seconds=seconds)


class Observed(NamedTuple):
    """A denoiser's distributions in brief, on the CPU: entropy [...] in nats, the best five ids and their
    probabilities [..., 5], and the log of the sum of exponentials [..., 1]."""

    entropy: Tensor
    candidates: Tensor
    chances: Tensor
    total: Tensor

    def probability(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """The probability of one token in each distribution, [..., V], [...] -> [...]."""
        return (logits.gather(-1, tokens.to(logits.device)[..., None]).cpu() - self.total).exp().squeeze(-1)


def observe(logits: Tensor) -> Observed:
    """Logits [..., V] -> what a Step shows of them."""
    p = torch.softmax(logits, dim=-1)
    best = logits.topk(CANDIDATES, dim=-1)
    chances = p.gather(-1, best.indices)
    total = best.values[..., :1] - chances[..., :1].log()  # cheaper than another logsumexp
    entropy = total - (p[..., None, :] @ logits[..., None]).squeeze(-1)
    found = (entropy.squeeze(-1).clamp(min=0), best.indices, chances, total)
    return Observed(*(t.cpu() for t in found))


def normal(shape: tuple[int, ...], rngs: list[torch.Generator], device) -> Tensor:
    """Standard normal noise [B, *shape], each row from its own generator, so that a row never depends on its batch."""
    return torch.stack([torch.randn(shape, generator=rng) for rng in rngs]).to(device)


def uniform(length: int, rngs: list[torch.Generator]) -> Tensor:
    """Uniform noise in [0, 1), float64 [B, L], each row from its own generator."""
    return torch.stack([torch.rand(length, generator=rng, dtype=torch.float64) for rng in rngs])


def draw(logits: Tensor, temperature: float, luck: Tensor, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """A token for each row of logits [n, V] from softmax(logits / T), by inverse CDF at luck [n] in [0, 1); argmax
    at T = 0. `top_k` > 0 keeps that many best tokens; `top_p` < 1 the fewest best that hold that much probability
    (nucleus, arXiv 1904.09751), counted at this temperature."""
    if temperature < GREEDY:
        return logits.argmax(-1).cpu()
    p = torch.softmax(logits.cpu() / temperature, dim=-1)
    if top_k or top_p < 1:
        p = _kept(p, top_k or p.shape[-1], top_p)
    cdf = p.cumsum(-1, dtype=torch.float64)
    at = torch.searchsorted(cdf, (luck * cdf[:, -1])[:, None], right=True)
    return at.squeeze(-1).clamp(max=logits.shape[-1] - 1)


def _kept(p: Tensor, top_k: int, top_p: float) -> Tensor:
    """Probabilities [n, V] with those outside top-k or the nucleus at 0; the best one always stays."""
    best = p.topk(min(top_k, p.shape[-1]), dim=-1)
    before = best.values.cumsum(-1) - best.values
    values = best.values.masked_fill(before >= max(top_p, 1e-9), 0.0)
    return torch.zeros_like(p).scatter(-1, best.indices, values)


def followed(ids: Tensor, fixed: Tensor, vocab_size: int) -> Tensor:
    """The open cells of rows [B, L] that given text follows, as it does a hole in a text; given padding and masks are
    no text."""
    text = fixed & (ids != PAD) & (ids < vocab_size)
    return text.flip(1).cumsum(1).flip(1).bool() & ~fixed


def without_marks(logits: Tensor, cells: Tensor) -> Tensor:
    """Logits [..., V], changed in place: no padding, start or end mark in `cells` [...]."""
    logits[..., : EOS + 1].masked_fill_(cells.to(logits.device)[..., None], NEVER)
    return logits


def guided(conditional: Tensor, unconditional: Tensor, guidance: float) -> Tensor:
    """Classifier-free guidance (arXiv 2207.12598): away from what the model would say without the given cells."""
    return conditional + guidance * (conditional - unconditional)
