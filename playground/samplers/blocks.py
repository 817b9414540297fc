"""Semi-autoregressive sampling: finish a block of the row, then slide on to the next (LLaDA, arXiv 2502.09992; BD3-LM,
arXiv 2503.09573). Any sampler of this package can do the inside of a block."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from playground.samplers.step import CANDIDATES, State, Step
from playground.text import EOS, PAD

VIEW = 128  # cells the denoiser sees at once where blocks allow: what it was mostly trained on


def by_blocks(
    sampler: Callable, denoiser, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], *, block: int, steps: int,
    **options,
) -> Iterator[Step]:  # fmt: skip
    """Run `sampler` on one block of `block` cells after another; `steps` are shared out by their open cells.

    In its turn a block is seen with the finished cells before it and as many open cells after it, which a masked
    denoiser sees masked and others draft and throw away. A row whose end mark is finished is filled with padding.
    """
    starts = range(0, ids.shape[1], block)
    shares = _shares([int((~fixed[:, a : a + block]).any(0).sum()) for a in starts], steps)
    row = _Row(denoiser, ids, fixed, sum(shares))
    for start, share in zip(starts, shares, strict=True):
        end = min(start + block, ids.shape[1])
        row.end_where_marked(start)
        if share == 0 or bool(row.known[:, start:end].all()):
            continue
        view = slice(max(0, start - max(block, VIEW - 2 * block)), min(end + block, ids.shape[1]))
        given, seen = row.known[:, view].clone(), row.tokens[:, view].clone()
        if hasattr(denoiser, "mask_id"):  # a given mask stays one
            after = torch.arange(view.start, view.stop) >= end
            given, seen = given | after, torch.where(after & ~given, denoiser.mask_id, seen)
        for step in sampler(denoiser, seen, given, rngs, steps=share, **options):
            yield row.shown(step, view, end)
        row.keep(step, view, start, end)
    row.end_where_marked(ids.shape[1])
    if not torch.equal(row.tokens, row.last.tokens):
        yield row.finished()


class _Row:
    """The whole row while its blocks are made."""

    def __init__(self, denoiser, ids: Tensor, fixed: Tensor, steps: int):
        self.unknown, self.total, self.fixed = denoiser.vocab_size, steps, fixed
        self.tokens, self.known = torch.where(fixed, ids, self.unknown), fixed.clone()
        self.count, self.evaluations, self.before, self.last = 0, 0, 0, None
        shape = (*ids.shape, CANDIDATES)
        self.probability, self.entropy = fixed.float(), torch.where(fixed, 0.0, math.log(denoiser.vocab_size))
        self.candidates, self.chances = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)

    def shown(self, step: Step, view: slice, end: int) -> Step:
        """A step of a block as a step of the row: what is finished stays, what is after the block is not shown."""
        part = slice(view.start, end)
        inside = slice(0, end - view.start)
        open_ = ~self.known[:, part]
        tokens, state = self.tokens.clone(), torch.where(self.known, State.COMMITTED, State.NOISE)
        tokens[:, part] = torch.where(open_, step.tokens[:, inside], tokens[:, part])
        state[:, part] = torch.where(open_, step.state[:, inside], state[:, part])
        for own, new in (
            (self.probability, step.probability), (self.entropy, step.entropy),
            (self.candidates, step.candidates), (self.chances, step.candidate_probability),
        ):  # fmt: skip
            chosen = open_ if own.dim() == 2 else open_[..., None]
            own[:, part] = torch.where(chosen, new[:, inside], own[:, part])
        self.evaluations = self.before + step.evaluations
        self.last = Step(
            index=self.count, total=self.total, level=max(0.0, 1 - self.count / self.total), tokens=tokens,
            state=torch.where(self.fixed, State.FIXED, state), probability=self.probability.clone(),
            entropy=self.entropy.clone(), candidates=self.candidates.clone(),
            candidate_probability=self.chances.clone(), evaluations=self.evaluations,
        )  # fmt: skip
        self.count += 1
        return self.last

    def keep(self, step: Step, view: slice, start: int, end: int) -> None:
        block, inside = slice(start, end), slice(start - view.start, end - view.start)
        self.tokens[:, block] = torch.where(self.known[:, block], self.tokens[:, block], step.tokens[:, inside])
        self.known[:, block] = True
        self.before = self.evaluations

    def end_where_marked(self, start: int) -> None:
        """Padding for the open cells from `start` on, in rows with an end mark before it."""
        ended = (self.tokens[:, :start] == EOS).any(1)[:, None] & ~self.known
        self.tokens[ended], self.known[ended] = PAD, True

    def finished(self) -> Step:
        """The last step again, with the whole row in it."""
        state = torch.where(self.fixed, State.FIXED, State.COMMITTED)
        return replace(self.last, index=self.count, level=0.0, tokens=self.tokens, state=state)


def _shares(open_cells: list[int], steps: int) -> list[int]:
    """Steps for each block with open cells: at least one each, the rest in proportion to their cells (largest
    remainders first). They add up to `steps`, or to the number of such blocks where that is more."""
    shares = [min(cells, 1) for cells in open_cells]
    left = max(0, steps - sum(shares))
    exact = [left * cells / max(1, sum(open_cells)) for cells in open_cells]
    shares = [share + int(more) for share, more in zip(shares, exact, strict=True)]
    by_remainder = sorted(range(len(exact)), key=lambda i: exact[i] - int(exact[i]), reverse=True)
    for i in by_remainder[: max(0, steps - sum(shares))]:
        shares[i] += 1
    return shares
