"""Samplers for masked rows: which masks to fill at each evaluation, and with what.

All draw a token for every open cell from softmax(logits / T); they differ in which of these draws
they commit. Draws are by inverse CDF in float64: noise of low precision is a hidden, lower
temperature (arXiv 2409.02908). Rankings read the raw logits: ranking after the temperature ties
at low T and then fills from left to right.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.samplers.step import CANDIDATES, State, Step, draw, followed, guided, observe, uniform, without_marks


@dataclass(frozen=True)
class Open:
    """What the masked cells look like at one evaluation; [n] over the n open cells of all rows, row by row."""

    cells: Tensor  # bool [B, L], which cells are open
    drawn: Tensor  # the token drawn for each
    confidence: Tensor  # its raw probability
    entropy: Tensor
    margin: Tensor  # best minus second best raw probability
    luck: Tensor  # uniform in [0, 1)


def ancestral(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
    temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0,
) -> Iterator[Step]:  # fmt: skip
    """MDLM's reverse process (arXiv 2406.07524): each mask opens with the posterior probability, whatever it holds."""
    yield from remask(
        denoiser,
        ids,
        fixed,
        rngs,
        steps=steps,
        schedule=schedule,
        temperature=temperature,
        top_p=top_p,
        guidance=guidance,
        eta=0.0,
    )


def remask(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
    temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0, eta: float = 0.1,
) -> Iterator[Step]:  # fmt: skip
    """ReMDM-cap (arXiv 2503.00307): filled cells may be masked again with probability min(eta, its maximum),
    so that mistakes can be mended. eta 0 is `ancestral`."""

    def choose(view: Open, k: int) -> tuple[Tensor, Tensor | None]:
        masked, masked_next = schedule.mask_rate(1 - k / steps), schedule.mask_rate(1 - (k + 1) / steps)
        sigma = min(eta, remask_limit(masked, masked_next))
        opens = view.luck < unmask_probability(masked, masked_next, sigma)
        if sigma == 0:
            return opens, None
        return opens, uniform(ids.shape[1], rngs) < sigma

    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, choose)


def confidence(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
               temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0) -> Iterator[Step]:  # fmt: skip
    """LLaDA's low-confidence remasking (arXiv 2502.09992): commit the drawn tokens of highest raw probability."""
    rank = _ranked(lambda view: view.confidence, fixed, steps, schedule)
    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, rank)


def random(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
           temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0) -> Iterator[Step]:  # fmt: skip
    """Random order, as many cells a step as the schedule says (LLaDA's `random` remasking)."""
    rank = _ranked(lambda view: view.luck, fixed, steps, schedule)
    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, rank)


def entropy(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
            temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0) -> Iterator[Step]:  # fmt: skip
    """Commit where the denoiser's distribution has the lowest entropy (Dream 7B's `entropy`)."""
    rank = _ranked(lambda view: -view.entropy, fixed, steps, schedule)
    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, rank)


def margin(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int, schedule,
           temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0) -> Iterator[Step]:  # fmt: skip
    """Commit where the best token is furthest ahead of the second (Dream 7B's `topk_margin`)."""
    rank = _ranked(lambda view: view.margin, fixed, steps, schedule)
    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, rank)


def threshold(denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, steps: int,
              temperature: float = 1.0, top_p: float = 1.0, guidance: float = 0.0,
              threshold: float = 0.9) -> Iterator[Step]:  # fmt: skip
    """Commit every drawn token above a raw probability, at least one a row and all in the last step
    (Fast-dLLM, arXiv 2505.22618). Often done before `steps` evaluations."""

    def choose(view: Open, k: int) -> tuple[Tensor, None]:
        best = _top(view.cells, view.confidence, view.cells.any(1).long())
        return (view.confidence > threshold) | best | (k + 1 == steps), None

    yield from _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, choose)


def unmask_probability(masked: float, masked_next: float, sigma: float = 0.0) -> float:
    """q(z_s is a token | z_t is masked) = (alpha_s - (1 - sigma) alpha_t) / (1 - alpha_t) (ReMDM),
    alpha = 1 - mask rate."""
    return 1.0 if masked_next == 0 else ((1 - masked_next) - (1 - sigma) * (1 - masked)) / masked


def remask_limit(masked: float, masked_next: float) -> float:
    """The largest probability of masking a token again that keeps the marginals: (1 - alpha_s) / alpha_t, at most 1."""
    return 1.0 if masked >= 1 else min(1.0, masked_next / (1 - masked))


def _fill(denoiser, ids, fixed, rngs, steps, temperature, top_p, guidance, choose: Callable) -> Iterator[Step]:
    """The loop all samplers share. `choose(view, k)` -> (which of the open cells to commit [n], which committed
    cells to mask again [B, L] or None)."""
    mask, device = denoiser.mask_id, denoiser.tokens.device
    guiding = guidance > 0 and bool(fixed.any())
    inner = followed(ids, fixed, denoiser.vocab_size)
    x = torch.where(fixed, ids, mask)
    shape = (*x.shape, CANDIDATES)
    probability, candidates, chances = torch.zeros(x.shape), torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    for k in range(steps):
        cells = (x == mask) & ~fixed
        logits = denoiser(x.to(device))[cells.to(device)]
        if guiding:
            without = denoiser(torch.where(fixed, mask, x).to(device))[cells.to(device)]
            logits = guided(logits, without, guidance)
        seen = observe(without_marks(logits, inner[cells]))
        candidates[cells], chances[cells] = seen.candidates, seen.chances
        luck, drawing = uniform(x.shape[1], rngs)[cells], uniform(x.shape[1], rngs)[cells]
        drawn = draw(logits, temperature, drawing, top_p=top_p)
        raw, best = seen.probability(logits, drawn), seen.chances
        commit, again = choose(Open(cells, drawn, raw, seen.entropy, best[:, 0] - best[:, 1], luck), k)

        entropy = torch.zeros(x.shape).masked_scatter(cells, seen.entropy.masked_fill(commit, 0.0))
        probability = probability.masked_scatter(cells, torch.where(commit, raw, best[:, 0]))
        x = x.masked_scatter(cells, torch.where(commit, drawn, mask))
        if again is not None:
            x = torch.where(again & ~fixed & ~cells, mask, x)
        state = torch.where(x == mask, State.NOISE, State.COMMITTED)
        yield Step(
            index=k, total=steps, level=1 - k / steps, tokens=x, state=torch.where(fixed, State.FIXED, state),
            probability=probability.masked_fill(fixed, 1.0), entropy=entropy,
            candidates=candidates.clone(), candidate_probability=chances.clone(), evaluations=(k + 1) * (1 + guiding),
        )  # fmt: skip
        if not ((x == mask) & ~fixed).any() and again is None:
            return


def _ranked(score: Callable[[Open], Tensor], fixed: Tensor, steps: int, schedule) -> Callable:
    """Commit the best-scored open cells, so many that the masks left follow the schedule, rounded for each row."""
    masks = (~fixed).sum(1)

    def choose(view: Open, k: int) -> tuple[Tensor, None]:
        left = (masks * schedule.mask_rate(1 - (k + 1) / steps)).round().long()
        return _top(view.cells, score(view), view.cells.sum(1) - left), None

    return choose


def _top(cells: Tensor, score: Tensor, count: Tensor) -> Tensor:
    """The `count[b]` best-scored open cells of each row b, as a mask over the open cells [n]."""
    full = torch.full(cells.shape, -torch.inf, dtype=torch.float64).masked_scatter(cells, score.double())
    rank = full.argsort(dim=-1, descending=True, stable=True).argsort(-1)
    return (rank < count[:, None])[cells]
