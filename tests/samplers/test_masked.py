"""Samplers for masked rows, against hand counts, Bayes and the distributions they must keep."""

import itertools
import math

import pytest
import torch

from playground.samplers import SAMPLERS, knobs
from playground.samplers.masked import (
    ancestral,
    confidence,
    entropy,
    margin,
    random,
    remask,
    remask_limit,
    threshold,
    unmask_probability,
)  # fmt: skip
from playground.samplers.step import State, draw
from playground.schedules import SCHEDULES

V, L = 12, 20
MASK = V
LINEAR, COSINE = SCHEDULES["linear"](), SCHEDULES["cosine"]()
ALL = list(SAMPLERS["masked"].values())
RANKED = [confidence, random, entropy, margin]
every = pytest.mark.parametrize("sampler", ALL, ids=lambda f: f.__name__)


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


class Fake:
    """Answers with `answer(x)` -> logits [B, L, V]; counts its calls."""

    family = "masked"
    vocab_size, mask_id = V, MASK

    def __init__(self, answer, vocab_size=V):
        self.answer, self.asked, self.tokens = answer, [], torch.zeros(1)
        self.vocab_size = self.mask_id = vocab_size

    def __call__(self, x):
        self.asked.append(x.clone())
        return self.answer(x)


def contextual(scale=2.0) -> Fake:
    """Logits that depend on the cell and on what the row holds already."""
    generator = torch.Generator().manual_seed(8)
    base, pull = torch.randn(L, V, generator=generator), torch.randn(V + 1, V, generator=generator)
    pull[MASK] = 0
    return Fake(lambda x: scale * (base + pull[x].mean(1, keepdim=True)))


def same(logits) -> Fake:
    """The same logits for every row and step, whatever it holds."""
    return Fake(lambda x: logits.expand(len(x), -1, -1), logits.shape[-1])


