"""How much of a hole is written anew, for families whose cells are either right or wrong."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from playground.samplers.step import State, Step, uniform


def partly(
    sampler: Callable, denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, strength: float, **options
) -> Iterator[Step]:
    """Run `sampler` on a share `strength` of each row's open cells, chosen at random, rounded up; the others keep
    their ids [B, L]. They are shown as decided, not as given: SDEdit (arXiv 2108.01073) with masks for its noise."""
    kept = ~fixed & ~_chosen(~fixed, strength, rngs)
    for step in sampler(denoiser, ids, fixed | kept, rngs, **options):
        yield replace(step, state=torch.where(kept, State.COMMITTED, step.state))


def _chosen(cells: Tensor, share: float, rngs: list[torch.Generator]) -> Tensor:
    """A share of each row's true cells [B, L], rounded up, drawn at random."""
    luck = uniform(cells.shape[1], rngs).masked_fill(~cells, torch.inf)
    rank = luck.argsort(dim=-1, stable=True).argsort(-1)
    count = torch.tensor([math.ceil(share * n - 1e-9) for n in cells.sum(1).tolist()])
    return rank < count[:, None]
