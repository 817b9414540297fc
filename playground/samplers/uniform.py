"""Samplers for rows in which every cell always holds a token, right or random: no cell is ever final before the end."""

from collections.abc import Iterator

import torch
from torch import Tensor

from playground.samplers.step import (
    COMMITTED_FROM,
    DRAFT_FROM,
    GREEDY,
    Observed,
    State,
    Step,
    draw,
    followed,
    observe,
    uniform,
    without_marks,
)  # fmt: skip

STABLE = 0.005  # nats a cell: a row this sure, whose answer has not changed, is done (DiffusionGemma)


def ancestral(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
    temperature: float = 1.0, top_p: float = 1.0, self_conditioning: bool = True,
) -> Iterator[Step]:  # fmt: skip
    """The reverse of uniform noise (D3PM, arXiv 2107.03006; UDLM, arXiv 2412.10193; Duo): draw a clean token from the
    denoiser, then the next row from the exact posterior given that token and the present one."""
    x = _random_row(denoiser, ids, fixed, rngs)
    hint = None
    for k in range(steps):
        now, then = schedule.mask_rate(1 - k / steps), schedule.mask_rate(1 - (k + 1) / steps)
        logits = _ask(denoiser, x, hint, fixed)
        hint = _expected(denoiser, logits, temperature) if self_conditioning else None
        seen = observe(logits)
        clean = _draw(logits, temperature, uniform(ids.shape[1], rngs), top_p)
        weights = posterior(x == clean, now, then, denoiser.vocab_size)
        outcome = _pick(weights, uniform(ids.shape[1], rngs))
        random = _random_tokens(denoiser, ids.shape[1], rngs)
        x = torch.where(fixed, ids, torch.where(outcome == 0, clean, torch.where(outcome == 1, x, random)))
        yield _step(seen, logits, x, fixed, k, steps, final=k + 1 == steps)


def entropy_bound(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, temperature: float = 1.0,
    top_p: float = 1.0, self_conditioning: bool = True, bound: float = 0.1,
) -> Iterator[Step]:  # fmt: skip
    """DiffusionGemma's sampler: keep the draws of the surest cells, as many as fit in the entropy bound and at least
    one, and make the others random again, also those kept before. The answer is every cell's best token. A row is
    done early when that answer stays the same and is sure."""
    x = _random_row(denoiser, ids, fixed, rngs)
    hint, answer = None, None
    done = torch.zeros(len(ids), dtype=torch.bool)
    for k in range(steps):
        logits = _ask(denoiser, x, hint, fixed)
        hint = _expected(denoiser, logits, temperature) if self_conditioning else None
        seen = observe(logits)
        clean = _draw(logits, temperature, uniform(ids.shape[1], rngs), top_p)
        random = _random_tokens(denoiser, ids.shape[1], rngs)
        accepted = accept(seen.entropy.masked_fill(fixed, torch.inf), bound)
        best = torch.where(fixed, ids, seen.candidates[..., 0])
        if answer is not None:
            best = torch.where(done[:, None], answer, best)
            sure = (seen.entropy.masked_fill(fixed, 0.0).sum(1) / (~fixed).sum(1).clamp(min=1)) < STABLE
            done = done | ((best == answer).all(1) & sure)
        answer = best
        x = torch.where(fixed, ids, torch.where(accepted, clean, random))
        final = k + 1 == steps or bool(done.all())
        yield _step(seen, logits, answer, fixed, k, steps, final, accepted)
        if final:
            return


def posterior(same: Tensor, noised: float, noised_next: float, vocab_size: int) -> Tensor:
    """Weights [..., 3] of the three ways the next cell can come about, given the present token and the clean one:
    it is the clean token, the present one stays, a random one. `same`: the two are equal; `noised`: the share of
    random cells now and next. From q(x_s | x_t, x_0) ~ q(x_t | x_s) q(x_s | x_0), where each factor keeps a token
    with probability a = alpha_t / alpha_s (or alpha_s) and else draws one of all V."""
    signal, signal_next = 1 - noised, 1 - noised_next
    stay = signal / signal_next
    weights = torch.tensor([signal_next * (1 - stay), stay * (1 - signal_next), (1 - stay) * (1 - signal_next)])
    weights = weights.double().expand(*same.shape, 3).clone()
    weights[..., 0] += torch.where(same, stay * signal_next * vocab_size, 0.0)
    return weights


def accept(entropy: Tensor, bound: float) -> Tensor:
    """Entropies [B, L] in nats (infinite where there is nothing to decide) -> the cells to keep: in order of entropy,
    while the entropies of those before add up to at most `bound`; so the surest cell always, [B, L] bool."""
    ordered = entropy.double().sort(dim=-1, stable=True)
    before = ordered.values.cumsum(-1) - ordered.values
    kept = (before.nan_to_num(torch.inf) <= bound) & ordered.values.isfinite()
    return torch.zeros_like(kept).scatter(-1, ordered.indices, kept)


def _ask(denoiser, x: Tensor, hint: Tensor | None, fixed: Tensor) -> Tensor:
    device = denoiser.tokens.device
    logits = denoiser(x.to(device), hint, fixed.to(device))
    return without_marks(logits, followed(x, fixed, denoiser.vocab_size))


def _expected(denoiser, logits: Tensor, temperature: float) -> Tensor:
    if temperature < GREEDY:
        return denoiser.tokens[logits.argmax(-1)]
    return denoiser.expected(torch.softmax(logits / temperature, dim=-1))


def _draw(logits: Tensor, temperature: float, luck: Tensor, top_p: float) -> Tensor:
    return draw(logits.flatten(0, 1), temperature, luck.flatten(), top_p=top_p).view(luck.shape)


def _pick(weights: Tensor, luck: Tensor) -> Tensor:
    """An index for each of weights [..., n], by inverse CDF at luck [...]."""
    cdf = weights.cumsum(-1)
    return (luck[..., None] * cdf[..., -1:] >= cdf).sum(-1).clamp(max=weights.shape[-1] - 1)


def _random_tokens(denoiser, length: int, rngs: list[torch.Generator]) -> Tensor:
    """[B, L]"""
    return torch.stack([torch.randint(denoiser.vocab_size, (length,), generator=rng) for rng in rngs])


def _random_row(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator]) -> Tensor:
    return torch.where(fixed, ids, _random_tokens(denoiser, ids.shape[1], rngs))


def _step(
    seen: Observed, logits: Tensor, tokens: Tensor, fixed: Tensor, k: int, steps: int, final: bool,
    accepted: Tensor | None = None,
) -> Step:  # fmt: skip
    probability = seen.probability(logits, tokens)
    sure = probability >= COMMITTED_FROM if accepted is None else accepted
    state = torch.where(sure, State.COMMITTED, State.DRAFT)
    state = torch.where((probability < DRAFT_FROM) & ~sure, State.NOISE, state)
    if final:
        state = torch.full_like(state, State.COMMITTED)
    return Step(
        index=k, total=steps, level=1 - k / steps, tokens=tokens,
        state=torch.where(fixed, State.FIXED, state),
        probability=probability.masked_fill(fixed, 1.0), entropy=seen.entropy.masked_fill(fixed, 0.0),
        candidates=seen.candidates, candidate_probability=seen.chances, evaluations=k + 1,
    )  # fmt: skip
