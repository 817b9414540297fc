"""Samplers for Gaussian noise, against closed forms and denoisers whose answer is known."""

import math

import pytest
import torch
import torch.nn.functional as F

from playground.samplers.continuous import denoise_step, expected_embedding, nearest, ode, sde
from playground.samplers.step import State
from playground.schedules import SCHEDULES, Learned, Linear
from playground.text import EOS

V, DE, L = 16, 32, 6
LOW = Linear(-8.0, 9.0)  # goes down to where z is its token


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


class Fake:
    """Answers with `answer(z, given)` -> logits [B, L, V]; remembers what it was asked."""

    family = "continuous"
    vocab_size, embedding_width = V, DE

    def __init__(self, answer):
        self.answer, self.asked, self.tokens = answer, [], torch.zeros(1)
        self._table = F.normalize(torch.randn(V, DE, generator=torch.Generator().manual_seed(5)), dim=-1) * DE**0.5

    def table(self):
        return self._table

    def __call__(self, z, log_nsr, self_condition, given, code=None, table=None):
        self.asked.append((z.clone(), log_nsr.clone(), self_condition.clone(), given.clone()))
        return self.answer(z, given)


def steady(row) -> Fake:
    """Always nearly sure of the tokens in `row`."""
    return Fake(lambda z, given: 50.0 * F.one_hot(torch.tensor(row), V).float().expand(len(z), -1, -1))


def reading() -> Fake:
    """Reads the tokens off z, each cell for itself, not quite sure of any."""
    fake = Fake(None)
    fake.answer = lambda z, given: (z @ fake.table().t()) * 0.3
    return fake


