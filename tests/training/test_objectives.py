import math
import random

import pytest
import torch

from playground.text import BOS, EOS, PAD
from playground.training import objectives
from playground.training.initial import fresh
from playground.training.objectives import OBJECTIVES, Noise, cross_entropy, weights
from tests.training.conftest import SHAPE


def denoiser(family: str, vocab_size: int = 320):
    torch.manual_seed(0)
    shape = {"vocab_size": vocab_size} | SHAPE | ({"embedding_width": 32} if family == "continuous" else {})
    return fresh(family, shape).train()


@pytest.fixture
def rows(corpus):
    return corpus.rows(12, 24, random.Random(3))


@pytest.mark.parametrize("family", OBJECTIVES)
def test_an_untrained_denoiser_loses_about_the_log_of_the_vocabulary(family, rows):
    """Not the continuous one: with little noise the evidence alone names the token."""
    loss = OBJECTIVES[family](denoiser(family), rows, Noise.seeded(0)).item()
    assert abs(loss - math.log(320)) < 0.5 if family != "continuous" else 0 < loss < math.log(320)


@pytest.mark.parametrize("family", OBJECTIVES)
def test_the_parts_of_a_batch_add_up_to_it_in_loss_and_gradient(family, rows):
    net = denoiser(family)
    whole = OBJECTIVES[family](net, rows, Noise.seeded(5))
    whole.backward()
    wanted = {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}
    net.zero_grad()
    parts = [OBJECTIVES[family](net, rows, Noise.seeded(5), slice(rank, None, 2)) for rank in range(2)]
    for part in parts:
        part.backward()
    assert sum(part.item() for part in parts) == pytest.approx(whole.item(), rel=1e-5)
    for name, p in net.named_parameters():
        if name in wanted:
            assert torch.allclose(p.grad, wanted[name], atol=1e-5, rtol=1e-4), name


@pytest.mark.parametrize("family", OBJECTIVES)
def test_the_same_noise_gives_the_same_loss_and_other_noise_another(family, rows):
    net = denoiser(family).eval()
    first, again = (OBJECTIVES[family](net, rows, Noise.seeded(1)).item() for _ in range(2))
    assert first == again
    if family != "autoregressive":
        assert OBJECTIVES[family](net, rows, Noise.seeded(2)).item() != first


def test_padding_weighs_a_tenth_and_uncounted_cells_nothing():
    rows = torch.tensor([[BOS, 7, EOS, PAD]])
    found = weights(rows, torch.tensor([[False, True, True, True]]))
    assert torch.allclose(found, torch.tensor([[0.0, 1.0, 1.0, 0.1]]) / 2.1)


def test_a_perfect_denoiser_loses_nothing():
    class Perfect:
        vocab_size, tokens = 5, torch.zeros(6, 5)

        @staticmethod
        def head(h, table):
            return h

    rows = torch.tensor([[0, 3, 4, 2]])
    h = torch.nn.functional.one_hot(rows, 5).float() * 50
    loss, each = cross_entropy(Perfect, h, rows, weights(rows, rows > 0), per_row=True)
    assert loss.item() < 1e-6 and each.shape == (1,)


def test_cells_beyond_one_chunk_count_like_the_others(monkeypatch, rows):
    net = denoiser("masked").eval()
    loss = objectives.masked(net, rows, Noise.seeded(1)).item()
    monkeypatch.setattr(objectives, "CHUNK", 7)
    assert objectives.masked(net, rows, Noise.seeded(1)).item() == pytest.approx(loss, rel=1e-5)


def test_an_autoregressive_row_does_not_learn_padding():
    net = denoiser("autoregressive").eval()
    row = torch.tensor([[BOS, 9, 10, EOS]])
    padded = torch.cat([row, torch.full((1, 20), PAD)], dim=1)
    losses = [objectives.autoregressive(net, r, Noise.seeded(0)).item() for r in (row, padded)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_masks_of_a_quarter_of_the_rows_follow_a_prefix(rows):
    seen = []

    class Spy:
        mask_id, vocab_size, tokens = 320, 320, torch.zeros(321, 4)

        @staticmethod
        def hidden(ids):
            seen.append(ids == 320)
            return torch.zeros(*ids.shape, 4, requires_grad=True)

        @staticmethod
        def head(h, table):
            return torch.zeros(len(h), 320)

    many = rows.repeat(100, 1)
    objectives.masked(Spy, many, Noise.seeded(0))
    suffix = (seen[0].long().diff(dim=1) >= 0).all(1)
    assert 0.25 <= suffix.float().mean() < 0.45


def test_the_learned_schedule_is_fitted_without_moving_the_model(rows):
    net = denoiser("continuous")
    level, loss = torch.linspace(0, 6, 12), torch.linspace(0.2, 5, 12)
    before = objectives.schedule_error(net, level, loss, torch.ones(12) / 12)
    assert before.item() == 0
    before.backward()
    moved = {name for name, p in net.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert moved == {"schedule_loc", "schedule_log_scale", "schedule_plateau"}


def test_noise_levels_stay_above_the_clean_end_and_grow_with_the_quantile():
    net = denoiser("continuous")
    levels = objectives.log_nsr(net, torch.linspace(0, 0.999, 50))
    assert (levels.diff() >= 0).all() and levels.isfinite().all()


def test_stratified_levels_have_one_in_each_part():
    levels = Noise.seeded(4).stratified(10)
    assert sorted((levels * 10).floor().tolist()) == list(range(10))
