"""The baseline's sampler: one token a step, from left to right."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from playground.denoisers.backbone import Past
from playground.samplers.step import CANDIDATES, NEVER, State, Step, draw, observe, uniform
from playground.text import BOS, EOS, PAD


def left_to_right(
    denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, temperature: float = 1.0, top_k: int = 0,
    top_p: float = 1.0,
) -> Iterator[Step]:  # fmt: skip
    """Draw each cell from what the cells before it say (GPT), keeping their keys and values. A row ends at its end
    mark; fixed cells are read when their turn comes, and cannot be seen before."""
    rows, length = ids.shape
    device, unknown = denoiser.tokens.device, denoiser.start_id
    x = torch.where(fixed, ids, unknown)
    shape = (rows, length, CANDIDATES)
    probability, entropy = fixed.float(), torch.where(fixed, 0.0, math.log(denoiser.vocab_size))
    candidates, chances = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    luck = uniform(length, rngs)  # drawn for every cell, so that a row does not depend on the holes of others
    past, unread = Past(), torch.full((rows, 1), unknown)
    ended = torch.zeros(rows, dtype=torch.bool)
    free = (~fixed).any(0)
    total, done = int(free.sum()), 0
    if total == 0:  # all cells are given: a run of one step that says so
        yield Step(
            index=0, total=1, level=0.0, tokens=x, state=torch.full_like(x, State.FIXED), probability=probability,
            entropy=entropy, candidates=candidates, candidate_probability=chances,
        )  # fmt: skip
    for cell in range(length):
        here = fixed[:, cell]
        if free[cell]:
            logits = denoiser.following(unread.to(device), past)
            logits = allowed(logits, start=cell == 0, end=not fixed[:, cell + 1 :].any())
            seen = observe(logits)
            drawn = draw(logits, temperature, luck[:, cell], top_k, top_p)
            drawn = torch.where(ended, PAD, drawn)
            x[:, cell] = torch.where(here, ids[:, cell], drawn)
            chosen = seen.probability(logits, drawn).masked_fill(here | ended, 1.0)
            probability[:, cell], entropy[:, cell] = chosen, seen.entropy.masked_fill(here | ended, 0.0)
            candidates[:, cell], chances[:, cell] = seen.candidates, seen.chances
            ended = ended | (drawn == EOS) & ~here
            unread, done = x[:, cell : cell + 1], done + 1
            last = done == total or bool(ended.all())
            if bool(ended.all()):
                x = torch.where(x == unknown, PAD, x)
            state = torch.where(x == unknown, State.NOISE, State.COMMITTED)
            yield Step(
                index=done - 1, total=total, level=1 - done / total if not last else 0.0, tokens=x.clone(),
                state=torch.where(fixed, State.FIXED, state), probability=probability.clone(),
                entropy=entropy.clone(), candidates=candidates.clone(), candidate_probability=chances.clone(),
                evaluations=done,
            )  # fmt: skip
            if last:
                return
        else:
            unread = torch.cat([unread, ids[:, cell : cell + 1]], dim=1)


def allowed(logits: Tensor, start: bool, end: bool) -> Tensor:
    """Logits [B, V] without the padding mark, which is never written; the start mark only at the start, and the end
    mark only where no fixed cell follows."""
    never = [PAD] + [BOS] * (not start) + [EOS] * (not end)
    return logits.index_fill(-1, torch.tensor(never, device=logits.device), NEVER)
