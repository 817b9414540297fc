"""A second opinion on a finished row: doubtful cells are chosen again with the autoregressive model's help."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from playground.samplers.step import State, Step, observe
from playground.text import EOS, PAD

DOUBTFUL = 0.5  # cells whose token the denoiser gave less than this
AT_ONCE = 8  # one in so many of the row's cells is chosen again in a round


def refine(last: Step, denoiser, reader, fixed: Tensor, rounds: int) -> Iterator[Step]:
    """Each round evaluates `reader`, an autoregressive denoiser with the same tokens. The doubtful cells that it finds
    least likely take the candidate of highest p(token | row) p(token | cells before it): the denoiser's word, which
    knows the right side, times the reader's (a product of experts). Even and odd cells take turns, so that no cell
    changes together with the one it is read after. A masked denoiser is asked again, with those cells masked."""
    odd = torch.arange(fixed.shape[1]) % 2 == 1
    step, total = last, last.index + 1 + rounds
    doubtful = (last.probability < DOUBTFUL) & ~fixed & ~_mark(last.tokens)
    for k in range(rounds):
        said = torch.log_softmax(reader(step.tokens.to(reader.tokens.device)).cpu(), dim=-1)
        present = said.gather(-1, step.tokens[..., None]).squeeze(-1)
        turn = _lowest(present.masked_fill(~(doubtful & (odd == bool(k % 2))), torch.inf), fixed.shape[1] // AT_ONCE)
        evaluations = step.evaluations + 1
        if hasattr(denoiser, "mask_id"):
            seen = observe(denoiser(torch.where(turn, denoiser.mask_id, step.tokens).to(denoiser.tokens.device)))
            candidates = torch.where(turn[..., None], seen.candidates, step.candidates)
            chances = torch.where(turn[..., None], seen.chances, step.candidate_probability)
            evaluations += 1
        else:
            candidates, chances = step.candidates, step.candidate_probability
        score = (chances.clamp(min=1e-9).log() + said.gather(-1, candidates)).masked_fill(_mark(candidates), -torch.inf)
        best = score.max(-1)
        choice = candidates.gather(-1, best.indices[..., None]).squeeze(-1)
        step = replace(
            step, index=last.index + 1 + k, total=total, level=0.0, evaluations=evaluations, candidates=candidates,
            candidate_probability=chances, tokens=torch.where(turn & best.values.isfinite(), choice, step.tokens),
            state=torch.where(fixed, State.FIXED, State.COMMITTED),
        )  # fmt: skip
        yield step


def _mark(tokens: Tensor) -> Tensor:
    """Where an end or padding mark stands: refining never adds or moves the end of a text."""
    return (tokens == PAD) | (tokens == EOS)


def _lowest(score: Tensor, count: int) -> Tensor:
    """The `count` cells of lowest finite score in each row, [B, L] bool."""
    lowest = score.topk(count, dim=-1, largest=False)
    return torch.zeros_like(score, dtype=torch.bool).scatter(-1, lowest.indices, lowest.values.isfinite())
