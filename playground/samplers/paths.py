"""Paths between two texts: ways to lay a row of latents at each point from A to B, and to read them as text.

All take `points`, the rows of the path, and draw what is random once, so that all points share it, the fresh noise of
each step included: what differs from point to point is the way from A to B and nothing else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.samplers.alignment import Pairing
from playground.samplers.continuous import denoise_step, descend, expected_embedding
from playground.samplers.step import State, Step, followed, observe, without_marks
from playground.text import BOS, EOS, PAD

STEEPNESS = 0.25  # of the rise of the noise from the ends to the middle


@dataclass(frozen=True)
class Points:
    """The rows of a path: weights [P] from 0 (A) to 1 (B), ids [P, L] and the cells fixed [P, L], which are the start
    mark, the end mark and padding. `in_a`, `in_b` [P, L]: which token of A and of B meet in a cell; `noise` [P, L]: the
    noise vector it has; -1: none."""

    weights: Tensor
    ids: Tensor
    fixed: Tensor
    in_a: Tensor
    in_b: Tensor
    noise: Tensor
    a: Tensor
    b: Tensor
    widest: int

    @classmethod
    def along(cls, pairing: Pairing, weights: list[float]) -> "Points":
        shape = (len(weights), pairing.widest + 2)
        ids, fixed = torch.full(shape, PAD), torch.ones(shape, dtype=torch.bool)
        in_a, in_b, noise = (torch.full(shape, -1) for _ in range(3))
        ids[:, 0] = BOS
        for row, weight in enumerate(weights):
            places, end = pairing.places(weight), 1 + pairing.length(weight)
            ids[row, end] = EOS
            fixed[row, 1:end] = False
            in_a[row, 1:end], in_b[row, 1:end] = torch.tensor(places).reshape(-1, 2).T
            noise[row, 1:end] = torch.tensor(pairing.noise_places(weight))
        a, b = (torch.tensor([i for sentence in text for i in sentence]) for text in (pairing.a, pairing.b))
        return cls(torch.tensor(weights), ids, fixed, in_a, in_b, noise, a, b, pairing.widest)

    def mixed(self, table: Tensor) -> Tensor:
        """(1 - w) E[A] + w E[B] in each cell, at the norm of an embedding, [P, L, De]."""
        ids_a, ids_b, w = self.a.to(table.device), self.b.to(table.device), self.weights.to(table)[:, None, None]
        mix = (1 - w) * pick(table[ids_a], self.in_a) + w * pick(table[ids_b], self.in_b)
        return F.normalize(mix, dim=-1) * math.sqrt(table.shape[1])


def naive(denoiser, points: Points, rng: torch.Generator, *, schedule) -> Iterator[Step]:
    """Mixes the embeddings and takes the nearest word, without the denoiser. It fails in the middle: each cell jumps
    alone from a word of A to one of B, so sentences break."""
    table = denoiser.table()
    evidence = schedule.alpha(0) / schedule.sigma(0) ** 2 * (points.mixed(table) @ table.t())
    evidence = without_marks(evidence, followed(points.ids, points.fixed, denoiser.vocab_size))
    seen, fixed = observe(evidence), points.fixed
    yield Step(
        index=0, total=1, level=0.0, tokens=torch.where(fixed, points.ids, seen.candidates[..., 0]),
        state=torch.where(fixed, State.FIXED, State.COMMITTED), probability=seen.chances[..., 0].masked_fill(fixed, 1),
        entropy=seen.entropy.masked_fill(fixed, 0), candidates=seen.candidates, candidate_probability=seen.chances,
        estimate=points.mixed(table).cpu(), evaluations=0,
    )  # fmt: skip


def shared_noise(
    denoiser, points: Points, rng: torch.Generator, *, schedule, steps: int, level: float = 0.8,
    temperature: float = 1.0, churn: float = 1.0, self_conditioning: bool = True,
) -> Iterator[Step]:  # fmt: skip
    """Mixes the embeddings, adds the same noise at every point, and denoises (SDEdit, arXiv 2108.01073). The noise is
    least near A and B and most half-way. Too little of it leaves a jumble of both texts; too much forgets them, and the
    middle tells something else."""
    table = denoiser.table()
    mix, w = points.mixed(table), points.weights
    top = level * (4 * w * (1 - w)).clamp(min=0) ** STEEPNESS
    ends = (top == 0)[:, None]
    ids = torch.where(ends & ~points.fixed, _exact(points), points.ids)
    z = schedule.alpha(level) * mix + schedule.sigma(level) * _noise(points, rng, table)
    yield from descend(
        denoiser, z, ids, points.fixed | ends, _alike(rng, points), levels=_down(level, steps), schedule=schedule,
        held=(mix, top.to(table.device)), temperature=temperature, churn=churn, self_conditioning=self_conditioning,
    )  # fmt: skip


def noise_slerp(
    denoiser, points: Points, rng: torch.Generator, *, schedule, steps: int, level: float = 0.7,
    temperature: float = 1.0, self_conditioning: bool = True,
) -> Iterator[Step]:  # fmt: skip
    """Runs the denoising backwards from A and from B to their noises (DDIM inversion, arXiv 2010.02502), turns one
    noise into the other along an arc, and denoises. Every text is fluent, but between the ends it is often about
    neither."""
    table = denoiser.table()
    noise = _noise(points, rng, table)
    latents = []
    for text, row, places in ((points.a, 0, points.in_a), (points.b, -1, points.in_b)):
        whole = torch.cat([torch.tensor([BOS]), text, torch.tensor([EOS])])[None]
        fixed = (whole == BOS) | (whole == EOS)
        start = noise[row, : whole.shape[1]][None]
        z = invert(denoiser, whole, fixed, start, levels=_down(level, steps)[::-1], schedule=schedule,
                   temperature=temperature)[0, 1:-1]  # fmt: skip
        latents.append(torch.where((places < 0)[..., None].to(z.device), noise, pick(z, places)))
    z = slerp(*latents, points.weights.to(table)[:, None, None])
    for step in descend(
        denoiser, z, points.ids, points.fixed, [], levels=_down(level, steps), schedule=schedule, churn=0.0,
        temperature=temperature, self_conditioning=self_conditioning,
    ):  # fmt: skip
        yield replace(step, evaluations=step.evaluations + 2 * (steps - 1))


def semantic_code(
    denoiser, points: Points, rng: torch.Generator, *, schedule, steps: int, temperature: float = 1.0,
    churn: float = 1.0, self_conditioning: bool = True,
) -> Iterator[Step]:  # fmt: skip
    """Starts every point from the same noise and tells the denoiser what the text is about: the mean of its words'
    embeddings, which moves from A to B. Words and their order are not in the code, so even the ends are other texts."""
    start, goal = (code_of(text, denoiser.table()) for text in (points.a, points.b))
    yield from _told(denoiser, points, rng, start, goal, schedule=schedule, steps=steps, temperature=temperature,
                     churn=churn, self_conditioning=self_conditioning)  # fmt: skip


def arithmetic(
    denoiser, points: Points, rng: torch.Generator, *, c: Tensor, schedule, steps: int, temperature: float = 1.0,
    churn: float = 1.0, self_conditioning: bool = True,
) -> Iterator[Step]:  # fmt: skip
    """Calculates with what texts are about: as semantic-code, from the code of A to that of A - B + C, B and C being
    the words to lose and to gain, as in: boy. he. and: girl. she. It works for words the model has often seen, and
    fails with rare ones and with moods: sad becomes happy only now and then."""
    table = denoiser.table()
    a, b, c = (code_of(text, table) for text in (points.a, points.b, c))
    yield from _told(denoiser, points, rng, a, F.normalize(a - b + c, dim=-1), schedule=schedule, steps=steps,
                     temperature=temperature, churn=churn, self_conditioning=self_conditioning)  # fmt: skip


def _told(denoiser, points: Points, rng: torch.Generator, start: Tensor, goal: Tensor, *, steps: int, **knobs):
    """From the same noise at every point, each told its code on the way from start to goal, unit vectors [De]."""
    table = denoiser.table()
    w, noise = points.weights.to(table)[:, None], _noise(points, rng, table)
    code = F.normalize((1 - w) * start + w * goal, dim=-1) * math.sqrt(table.shape[1])
    yield from descend(
        denoiser, noise, points.ids, points.fixed, _alike(rng, points), levels=_down(1.0, steps), code=code, **knobs
    )


def code_of(ids: Tensor, table: Tensor) -> Tensor:
    """The semantic code of a text ids [n], as a unit vector [De]: its mean embedding, as in training."""
    return F.normalize(table[ids.to(table.device)].sum(0), dim=-1)


METHODS = {  # a method's knobs are its keyword-only parameters
    "shared-noise": shared_noise,
    "semantic-code": semantic_code,
    "noise-slerp": noise_slerp,
    "naive": naive,
    "arithmetic": arithmetic,
}


@torch.inference_mode()
def invert(
    denoiser, ids: Tensor, fixed: Tensor, noise: Tensor, *, levels: list[float], schedule, temperature: float
) -> Tensor:
    """The latents [B, L, De] at levels[-1] from which the ODE comes back to rows ids [B, L]: its steps, taken upwards
    from levels[0], where `noise` [B, L, De] is added. Without self-conditioning, of which the way up knows nothing."""
    table = denoiser.table()
    rounded, device = table.to(denoiser.tokens.dtype), table.device
    clean, given = table[ids.to(device)], fixed.to(device)
    z = schedule.alpha(levels[0]) * clean + schedule.sigma(levels[0]) * noise
    for u, v in pairwise(levels):
        z = torch.where(given[..., None], clean, z)
        g = torch.full((len(z),), schedule.log_nsr(u), device=device)
        logits = denoiser(z, g, torch.zeros_like(z), given, table=table)
        z = denoise_step(z, expected_embedding(logits, rounded, temperature).float(), schedule, u, v, 0.0, None)
    return z


def slerp(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """From vectors a to b [..., De] along the great circle, w from 0 to 1; the length goes evenly from one's to the
    other's (Shoemake, 1985)."""
    length = (1 - w) * a.norm(dim=-1, keepdim=True) + w * b.norm(dim=-1, keepdim=True)
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    angle = (a * b).sum(-1, keepdim=True).clamp(-1, 1).acos()
    turned = ((1 - w) * angle).sin() * a + (w * angle).sin() * b
    return length * F.normalize(torch.where(angle < 1e-4, (1 - w) * a + w * b, turned), dim=-1)


def pick(values: Tensor, places: Tensor) -> Tensor:
    """values [n, De] at places [...], zeros where a place is -1, [..., De]."""
    places = places.to(values.device)
    return values[places.clamp(min=0)] * (places >= 0)[..., None]


def _exact(points: Points) -> Tensor:
    """The ids [P, L] of A and B in rows that are all A or all B."""
    at = (points.weights == 0)[:, None]
    a, b = (text[places.clamp(min=0)] for text, places in ((points.a, points.in_a), (points.b, points.in_b)))
    return torch.where(at, a, b)


def _noise(points: Points, rng: torch.Generator, table: Tensor) -> Tensor:
    """The path's one noise, laid into each of its rows, [P, L, De]."""
    noise = torch.randn(points.widest, table.shape[1], generator=rng).to(table.device)
    return pick(noise, points.noise)


def _alike(rng: torch.Generator, points: Points) -> list[torch.Generator]:
    """A generator for each row, all about to draw the same."""
    return [rng.clone_state() for _ in points.weights]


def _down(level: float, steps: int) -> list[float]:
    return torch.linspace(level, 0, steps).tolist()
