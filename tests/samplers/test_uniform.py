"""Samplers for rows of right and random tokens, against Bayes and the distributions they must keep."""

import itertools

import pytest
import torch

from playground.samplers import SAMPLERS, knobs
from playground.samplers.step import State
from playground.samplers.uniform import accept, posterior
from playground.schedules import SCHEDULES

V, L = 6, 10
LINEAR = SCHEDULES["linear"]()
every = pytest.mark.parametrize("name", SAMPLERS["uniform"])


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


class Fake:
    """Answers with logits [L, V] or `answer(x)`; `expected` is the probabilities themselves."""

    family, vocab_size, tokens = "uniform", V, torch.eye(V + 1)

    def __init__(self, answer):
        self.answer = answer if callable(answer) else lambda x: answer.expand(len(x), -1, -1)
        self.hints = []

    def __call__(self, x, hint, given):
        assert (x < V).all() and (x >= 0).all()
        self.hints.append(hint)
        return self.answer(x)

    def expected(self, probabilities):
        return probabilities


def rngs(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def sample(name, fake, fixed=(), seeds=(0,), length=L, **options):
    options = {"steps": 8, "schedule": LINEAR} | options
    options = {k: v for k, v in options.items() if k in knobs("uniform", name)}
    ids, mask = torch.zeros(len(seeds), length, dtype=torch.long), torch.zeros(len(seeds), length, dtype=torch.bool)
    for cell, token in dict(fixed).items():
        ids[:, cell], mask[:, cell] = token, True
    return list(SAMPLERS["uniform"][name](fake, ids, mask, rngs(*seeds), **options))


def contextual() -> Fake:
    generator = torch.Generator().manual_seed(8)
    base, pull = torch.randn(L, V, generator=generator), torch.randn(V, V, generator=generator)
    return Fake(lambda x: 2 * (base + pull[x].mean(1, keepdim=True)))


@pytest.mark.parametrize(("noised", "noised_next"), [(1.0, 0.7), (0.6, 0.4), (0.3, 0.0)])
def test_the_posterior_is_that_of_bayes(noised, noised_next):
    signal, signal_next = 1 - noised, 1 - noised_next
    stay = signal / signal_next
    for present, clean in itertools.product(range(V), range(V)):
        by_hand = torch.tensor(
            [
                (stay * (present == j) + (1 - stay) / V) * (signal_next * (j == clean) + (1 - signal_next) / V)
                for j in range(V)
            ]
        )
        by_hand = by_hand / by_hand.sum()
        w = posterior(torch.tensor(present == clean), noised, noised_next, V)
        w = w / w.sum()
        ours = torch.full((V,), w[2].item() / V)
        ours[clean] += w[0].item()
        ours[present] += w[1].item()
        assert torch.allclose(ours, by_hand, atol=1e-6)


def test_ancestral_sampling_keeps_the_marginals():
    """With a denoiser that knows each cell's distribution and the Bayes answer to a noised cell, the last row
    follows that distribution."""
    prior = torch.tensor([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    steps, rows = 6, 4000
    level = iter(range(steps))

    def answer(x):
        signal = next(level) / steps
        likelihood = signal * torch.nn.functional.one_hot(x, V) + (1 - signal) / V
        return (likelihood * prior).log()

    *_, last = sample("ancestral", Fake(answer), seeds=range(rows), length=2, steps=steps)
    found = torch.bincount(last.tokens.flatten(), minlength=V) / (2 * rows)
    assert (found - prior).abs().max() < 0.02


def test_the_entropy_bound_accepts_the_surest_cells_while_they_fit():
    entropy = torch.tensor([[0.5, 0.01, 0.2, torch.inf, 0.05]])
    assert accept(entropy, 0.0).tolist() == [[False, True, False, False, False]]
    assert accept(entropy, 0.05).tolist() == [[False, True, False, False, True]]  # 0.01 before it fits
    assert accept(entropy, 0.061).tolist() == [[False, True, True, False, True]]
    assert accept(entropy, 100.0).tolist() == [[True, True, True, False, True]]


def test_the_entropy_bound_accepts_at_least_one_cell_and_more_as_it_grows():
    entropy = torch.rand(50, L, generator=torch.Generator().manual_seed(0)) * 3
    counts = torch.stack([accept(entropy, bound).sum(1) for bound in (0.0, 0.1, 0.5, 2.0, 8.0, 100.0)])
    assert (counts[0] == 1).all() and (counts[-1] == L).all() and (counts.diff(dim=0) >= 0).all()


def test_the_answer_of_entropy_bound_is_the_best_token_of_every_cell():
    logits = torch.randn(L, V, generator=torch.Generator().manual_seed(1))
    *_, last = sample("entropy_bound", Fake(logits), temperature=2.0, bound=0.0)
    assert torch.equal(last.tokens[0], logits.argmax(-1))


def test_a_sure_row_is_done_early_and_others_go_on():
    sure = torch.full((L, V), -50.0)
    sure[:, 2] = 50.0
    assert len(sample("entropy_bound", Fake(sure), steps=20)) == 2
    both = Fake(lambda x: torch.stack([sure, torch.zeros(L, V)]))
    steps = sample("entropy_bound", both, seeds=(0, 1), steps=20)
    assert len(steps) == 20 and (steps[-1].tokens[0] == 2).all()


@every
def test_given_cells_never_change_and_all_cells_end_committed(name):
    steps = sample(name, contextual(), fixed={0: 3, 7: 5})
    for step in steps:
        assert step.tokens[0, 0] == 3 and step.tokens[0, 7] == 5
        assert step.state[0, 0] == step.state[0, 7] == State.FIXED
        assert (step.tokens < V).all()
    assert [step.evaluations for step in steps] == list(range(1, len(steps) + 1))
    assert (steps[-1].state[0, 1:7] == State.COMMITTED).all()


@every
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_row_alone_is_the_row_in_a_batch(name, temperature):
    together = sample(name, contextual(), seeds=(4, 5, 6), temperature=temperature)
    alone = sample(name, contextual(), seeds=(5,), temperature=temperature)
    assert torch.equal(together[-1].tokens[1], alone[-1].tokens[0])
    assert not torch.equal(together[0].tokens[0], together[0].tokens[1]) or name == "entropy_bound"


@every
def test_self_conditioning_shows_the_last_answer_and_can_be_off(name):
    fake = contextual()
    sample(name, fake, steps=3)
    assert fake.hints[0] is None and fake.hints[1] is not None
    assert torch.allclose(fake.hints[1].sum(-1), torch.ones(1, L))
    fake = contextual()
    sample(name, fake, steps=3, self_conditioning=False)
    assert fake.hints == [None] * 3


@every
def test_one_step_is_enough(name):
    (only,) = sample(name, contextual(), steps=1)
    assert (only.tokens < V).all() and (only.state == State.COMMITTED).all()
