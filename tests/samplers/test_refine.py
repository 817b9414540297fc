"""The second opinion: which cells it may touch, and what it chooses."""

import torch

from playground.samplers.refine import refine
from playground.samplers.step import State, Step
from playground.text import EOS, PAD

V, L = 10, 16


class Reader:
    """Likes token 9 everywhere but in the cells of `content`."""

    family, vocab_size, tokens = "autoregressive", V, torch.zeros(1)

    def __init__(self, content=()):
        self.content, self.asked = list(content), 0

    def __call__(self, ids):
        self.asked += 1
        logits = torch.zeros(*ids.shape, V)
        logits[..., 9] = 5.0
        for cell in self.content:
            logits[:, cell] = torch.nn.functional.one_hot(ids[:, cell], V) * 20.0
        return logits


def finished(probability: float = 0.3) -> Step:
    """A row of 4s whose every cell could also have been a 9, a little less likely."""
    candidates = torch.tensor([4, 9, 5, EOS, PAD]).expand(1, L, 5)
    chances = torch.tensor([0.3, 0.25, 0.1, 0.1, 0.1]).expand(1, L, 5)
    return Step(
        index=7, total=8, level=0.0, tokens=torch.full((1, L), 4), state=torch.full((1, L), State.COMMITTED),
        probability=torch.full((1, L), probability), entropy=torch.zeros(1, L), candidates=candidates,
        candidate_probability=chances, evaluations=8,
    )  # fmt: skip


class Continuous:
    family = "continuous"


NOTHING = torch.zeros(1, L, dtype=torch.bool)


def test_doubtful_cells_take_what_both_find_likely_even_and_odd_in_turn():
    first, second = refine(finished(), Continuous, Reader(), NOTHING, 2)
    changed = (first.tokens[0] == 9).nonzero().flatten()
    assert len(changed) == L // 8 and (changed % 2 == 0).all()
    assert ((second.tokens[0] == 9).nonzero().flatten() % 2).sum() == L // 8
    assert (first.index, first.evaluations, second.index, second.evaluations, second.total) == (8, 9, 9, 10, 10)


def test_sure_given_and_end_cells_stay():
    (sure,) = refine(finished(0.9), Continuous, Reader(), NOTHING, 1)
    assert (sure.tokens == 4).all()
    given = ~NOTHING
    (step,) = refine(finished(), Continuous, Reader(), given, 1)
    assert (step.tokens == 4).all() and (step.state == State.FIXED).all()
    ended = finished()
    ended.tokens[0, 5:] = PAD
    ended.tokens[0, 5] = EOS
    *_, step = refine(ended, Continuous, Reader(), NOTHING, 8)
    assert torch.equal(step.tokens[0, 5:], ended.tokens[0, 5:]) and EOS not in step.tokens[0, :5]


def test_what_the_reader_finds_least_likely_comes_first():
    content = [c for c in range(L) if c not in (6, 10)]
    (step,) = refine(finished(), Continuous, Reader(content), NOTHING, 1)
    assert (step.tokens[0] == 9).nonzero().flatten().tolist() == [6, 10]


def test_a_masked_denoiser_is_asked_again_with_those_cells_masked():
    class Masked:
        mask_id, tokens, seen = V, torch.zeros(1), []

        def __call__(self, ids):
            self.seen.append(ids.clone())
            logits = torch.zeros(*ids.shape, V)
            logits[..., 8] = 9.0
            return logits

    denoiser = Masked()
    (step,) = refine(finished(), denoiser, Reader(), NOTHING, 1)
    turn = denoiser.seen[0][0] == V
    assert turn.sum() == L // 8 and (step.tokens[0, turn] == 8).all() and (step.tokens[0, ~turn] == 4).all()
    assert step.evaluations == 10
