"""Blocks around any sampler: what is finished stays, every cell ends filled, steps are shared out."""

import pytest
import torch

from playground.samplers import masked, uniform
from playground.samplers.blocks import _shares, by_blocks
from playground.samplers.step import State
from playground.schedules import SCHEDULES
from playground.text import BOS, EOS, PAD

V, L = 12, 40
LINEAR = SCHEDULES["linear"]()


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


class Masked:
    """Says `answer(x)`; remembers the rows it saw."""

    family, vocab_size, mask_id, tokens = "masked", V, V, torch.zeros(1)

    def __init__(self, answer=None):
        generator = torch.Generator().manual_seed(2)
        pull = torch.randn(V + 1, V, generator=generator)
        pull[:, :3] = -9
        self.answer, self.asked = answer or (lambda x: pull[x] + pull[x].mean(1, keepdim=True)), []

    def __call__(self, x):
        self.asked.append(x.clone())
        return self.answer(x)


class Uniform(Masked):
    family = "uniform"
    mask_id = property()  # has none

    def __call__(self, x, hint, given):
        return super().__call__(x)

    def expected(self, probabilities):
        return probabilities


def run(denoiser, fixed=(), seeds=(0,), length=L, block=8, steps=20, **options):
    ids, mask = torch.zeros(len(seeds), length, dtype=torch.long), torch.zeros(len(seeds), length, dtype=torch.bool)
    for cell, token in dict(fixed).items():
        ids[:, cell], mask[:, cell] = token, True
    rngs = [torch.Generator().manual_seed(seed) for seed in seeds]
    sampler = masked.random if hasattr(denoiser, "mask_id") else uniform.ancestral
    return list(by_blocks(sampler, denoiser, ids, mask, rngs, block=block, steps=steps, schedule=LINEAR, **options))


def test_steps_are_shared_out_by_open_cells_at_least_one_where_there_are_any():
    assert _shares([8, 8, 8, 8], 20) == [5, 5, 5, 5]
    assert _shares([0, 4, 8], 6) == [0, 2, 4]
    assert _shares([1, 8], 4) == [1, 3]
    assert _shares([8, 8, 8], 2) == [1, 1, 1]
    for length, block, steps in ((64, 3, 32), (256, 8, 48), (512, 6, 128), (100, 7, 20)):
        assert sum(_shares([min(block, length - at) for at in range(0, length, block)], steps)) == steps


@pytest.mark.parametrize("kind", [Masked, Uniform])
def test_a_finished_block_never_changes_and_the_next_is_not_begun(kind):
    steps = run(kind(), {0: BOS, 17: 5})
    for k, step in enumerate(steps):
        block = k // 4  # 20 steps over 5 blocks
        done = (step.tokens[0] != V).nonzero().flatten()
        assert done.max() < max(8 * (block + 1), 18)
        for later in steps[k:]:
            assert torch.equal(later.tokens[0, : 8 * block], step.tokens[0, : 8 * block])
        assert step.tokens[0, 17] == 5 and step.state[0, 17] == State.FIXED
    last = steps[-1]
    assert (last.tokens < V).all() and (last.state >= State.COMMITTED).all()
    assert [step.evaluations for step in steps] == list(range(1, 21)) and [s.index for s in steps] == list(range(20))


def test_a_masked_denoiser_sees_what_follows_a_block_masked():
    denoiser = Masked()
    run(denoiser, block=8)
    for k, row in enumerate(denoiser.asked):
        assert (row[0, 8 * (k // 4) + 8 :] == V).all()


def test_one_block_over_the_whole_row_is_the_sampler_itself():
    ids, fixed = torch.zeros(1, L, dtype=torch.long), torch.zeros(1, L, dtype=torch.bool)
    *_, alone = masked.random(Masked(), ids, fixed, [torch.Generator().manual_seed(3)], steps=20, schedule=LINEAR)
    assert torch.equal(run(Masked(), seeds=(3,), block=L)[-1].tokens, alone.tokens)


def test_a_row_alone_is_the_row_in_a_batch():
    together, alone = run(Masked(), seeds=(4, 5, 6)), run(Masked(), seeds=(5,))
    assert torch.equal(together[-1].tokens[1], alone[-1].tokens[0])


def test_a_row_with_an_end_mark_is_padded_and_the_others_go_on():
    def ends(x):
        logits = torch.full((*x.shape, V), -9.0)
        logits[..., 7] = 0.0
        logits[0, 10 if x.shape[1] > 10 else 0, EOS] = 99.0
        return logits

    steps = run(Masked(ends), seeds=(0, 1))
    first, second = steps[-1].tokens.tolist()
    assert first == [7] * 10 + [EOS] + [7] * 5 + [PAD] * 24
    assert second == [7] * L and (steps[-1].state == State.COMMITTED).all()


def test_a_long_row_is_seen_a_view_at_a_time():
    denoiser = Masked()
    steps = run(denoiser, length=300, block=32, steps=30)
    assert max(row.shape[1] for row in denoiser.asked) == 128
    assert (steps[-1].tokens < V).all()
