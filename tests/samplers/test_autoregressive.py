"""Left to right with a cache, against the denoiser run whole."""

import pytest
import torch

from playground.denoisers.autoregressive import AutoregressiveDenoiser
from playground.samplers.autoregressive import left_to_right
from playground.samplers.step import State, draw
from playground.text import BOS, EOS, PAD

V, L = 20, 12


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


@pytest.fixture(scope="module")
def denoiser():
    torch.manual_seed(3)
    net = AutoregressiveDenoiser(V, layers=2, width=16, heads=2, hidden=32, max_length=40)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.6)
    net.head.bias.data[[PAD, EOS]] = torch.tensor([9.0, -2.0])  # padding is tempting, and never written
    return net.eval().requires_grad_(False)


def rngs(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def sample(denoiser, fixed=(), seeds=(0,), **options):
    ids, mask = torch.zeros(len(seeds), L, dtype=torch.long), torch.zeros(len(seeds), L, dtype=torch.bool)
    for cell, token in dict(fixed).items():
        ids[:, cell], mask[:, cell] = token, True
    return list(left_to_right(denoiser, ids, mask, rngs(*seeds), **options))


@pytest.mark.parametrize("fixed", [{}, {0: BOS, 1: 7, 2: 8}, {0: BOS, 5: 9, 6: 10, 11: 4}])
def test_the_cache_gives_what_the_whole_row_gives(denoiser, fixed):
    """At temperature 0 every token is the best under the logits of the row run whole, without a cache."""
    *_, last = sample(denoiser, fixed, temperature=0.0)
    row = last.tokens[0]
    logits = denoiser(row[None])[0]
    logits[:, PAD] = logits[1:, BOS] = -1e4
    end = row.tolist().index(EOS) if EOS in row else L
    for cell in range(end):
        if cell in fixed:
            assert row[cell] == fixed[cell]
            continue
        if any(later > cell for later in fixed):
            logits[cell, EOS] = -1e4
        assert row[cell] == logits[cell].argmax()
        assert last.probability[0, cell] == pytest.approx(torch.softmax(logits[cell], -1)[row[cell]].item(), abs=1e-5)


def test_cells_do_not_see_what_follows(denoiser):
    row = torch.randint(3, V, (1, L), generator=torch.Generator().manual_seed(0))
    other = row.clone()
    other[0, 6] = 3 + (row[0, 6] - 2) % (V - 3)
    before, after = denoiser(row), denoiser(other)
    assert torch.equal(before[:, :7], after[:, :7]) and not torch.equal(before[:, 7], after[:, 7])


def test_one_step_a_free_cell_and_the_rest_not_yet_known(denoiser):
    steps = sample(denoiser, {0: BOS, 1: 5}, seeds=(1,))
    row_ended = EOS in steps[-1].tokens[0]
    assert len(steps) == L - 2 or row_ended
    assert [step.evaluations for step in steps] == list(range(1, len(steps) + 1))
    first = steps[0]
    assert first.state[0].tolist()[:4] == [State.FIXED, State.FIXED, State.COMMITTED, State.NOISE]
    assert first.tokens[0, 3] == V and first.entropy.isfinite().all()
    assert (steps[-1].state[0, 2:] == State.COMMITTED).all() and steps[-1].level == 0


def test_a_row_ends_at_its_end_mark(denoiser):
    seen = 0
    for seed in range(30):
        row = sample(denoiser, seeds=(seed,), temperature=1.5)[-1].tokens[0].tolist()
        end = row.index(EOS) if EOS in row else L
        assert PAD not in row[:end] and BOS not in row[1:end]
        assert row[end + 1 :] == [PAD] * len(row[end + 1 :])
        seen += EOS in row
    assert seen > 0


def test_the_end_mark_waits_for_the_last_given_cell(denoiser):
    for seed in range(10):
        row = sample(denoiser, {10: 6}, seeds=(seed,), temperature=2.0)[-1].tokens[0].tolist()
        assert EOS not in row[:10] and row[10] == 6


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_row_alone_is_the_row_in_a_batch(denoiser, temperature):
    together = sample(denoiser, {0: BOS}, seeds=(4, 5, 6), temperature=temperature)[-1]
    for row, seed in enumerate((4, 5, 6)):
        assert torch.equal(
            together.tokens[row], sample(denoiser, {0: BOS}, (seed,), temperature=temperature)[-1].tokens[0]
        )


def test_top_k_and_top_p_leave_out_the_rest():
    p = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).repeat(1000, 1)
    luck = torch.linspace(0, 0.9999, 1000).double()
    assert set(draw(p.log(), 1.0, luck, top_k=2).tolist()) == {0, 1}
    assert set(draw(p.log(), 1.0, luck, top_p=0.81).tolist()) == {0, 1, 2}
    assert set(draw(p.log(), 1.0, luck, top_p=0.5).tolist()) == {0}
    assert set(draw(p.log(), 1.0, luck, top_p=0.0).tolist()) == {0}
    kept = draw(p.log(), 1.0, luck, top_k=2).float().mean().item()
    assert kept == pytest.approx(0.3 / 0.8, abs=2e-3)
    assert torch.equal(draw(p.log(), 1.0, luck, top_k=4, top_p=1.0), draw(p.log(), 1.0, luck))


def test_a_row_does_not_depend_on_the_holes_of_others(denoiser):
    ids, fixed = torch.full((2, L), 5), torch.zeros(2, L, dtype=torch.bool)
    fixed[0, :7], fixed[1, 3:] = True, True
    *_, both = left_to_right(denoiser, ids, fixed, rngs(1, 2))
    for row, seed in enumerate((1, 2)):
        *_, alone = left_to_right(denoiser, ids[row : row + 1], fixed[row : row + 1], rngs(seed))
        assert torch.equal(both.tokens[row], alone.tokens[0])