def rngs(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def row(fixed=(), rows=1):
    """ids and fixed [rows, L]; `fixed` is a table of cells and tokens."""
    ids, mask = torch.zeros(rows, L, dtype=torch.long), torch.zeros(rows, L, dtype=torch.bool)
    for cell, token in dict(fixed).items():
        ids[:, cell], mask[:, cell] = token, True
    return ids, mask


def sample(sampler, fake, fixed=(), seeds=(0,), **options):
    return list(sampler(fake, *row(fixed, len(seeds)), rngs(*seeds), **{"steps": 8, "schedule": LOW} | options))


TARGET = [3, 1, 4, 1, 5, 9]


@pytest.mark.parametrize("sampler", [sde, ode])
@pytest.mark.parametrize("name", list(SCHEDULES))
@pytest.mark.parametrize("rounding", ["contextual", "nearest"])
def test_a_denoiser_that_knows_the_row_gets_it(sampler, name, rounding):
    schedule = Learned(-8.0, 1.0, 1.0) if name == "learned" else SCHEDULES[name](-8.0, 9.0)
    *_, last = sample(sampler, steady(TARGET), schedule=schedule, rounding=rounding, seeds=(0, 1))
    assert last.tokens.tolist() == [TARGET, TARGET]
    assert torch.allclose(last.estimate, steady(TARGET).table()[TARGET].expand(2, -1, -1), atol=1e-4)


@pytest.mark.parametrize("sampler", [sde, ode])
@pytest.mark.parametrize("guidance", [0.0, 2.0])
def test_fixed_cells_never_change(sampler, guidance):
    fixed = {0: 7, 4: 11}
    steps = sample(sampler, reading(), fixed, seeds=(0, 1, 2), guidance=guidance, rounding="nearest")
    assert len(steps) == 8
    for step in steps:
        for cell in range(L):
            assert (step.state[:, cell] == State.FIXED).all() == (cell in fixed)
        assert (step.tokens[:, 0] == 7).all() and (step.tokens[:, 4] == 11).all()
        assert (step.probability[:, [0, 4]] == 1).all() and (step.entropy[:, [0, 4]] == 0).all()


def test_the_denoiser_sees_given_cells_clean_at_every_step():
    fake = reading()
    sample(sde, fake, {2: 9})
    for z, _, _, given in fake.asked:
        assert torch.equal(z[0, 2], fake.table()[9])
        assert given.tolist() == [[False, False, True, False, False, False]]


def test_churn_one_is_the_gaussian_posterior():
    """Bayes by hand: z_v ~ N(a_v x, s_v^2), z_u | z_v ~ N(r z_v, s_u^2 - r^2 s_v^2) with r = a_u / a_v."""
    for schedule in (Linear(-4.0, 8.0), Learned()):
        for u, v in ((1.0, 0.9), (0.7, 0.2), (0.3, 0.0)):
            z, x = torch.tensor([1.7], dtype=torch.float64), torch.tensor([-0.6], dtype=torch.float64)
            a_u, s_u, a_v, s_v = schedule.alpha(u), schedule.sigma(u), schedule.alpha(v), schedule.sigma(v)
            r = a_u / a_v
            step_variance = s_u**2 - r**2 * s_v**2
            variance = 1 / (1 / s_v**2 + r**2 / step_variance)
            mean = variance * (a_v * x / s_v**2 + r * z / step_variance)

            zero, one = torch.zeros_like(z), torch.ones_like(z)
            got = denoise_step(z, x, schedule, u, v, 1.0, zero)
            deviation = denoise_step(z, x, schedule, u, v, 1.0, one) - got
            assert got.item() == pytest.approx(mean.item(), rel=1e-6)
            assert deviation.item() ** 2 == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("churn", [0.0, 0.3, 0.7, 1.0])
def test_every_churn_keeps_the_marginal(churn):
    """From z_u = a_u x + s_u e, each churn lands on a_v x plus noise of variance s_v^2."""
    u, v, x = 0.8, 0.4, torch.tensor([0.9], dtype=torch.float64)
    zero, one = torch.zeros_like(x), torch.ones_like(x)

    def land(e, noise):
        return denoise_step(LOW.alpha(u) * x + LOW.sigma(u) * e, x, LOW, u, v, churn, noise).item()

    mean = land(zero, zero)
    assert mean == pytest.approx(LOW.alpha(v) * 0.9, rel=1e-9)
    kept, fresh = land(one, zero) - mean, land(zero, one) - mean
    assert kept**2 + fresh**2 == pytest.approx(LOW.sigma(v) ** 2, rel=1e-9)
    assert (fresh == 0) == (churn == 0)


def test_churn_zero_is_ddim():
    z, x = torch.tensor([1.7], dtype=torch.float64), torch.tensor([-0.6], dtype=torch.float64)
    u, v = 0.7, 0.2
    direction = (1.7 + 0.6 * LOW.alpha(u)) / LOW.sigma(u)
    expected = -0.6 * LOW.alpha(v) + LOW.sigma(v) * direction
    assert denoise_step(z, x, LOW, u, v, 0.0, None).item() == pytest.approx(expected, rel=1e-12)


def test_churn_zero_draws_nothing_after_the_first_noise():
    ids, fixed = row()
    rng, other = torch.Generator().manual_seed(4), torch.Generator().manual_seed(4)
    list(ode(reading(), ids, fixed, [rng], steps=8, schedule=LOW))
    torch.randn((L, DE), generator=other)
    assert torch.equal(rng.get_state(), other.get_state())


def test_sde_without_churn_is_ode():
    a, b = sample(sde, reading(), seeds=(3,), churn=0.0), sample(ode, reading(), seeds=(3,))
    noisy = sample(sde, reading(), seeds=(3,))
    for x, y in zip(a, b, strict=True):
        assert torch.equal(x.tokens, y.tokens) and torch.equal(x.estimate, y.estimate)
    assert not torch.equal(noisy[-1].estimate, b[-1].estimate)


@pytest.mark.parametrize("sampler", [sde, ode])
def test_the_same_seed_gives_the_same_run(sampler):
    for a, b in zip(sample(sampler, reading(), seeds=(3,)), sample(sampler, reading(), seeds=(3,)), strict=True):
        assert torch.equal(a.tokens, b.tokens) and torch.equal(a.estimate, b.estimate)


@pytest.mark.parametrize("sampler", [sde, ode])
def test_a_row_in_a_batch_equals_the_row_alone(sampler):
    together = sample(sampler, reading(), {1: 2}, seeds=(10, 11, 12))
    for i, seed in enumerate((10, 11, 12)):
        for a, b in zip(together, sample(sampler, reading(), {1: 2}, seeds=(seed,)), strict=True):
            assert torch.equal(a.tokens[i], b.tokens[0]) and torch.equal(a.state[i], b.state[0])
            assert torch.allclose(a.estimate[i], b.estimate[0], atol=1e-4)
    assert len({tuple(r) for r in together[-1].tokens.tolist()}) == 3


def test_the_steps_go_down_the_schedule_from_noise_to_text():
    fake = reading()
    steps = sample(sde, fake, steps=5)
    assert [step.level for step in steps] == pytest.approx([1, 0.75, 0.5, 0.25, 0])
    assert [step.index for step in steps] == [0, 1, 2, 3, 4] and {step.total for step in steps} == {5}
    asked = [g.item() for _, g, _, _ in fake.asked]
    assert asked == pytest.approx([LOW.log_nsr(u) for u in (1, 0.75, 0.5, 0.25, 0)], abs=1e-5)


@pytest.mark.parametrize("sampler", [sde, ode])
def test_one_step_is_enough_to_end(sampler):
    (step,) = sample(sampler, steady(TARGET), {0: 7}, steps=1)
    assert step.tokens.tolist() == [[7, *TARGET[1:]]]
    assert step.level == 1 and step.evaluations == 1
    assert step.state.tolist() == [[State.FIXED] + [State.COMMITTED] * 5]


def test_states_follow_the_probability_and_the_last_step_commits_all():
    p = torch.full((L, V), 0.0)
    for cell, best in enumerate((0.99, 0.951, 0.94, 0.11, 0.09, 0.5)):
        p[cell] = (1 - best) / (V - 1)
        p[cell, 2] = best
    first, last = sample(sde, Fake(lambda z, given: p.log()[None]), steps=2)
    C, D, N = State.COMMITTED, State.DRAFT, State.NOISE
    assert first.state.tolist() == [[C, C, D, D, N, D]]
    assert last.state.tolist() == [[C] * L]
    assert first.probability[0].tolist() == pytest.approx([0.99, 0.951, 0.94, 0.11, 0.09, 0.5], abs=1e-6)


def test_probability_and_entropy_are_those_at_temperature_one():
    logits = torch.randn(1, L, V, generator=torch.Generator().manual_seed(2))
    for temperature in (0.0, 0.3, 2.0):
        step = sample(sde, Fake(lambda z, given: logits), steps=3, temperature=temperature)[0]
        p = logits.softmax(-1)
        assert torch.allclose(step.probability, p.max(-1).values, atol=1e-6)
        assert torch.allclose(step.entropy, -(p * p.log()).sum(-1), atol=1e-5)


def test_nearest_is_the_token_of_the_closest_embedding():
    table = reading().table()
    z = table[torch.tensor([4, 0, 15])] + 0.1
    free, inner = torch.zeros(3, dtype=torch.bool), torch.tensor([False, True, False])
    assert nearest(z, table, free).tolist() == [4, 0, 15] == torch.cdist(z, table).argmin(-1).tolist()
    assert nearest(z, table, inner).tolist()[::2] == [4, 15]
    assert nearest(z, table, inner)[1] > EOS  # text follows, so no mark may stand there


def test_rounding_takes_the_latent_or_the_answer():
    """A denoiser that points to token 3 on the way and says 8 at the end: the latent is at 3, the answer is 8."""
    for rounding, token in (("nearest", 3), ("contextual", 8)):
        fake = steady([3] * L)
        ids, fixed = row()
        steps = sde(fake, ids, fixed, rngs(0), steps=6, schedule=LOW, rounding=rounding)
        for _ in range(5):
            next(steps)
        fake.answer = steady([8] * L).answer
        last = next(steps)
        assert last.tokens.tolist() == [[token] * L]
        sure = 1.0 if token == 8 else math.exp(-50)
        assert last.probability[0].tolist() == pytest.approx([sure] * L, rel=1e-3)


def test_expected_embedding_by_hand():
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    assert expected_embedding(logits, table, 1.0).tolist() == pytest.approx([0.3, 0.3])
    # at T = 0.5 the probabilities are squared: 25, 9, 4 of 38
    assert expected_embedding(logits, table, 0.5).tolist() == pytest.approx([21 / 38, 9 / 38])


def test_temperature_zero_takes_the_best_embedding():
    logits = torch.randn(2, L, V, generator=torch.Generator().manual_seed(1))
    table = reading().table()
    assert torch.equal(expected_embedding(logits, table, 0), table[logits.argmax(-1)])
    assert torch.allclose(expected_embedding(logits, table, 1e-4), table[logits.argmax(-1)], atol=1e-4)
    step = sample(sde, Fake(lambda z, given: logits[:1]), steps=2, temperature=0.0)[0]
    assert torch.equal(step.estimate, table[logits[:1].argmax(-1)])


def two_faced() -> Fake:
    """One answer where cells are given, another where none is."""
    generator = torch.Generator().manual_seed(6)
    answers = torch.randn(2, 1, L, V, generator=generator)
    fake = Fake(lambda z, given: answers[int(given.any())].expand(len(z), -1, -1))
    fake.without, fake.conditional = answers
    return fake


def test_guidance_follows_the_formula():
    fake = two_faced()
    for step in sample(sde, fake, {0: 7}, guidance=1.5, steps=3):
        p = (fake.conditional + 1.5 * (fake.conditional - fake.without)).softmax(-1)
        assert torch.allclose(step.probability[:, 1:], p.max(-1).values[:, 1:], atol=1e-6)
        assert torch.equal(step.tokens[:, 1:], p.argmax(-1)[:, 1:])


def test_guidance_costs_two_evaluations_a_step_and_hides_the_given_cells():
    fake = two_faced()
    steps = sample(sde, fake, {0: 7, 3: 2}, guidance=1.5, steps=4)
    assert [step.evaluations for step in steps] == [2, 4, 6, 8]
    assert len(fake.asked) == 8
    for (z, g, hint, given), (z2, g2, hint2, given2) in zip(fake.asked[::2], fake.asked[1::2], strict=True):
        assert given.sum() == 2 and not given2.any()
        assert (z2[:, [0, 3]] == 0).all() and torch.equal(z2[:, [1, 2, 4, 5]], z[:, [1, 2, 4, 5]])
        assert torch.equal(g, g2) and torch.equal(hint, hint2)


def test_without_guidance_each_step_is_one_evaluation():
    fake = two_faced()
    assert [step.evaluations for step in sample(sde, fake, {0: 7}, steps=4)] == [1, 2, 3, 4]
    assert len(fake.asked) == 4


def test_guidance_with_nothing_given_costs_and_changes_nothing():
    plain, fake = sample(sde, reading(), seeds=(2,)), reading()
    guided = sample(sde, fake, seeds=(2,), guidance=3.0)
    assert len(fake.asked) == 8 and guided[-1].evaluations == 8
    for a, b in zip(plain, guided, strict=True):
        assert torch.equal(a.tokens, b.tokens) and torch.equal(a.estimate, b.estimate)


def test_self_conditioning_shows_the_last_estimate():
    fake = reading()
    steps = sample(sde, fake)
    hints = [hint for _, _, hint, _ in fake.asked]
    assert (hints[0] == 0).all()
    assert all(torch.equal(hint, step.estimate) for hint, step in zip(hints[1:], steps, strict=False))


def test_without_self_conditioning_the_hint_is_always_zero():
    fake = reading()
    sample(sde, fake, self_conditioning=False)
    assert len(fake.asked) == 8 and all((hint == 0).all() for _, _, hint, _ in fake.asked)


FREQUENCIES = torch.tensor([0.30, 0.20, 0.15, 0.10, 0.10, 0.06, 0.05, 0.04])
CHI_SQUARE_7 = 24.32  # the 99.9th percentile with 7 degrees of freedom


class Unigram(Fake):
    """The exact posterior for tokens drawn independently: log prior + (alpha / sigma^2) z E^T."""

    vocab_size = len(FREQUENCIES)

    def __init__(self):
        super().__init__(None)
        self._table = self._table[: self.vocab_size]

    def __call__(self, z, log_nsr, self_condition, given, code=None, table=None):
        weight = torch.exp((F.softplus(-log_nsr) - log_nsr) / 2)[:, None, None]
        return FREQUENCIES.log() + weight * (z @ self._table.t())


@pytest.mark.parametrize("schedule", [Linear(-1.0, 8.0), Learned(-1.0, 2.0, 1.0)], ids=lambda s: s.name)
def test_the_exact_denoiser_of_independent_tokens_gives_their_frequencies(schedule):
    ids = torch.zeros(16, 64, dtype=torch.long)
    *_, last = sde(
        Unigram(), ids, ids.bool(), rngs(*range(16)), steps=100, schedule=schedule, temperature=1.0, churn=1.0
    )
    expected = FREQUENCIES * ids.numel()
    counts = torch.bincount(last.tokens.flatten(), minlength=len(FREQUENCIES))
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_7