def rngs(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def row(fixed=(), rows=1, length=L):
    ids, mask = torch.zeros(rows, length, dtype=torch.long), torch.zeros(rows, length, dtype=torch.bool)
    for cell, token in dict(fixed).items():
        ids[:, cell], mask[:, cell] = token, True
    return ids, mask


def sample(sampler, fake, fixed=(), seeds=(0,), length=L, **options):
    options = {"steps": 8, "schedule": LINEAR} | options
    options = {k: v for k, v in options.items() if k in knobs("masked", sampler.__name__)}
    return list(sampler(fake, *row(fixed, len(seeds), length), rngs(*seeds), **options))


@every
@pytest.mark.parametrize("steps", [1, 3, 7, 32, 100])
def test_no_mask_is_left_at_the_end(sampler, steps):
    for schedule in (LINEAR, COSINE):
        run = sample(sampler, contextual(), {0: 3}, seeds=(0, 1), steps=steps, schedule=schedule, eta=0.3)
        assert (run[-1].tokens < V).all()
        assert len(run) <= steps
        states = run[-1].state
        assert (states[:, 0] == State.FIXED).all() and (states[:, 1:] == State.COMMITTED).all()


@every
@pytest.mark.parametrize("guidance", [0.0, 2.0])
def test_fixed_cells_never_change(sampler, guidance):
    fixed = {0: 3, 7: 11, 19: 0}
    for step in sample(sampler, contextual(), fixed, seeds=(0, 1), steps=12, guidance=guidance, eta=0.5):
        for cell in range(L):
            assert (step.state[:, cell] == State.FIXED).all() == (cell in fixed)
        for cell, token in fixed.items():
            assert (step.tokens[:, cell] == token).all()
            assert (step.probability[:, cell] == 1).all() and (step.entropy[:, cell] == 0).all()


@every
def test_a_cell_is_noise_exactly_where_it_is_masked(sampler):
    for step in sample(sampler, contextual(), steps=12, eta=0.5):
        assert torch.equal(step.tokens == MASK, step.state == State.NOISE)


@every
def test_the_denoiser_sees_the_row_of_the_step_before(sampler):
    fake = contextual()
    run = sample(sampler, fake, {2: 5}, steps=12, eta=0.5)
    assert fake.asked[0].tolist() == [[MASK, MASK, 5] + [MASK] * 17]
    for x, step in zip(fake.asked[1:], run, strict=False):
        assert torch.equal(x, step.tokens)


@pytest.mark.parametrize("sampler", [s for s in ALL if s is not remask], ids=lambda f: f.__name__)
def test_what_is_committed_stays(sampler):
    run = sample(sampler, contextual(), seeds=(0, 1), steps=12)
    for a, b in itertools.pairwise(run):
        kept = a.tokens != MASK
        assert torch.equal(a.tokens[kept], b.tokens[kept]) and torch.equal(a.probability[kept], b.probability[kept])


def left(run) -> list[int]:
    return [int((step.tokens == MASK).sum()) for step in run]


@pytest.mark.parametrize("sampler", RANKED, ids=lambda f: f.__name__)
def test_ranked_samplers_follow_the_schedule_to_the_cell(sampler):
    assert left(sample(sampler, contextual(), steps=5)) == [16, 12, 8, 4, 0]
    # sin^2(pi u / 2) at u = 0.8, 0.6, 0.4, 0.2, 0: 0.9045, 0.6545, 0.3455, 0.0955, 0, times 20 cells
    assert left(sample(sampler, contextual(), steps=5, schedule=COSINE)) == [18, 13, 7, 2, 0]
    # five given cells leave 15 masks, of which 2/3 and 1/3 stay
    assert left(sample(sampler, contextual(), dict.fromkeys(range(5), 1), steps=3)) == [10, 5, 0]


@pytest.mark.parametrize("sampler", RANKED, ids=lambda f: f.__name__)
def test_more_steps_than_cells_commit_at_most_one_a_step(sampler):
    counts = [L, *left(sample(sampler, contextual(), steps=100))]
    commits = [a - b for a, b in itertools.pairwise(counts)]
    assert set(commits) == {0, 1} and sum(commits) == L


@every
def test_the_same_seed_gives_the_same_run(sampler):
    for a, b in zip(*(sample(sampler, contextual(), seeds=(3,)) for _ in range(2)), strict=True):
        assert torch.equal(a.tokens, b.tokens) and torch.equal(a.probability, b.probability)


@every
def test_a_row_in_a_batch_equals_the_row_alone(sampler):
    together = sample(sampler, contextual(), {1: 2}, seeds=(10, 11, 12), eta=0.3)
    for i, seed in enumerate((10, 11, 12)):
        alone = sample(sampler, contextual(), {1: 2}, seeds=(seed,), eta=0.3)
        for a, b in zip(together, alone, strict=False):
            assert torch.equal(a.tokens[i], b.tokens[0]) and torch.equal(a.state[i], b.state[0])
        assert torch.equal(together[-1].tokens[i], alone[-1].tokens[0])
    assert len({tuple(r) for r in together[-1].tokens.tolist()}) == 3


LEVELS = [(a / 20, b / 20) for a in range(20) for b in range(a + 1, 21)]  # alpha_t < alpha_s


@pytest.mark.parametrize(("kept_t", "kept_s"), LEVELS)
def test_unmasking_and_staying_are_the_bayes_posterior(kept_t, kept_s):
    """Forward: a token is kept to s with alpha_s and from s to t with alpha_t / alpha_s; a mask stays a mask."""
    token_then_mask = kept_s * (1 - kept_t / kept_s)
    mask_then_mask = (1 - kept_s) * 1.0
    total = token_then_mask + mask_then_mask
    opens = unmask_probability(1 - kept_t, 1 - kept_s)
    assert total == pytest.approx(1 - kept_t)
    assert opens == pytest.approx(token_then_mask / total, abs=1e-12)
    assert 1 - opens == pytest.approx(mask_then_mask / total, abs=1e-12)


@pytest.mark.parametrize(("kept_t", "kept_s"), LEVELS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_remasking_up_to_its_limit_keeps_the_marginals(kept_t, kept_s, share):
    """Masked at s: a mask that stays, or a token masked again. Together they are 1 - alpha_s."""
    limit = remask_limit(1 - kept_t, 1 - kept_s)
    sigma = share * limit
    assert 0 <= limit <= 1
    opens = unmask_probability(1 - kept_t, 1 - kept_s, sigma)
    assert -1e-12 <= opens <= 1 + 1e-12
    assert (1 - kept_t) * (1 - opens) + kept_t * sigma == pytest.approx(1 - kept_s, abs=1e-12)


def test_past_the_limit_there_is_no_such_process():
    limit = remask_limit(0.4, 0.3)
    assert limit == pytest.approx(0.5)  # (1 - alpha_s) / alpha_t = 0.3 / 0.6
    assert unmask_probability(0.4, 0.3, limit) == pytest.approx(1)
    assert unmask_probability(0.4, 0.3, limit + 0.1) > 1


def test_the_first_and_the_last_step_are_no_special_case():
    assert unmask_probability(1.0, 0.0) == unmask_probability(0.1, 0.0) == 1
    assert unmask_probability(1.0, 0.9) == pytest.approx(0.1)
    assert remask_limit(1.0, 0.9) == 1 and remask_limit(0.1, 0.0) == 0


def test_ancestral_opens_as_many_as_the_schedule_says_on_average():
    run = sample(ancestral, contextual(), seeds=range(100), steps=4)
    for step, rate in zip(run, (0.75, 0.5, 0.25, 0.0), strict=True):
        spread = math.sqrt(rate * (1 - rate) / (100 * L))
        assert (step.tokens == MASK).float().mean().item() == pytest.approx(rate, abs=4 * spread)


def test_remask_with_eta_zero_is_ancestral():
    for schedule in (LINEAR, COSINE):
        pair = [
            sample(s, contextual(), {2: 5}, (4, 5), steps=16, schedule=schedule, eta=0.0) for s in (ancestral, remask)
        ]
        for a, b in zip(*pair, strict=True):
            for name in ("tokens", "state", "probability", "entropy", "candidates", "candidate_probability"):
                assert torch.equal(getattr(a, name), getattr(b, name))


def masked_again(run) -> int:
    return sum(int(((a.tokens != MASK) & (b.tokens == MASK)).sum()) for a, b in itertools.pairwise(run))


def test_remask_masks_again_and_still_ends_clean():
    run = sample(remask, contextual(), {2: 5}, steps=60, eta=0.2)
    assert masked_again(run) > 0
    assert (run[-1].tokens < V).all()
    assert masked_again(sample(remask, contextual(), {2: 5}, steps=60, eta=0.0)) == 0


def test_remask_keeps_the_share_of_masks():
    run = sample(remask, contextual(), seeds=range(100), steps=10, eta=0.3)
    assert len(run) == 10
    for k, step in enumerate(run):
        rate = 1 - (k + 1) / 10
        spread = math.sqrt(max(rate * (1 - rate), 0) / (100 * L))
        assert (step.tokens == MASK).float().mean().item() == pytest.approx(rate, abs=4 * spread + 1e-9)


def confident(best: list[float], vocab_size=V) -> torch.Tensor:
    """Logits [L, V] whose best token, `cell % 5`, has the given probability; the others share the rest."""
    p = torch.empty(len(best), vocab_size)
    for cell, chance in enumerate(best):
        p[cell] = (1 - chance) / (vocab_size - 1)
        p[cell, cell % 5] = chance
    return p.log()


def test_threshold_commits_exactly_what_is_above_it():
    best = [0.99 if cell % 3 == 0 else 0.5 + cell / 100 for cell in range(L)]
    run = sample(threshold, same(confident(best)), temperature=0.0, threshold=0.9)
    assert (run[0].tokens[0] != MASK).tolist() == [cell % 3 == 0 for cell in range(L)]


def test_threshold_commits_the_best_one_where_none_is_above_it():
    best = [0.3 + cell / 100 for cell in range(L)]
    run = sample(threshold, same(confident(best)), temperature=0.0, threshold=0.9, steps=8)
    assert left(run) == [19, 18, 17, 16, 15, 14, 13, 0]
    assert [(step.tokens[0] != MASK).nonzero().flatten().tolist() for step in run[:3]] == [[19], [18, 19], [17, 18, 19]]


def test_threshold_commits_at_least_one_in_each_row():
    sure, unsure = confident([0.99] * L), confident([0.3 + cell / 100 for cell in range(L)])
    run = sample(threshold, Fake(lambda x: torch.stack([sure, unsure])), seeds=(0, 1), temperature=0.0)
    assert (run[0].tokens == MASK).sum(1).tolist() == [0, 19]
    assert (run[1].tokens == MASK).sum(1).tolist() == [0, 18]


def test_threshold_ends_as_soon_as_nothing_is_masked():
    fake = same(confident([0.99] * L))
    (step,) = sample(threshold, fake, temperature=0.0, steps=32)
    assert step.evaluations == len(fake.asked) == 1 and step.total == 32


@pytest.mark.parametrize("steps", [4, 8])
def test_a_step_knows_its_place(steps):
    run = sample(confidence, contextual(), steps=steps)
    assert [step.index for step in run] == list(range(steps)) and {step.total for step in run} == {steps}
    assert [step.level for step in run] == pytest.approx([1 - k / steps for k in range(steps)])


def test_draw_at_temperature_zero_takes_the_best():
    logits = torch.randn(50, V, generator=torch.Generator().manual_seed(1))
    luck = torch.rand(50, dtype=torch.float64)
    assert torch.equal(draw(logits, 0, luck), logits.argmax(-1))


@pytest.mark.parametrize("luck", [0.0, 0.25, 0.499999, 0.5, 1 - 2**-53])
def test_draw_never_takes_a_token_of_probability_zero(luck):
    inf = math.inf
    logits = torch.tensor([[-inf, -inf, 1.0, -inf, 1.0, -inf, -inf]])
    assert draw(logits, 1.0, torch.tensor([luck], dtype=torch.float64)).item() == (2 if luck < 0.5 else 4)


def test_draw_is_the_inverse_of_the_cumulative_distribution():
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().expand(6, -1)
    luck = torch.tensor([0.05, 0.15, 0.29, 0.31, 0.59, 0.61], dtype=torch.float64)
    assert draw(logits, 1.0, luck).tolist() == [0, 1, 1, 2, 2, 3]
    # T = 0.5 squares the probabilities: 1, 4, 9, 16 of 30
    luck = torch.tensor([0.03, 0.04, 0.16, 0.17, 0.46, 0.47], dtype=torch.float64)
    assert draw(logits, 0.5, luck).tolist() == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax(temperature):
    generator = torch.Generator().manual_seed(7)
    logits = torch.randn(10, generator=generator)
    luck = torch.rand(20_000, generator=generator, dtype=torch.float64)
    counts = torch.bincount(draw(logits.expand(20_000, -1), temperature, luck), minlength=10)
    expected = 20_000 * (logits / temperature).softmax(-1)
    assert expected.min() > 5
    assert ((counts - expected) ** 2 / expected).sum() < 27.88  # 99.9th percentile with 9 degrees of freedom


def test_the_tail_is_drawn_as_rarely_as_it_should_be():
    """Rare tokens of 1e-9 each: float32 sums could not tell them from one another, nor from nothing."""
    p = torch.tensor([1 - 4e-9, 1e-9, 1e-9, 1e-9, 1e-9], dtype=torch.float64)
    logits = p.log().float().expand(5, -1)
    luck = torch.tensor([1 - 4.5e-9, 1 - 3.5e-9, 1 - 2.5e-9, 1 - 1.5e-9, 1 - 0.5e-9], dtype=torch.float64)
    assert draw(logits, 1.0, luck).tolist() == [0, 1, 2, 3, 4]


@every
def test_a_temperature_near_zero_is_no_cliff(sampler):
    for zero, near in zip(
        *(sample(sampler, contextual(), seeds=(0, 1), temperature=t, eta=0.3) for t in (0.0, 1e-4)), strict=True
    ):
        assert torch.equal(zero.tokens, near.tokens) and torch.equal(zero.probability, near.probability)


@pytest.mark.parametrize("sampler", [confidence, entropy, margin], ids=lambda f: f.__name__)
@pytest.mark.parametrize("temperature", [0.0, 1e-4, 0.02])
def test_ranking_reads_the_raw_logits(sampler, temperature):
    """Ever surer to the right. After the temperature every cell would be certain and the row fill from the left."""
    best = [0.3 + 0.03 * cell for cell in range(L)]
    run = sample(sampler, same(confident(best)), steps=L, temperature=temperature)
    for k, step in enumerate(run):
        assert (step.tokens[0] != MASK).tolist() == [cell >= L - 1 - k for cell in range(L)]


def test_the_rankings_differ_where_they_should():
    """Three cells: the surest, the one with the lowest entropy, and the one with the widest margin."""
    p = torch.full((3, 8), 1e-9)
    p[0, :2] = torch.tensor([0.50, 0.50])  # entropy 0.69, margin 0
    p[1] = torch.tensor([0.40] + [0.60 / 7] * 7)  # margin 0.31, entropy 1.84
    p[2, :4] = torch.tensor([0.52, 0.42, 0.03, 0.03])  # confidence 0.52, margin 0.10, entropy 0.91
    for sampler, cell in ((confidence, 2), (entropy, 0), (margin, 1)):
        fake = same(p.log())
        first = sample(sampler, fake, steps=3, length=3, temperature=0.0)[0]
        assert (first.tokens[0] != 8).nonzero().flatten().tolist() == [cell]


def test_shown_probability_is_raw_and_belongs_to_the_token():
    fake = contextual()
    (step,) = sample(random, fake, steps=1, temperature=2.0, seeds=(0, 1))
    p = fake.answer(torch.full((2, L), MASK)).softmax(-1)
    assert torch.allclose(step.probability, p.gather(-1, step.tokens[..., None]).squeeze(-1), atol=1e-6)


@every
def test_guidance_costs_two_evaluations_a_step(sampler):
    fake = contextual()
    run = sample(sampler, fake, {0: 3, 4: 5}, guidance=1.0, steps=6)
    assert [step.evaluations for step in run] == [2 * (k + 1) for k in range(len(run))]
    assert len(fake.asked) == 2 * len(run)
    for x, hidden in zip(fake.asked[::2], fake.asked[1::2], strict=True):
        assert x[0, [0, 4]].tolist() == [3, 5] and hidden[0, [0, 4]].tolist() == [MASK, MASK]
        others = [cell for cell in range(L) if cell not in (0, 4)]
        assert torch.equal(x[:, others], hidden[:, others])


@every
def test_guidance_with_nothing_given_costs_and_changes_nothing(sampler):
    plain, fake = sample(sampler, contextual()), contextual()
    guided = sample(sampler, fake, guidance=3.0)
    assert len(fake.asked) == len(guided) == guided[-1].evaluations
    for a, b in zip(plain, guided, strict=True):
        assert torch.equal(a.tokens, b.tokens) and torch.equal(a.probability, b.probability)


def test_guidance_follows_the_formula():
    generator = torch.Generator().manual_seed(3)
    without, conditional = torch.randn(2, 1, L, V, generator=generator)
    fake = Fake(lambda x: conditional if (x[0, 0] != MASK) else without)
    (step,) = sample(confidence, fake, {0: 3}, guidance=1.5, steps=1, temperature=0.0)
    p = (conditional + 1.5 * (conditional - without)).softmax(-1)
    assert torch.equal(step.tokens[:, 1:], p.argmax(-1)[:, 1:])
    assert torch.allclose(step.probability[:, 1:], p.max(-1).values[:, 1:], atol=1e-6)


FREQUENCIES = torch.tensor([0.30, 0.20, 0.15, 0.10, 0.10, 0.06, 0.05, 0.04])
CHI_SQUARE_7 = 24.32  # the 99.9th percentile with 7 degrees of freedom


@pytest.mark.parametrize("sampler", [ancestral, random, remask], ids=lambda f: f.__name__)
@pytest.mark.parametrize("steps", [4, 50])
def test_a_denoiser_of_word_frequencies_gives_text_of_those_frequencies(sampler, steps):
    fake = same(FREQUENCIES.log().expand(32, -1))
    last = sample(sampler, fake, seeds=range(100), length=32, steps=steps, temperature=1.0, eta=0.2)[-1]
    expected = FREQUENCIES * last.tokens.numel()
    counts = torch.bincount(last.tokens.flatten(), minlength=8)
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_7
