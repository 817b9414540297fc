"""Samplers for Gaussian noise on embeddings: from pure noise z down the noise schedule to text.

Each evaluation turns the latent z into logits and these into x_hat = softmax(logits / T) E, the
expected clean embedding; the update moves z to the next, lower noise level.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from playground.samplers.step import (
    COMMITTED_FROM,
    DRAFT_FROM,
    GREEDY,
    State,
    Step,
    followed,
    guided,
    normal,
    observe,
    without_marks,
)  # fmt: skip


def sde(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
    temperature: float = 1.0, guidance: float = 0.0, churn: float = 1.0, self_conditioning: bool = True,
    rounding: str = "contextual", strength: float = 1.0,
) -> Iterator[Step]:  # fmt: skip
    """From noise to text with fresh noise at each step, as much as churn says. Ancestral sampling (VDM,
    arXiv 2107.00630), churn being DDIM's eta (arXiv 2010.02502).

    ids [B, L] with the given tokens where fixed [B, L]; one generator a row. churn 1 draws from the
    exact Gaussian posterior, 0 is the deterministic ODE step. With `strength` below 1 the open cells start
    from the embeddings of their ids, noised to that level only (SDEdit, arXiv 2108.01073). Yields `steps` Steps.
    """
    table = denoiser.table()
    z = normal((ids.shape[1], table.shape[1]), rngs, table.device)
    if strength < 1:
        z = schedule.alpha(strength) * table[ids.to(table.device)] + schedule.sigma(strength) * z
    yield from descend(
        denoiser, z, ids, fixed, rngs, levels=torch.linspace(strength, 0, steps).tolist(), schedule=schedule,
        temperature=temperature, guidance=guidance, churn=churn, self_conditioning=self_conditioning,
        rounding=rounding,
    )  # fmt: skip


def ode(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
        temperature: float = 1.0, guidance: float = 0.0, self_conditioning: bool = True,
        rounding: str = "contextual", strength: float = 1.0) -> Iterator[Step]:  # fmt: skip
    """The deterministic DDIM step (arXiv 2010.02502), a first-order solver of the probability-flow ODE:
    after the first noise nothing is random, so the text moves smoothly with it."""
    yield from sde(
        denoiser, ids, fixed, rngs, steps=steps, schedule=schedule, temperature=temperature, guidance=guidance,
        churn=0.0, self_conditioning=self_conditioning, rounding=rounding, strength=strength,
    )  # fmt: skip


def descend(
    denoiser, z: Tensor, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, levels: list[float], schedule,
    temperature: float = 1.0, guidance: float = 0.0, churn: float = 1.0, self_conditioning: bool = True,
    rounding: str = "contextual", code: Tensor | None = None, held: tuple[Tensor, Tensor] | None = None,
) -> Iterator[Step]:  # fmt: skip
    """From latents z [B, L, De] at noise level levels[0] down the levels, one Step a level. `code` [B, De]: the
    semantic code the denoiser is shown; guidance pushes away from what it says without code and given cells.
    `held` (embeddings [B, L, De], levels [B]): above its level, a row's clean embeddings are taken to be these."""
    table = denoiser.table()
    rounded = table.to(denoiser.tokens.dtype)  # for the one product over the vocabulary that a step costs
    device, given = table.device, fixed.to(table.device)
    clean = table[torch.where(given, ids.to(device), 0)]
    known = given[..., None]
    inner = followed(ids, fixed, denoiser.vocab_size)
    guiding = guidance > 0 and (bool(fixed.any()) or code is not None)
    estimate = torch.zeros_like(z) if held is None else held[0]
    steps = len(levels)

    for k, u in enumerate(levels):
        z = torch.where(known, clean, z)
        g = torch.full((len(z),), schedule.log_nsr(u), device=device)
        hint = estimate if self_conditioning else torch.zeros_like(z)
        logits = denoiser(z, g, hint, given, code=code, table=table)
        if guiding:
            nothing = torch.zeros_like(given)
            logits = guided(logits, denoiser(z.masked_fill(known, 0.0), g, hint, nothing, table=table), guidance)
        logits = without_marks(logits, inner)
        estimate = expected_embedding(logits, rounded, temperature).float()
        if held is not None:
            estimate = torch.where((held[1] < u)[:, None, None], held[0], estimate)
        yield _step(logits, z, table, estimate, ids, fixed, k, steps, u, rounding, (k + 1) * (1 + guiding))
        if k + 1 < steps:
            noise = normal(z.shape[1:], rngs, device) if churn > 0 else None
            z = denoise_step(z, estimate, schedule, u, levels[k + 1], churn, noise)


def expected_embedding(logits: Tensor, table: Tensor, temperature: float) -> Tensor:
    """x_hat = softmax(logits / T) E, [B, L, V] -> [B, L, De] in E's precision; at T = 0 the argmax's embedding."""
    if temperature < GREEDY:
        return table[logits.argmax(-1)]
    return torch.softmax(logits / temperature, dim=-1).to(table.dtype) @ table


def denoise_step(
    z: Tensor, estimate: Tensor, schedule, u: float, v: float, churn: float, noise: Tensor | None
) -> Tensor:
    """From noise level u to v < u. With churn 1, a draw from q(z_v | z_u, x_hat), whose variance is
    sigma_v^2 (1 - exp(g_v - g_u)); that share of the noise is drawn anew, the rest keeps its direction. With churn 0
    it may also go up, v > u."""
    alpha, sigma, alpha_next, sigma_next = schedule.alpha(u), schedule.sigma(u), schedule.alpha(v), schedule.sigma(v)
    fresh = churn * sigma_next * math.sqrt(max(-math.expm1(schedule.log_nsr(v) - schedule.log_nsr(u)), 0.0))
    direction = (z - alpha * estimate) / sigma
    z = alpha_next * estimate + math.sqrt(max(sigma_next**2 - fresh**2, 0.0)) * direction
    return z if noise is None else z + fresh * noise


def nearest(z: Tensor, table: Tensor, inner: Tensor) -> Tensor:
    """Nearest-neighbour rounding: the token whose embedding is closest to each latent, the context ignored; no mark
    in cells `inner` [B, L]."""
    return without_marks(z @ table.t(), inner).argmax(-1)


def _step(logits, z, table, estimate, ids, fixed, k, steps, u, rounding, evaluations) -> Step:
    seen = observe(logits)
    tokens, probability = seen.candidates[..., 0], seen.chances[..., 0]
    if rounding == "nearest":
        tokens = nearest(z, table, followed(ids, fixed, len(table))).cpu()
        probability = seen.probability(logits, tokens)
    state = torch.where(probability >= COMMITTED_FROM, State.COMMITTED, State.DRAFT)
    state = torch.where(probability < DRAFT_FROM, State.NOISE, state)
    if k + 1 == steps:
        state = torch.full_like(state, State.COMMITTED)
    return Step(
        index=k, total=steps, level=u,
        tokens=torch.where(fixed, ids, tokens),
        state=torch.where(fixed, State.FIXED, state),
        probability=probability.masked_fill(fixed, 1.0),
        entropy=seen.entropy.masked_fill(fixed, 0.0),
        candidates=seen.candidates, candidate_probability=seen.chances,
        estimate=estimate.cpu(), evaluations=evaluations,
    )  # fmt: skip
