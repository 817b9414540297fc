"""What a Step shows of the logits, and noise that belongs to a row."""

import math

import pytest
import torch

from playground.samplers import SAMPLERS, knobs
from playground.samplers.step import CANDIDATES, guided, normal, observe, uniform


def rngs(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def test_a_uniform_distribution_has_entropy_ln_v():
    seen = observe(torch.full((2, 3, 16), 5.0))
    assert torch.allclose(seen.entropy, torch.full((2, 3), math.log(16)))
    assert torch.allclose(seen.chances, torch.full((2, 3, CANDIDATES), 1 / 16))


def test_a_certain_distribution_has_no_entropy_and_never_less():
    logits = torch.zeros(16)
    logits[7] = 200.0
    seen = observe(logits)
    assert seen.entropy.item() == pytest.approx(0, abs=1e-4)
    assert seen.candidates[0] == 7 and seen.chances[0] == 1
    assert (observe(torch.randn(200, 16, generator=torch.Generator().manual_seed(0)) * 100).entropy >= 0).all()


def test_candidates_are_the_best_five_with_their_probabilities():
    p = torch.tensor([0.02, 0.3, 0.05, 0.4, 0.03, 0.2])
    seen = observe(p.log() + 11.0)
    assert seen.candidates.tolist() == [3, 1, 5, 2, 4]
    assert torch.allclose(seen.chances, torch.tensor([0.4, 0.3, 0.2, 0.05, 0.03]))
    # -(0.4 ln 0.4 + 0.3 ln 0.3 + 0.2 ln 0.2 + 0.05 ln 0.05 + 0.03 ln 0.03 + 0.02 ln 0.02)
    assert seen.entropy.item() == pytest.approx(0.36652 + 0.36119 + 0.32189 + 0.14979 + 0.10520 + 0.07824, abs=1e-4)


def test_the_probability_of_any_token_can_be_asked():
    p = torch.tensor([[0.02, 0.3, 0.05, 0.4, 0.03, 0.2], [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]])
    logits = p.log() - 3.0
    assert torch.allclose(observe(logits).probability(logits, torch.tensor([0, 0])), torch.tensor([0.02, 0.5]))
    assert torch.allclose(observe(logits).probability(logits, torch.tensor([3, 5])), torch.tensor([0.4, 0.1]))


def test_what_is_not_finite_stays_visible():
    for bad in (math.nan, math.inf):
        assert not observe(torch.tensor([0.0, 1.0, bad, 2.0, 3.0, 4.0])).entropy.isfinite()


def test_a_row_of_noise_depends_on_its_own_seed_alone():
    together, alone = normal((6, 4), rngs(3, 9), "cpu"), normal((6, 4), rngs(9), "cpu")
    assert together.shape == (2, 6, 4) and torch.equal(together[1], alone[0])
    assert not torch.equal(together[0], together[1])
    together, alone = uniform(6, rngs(3, 9)), uniform(6, rngs(9))
    assert together.shape == (2, 6) and torch.equal(together[1], alone[0])
    assert not torch.equal(together[0], together[1])


def test_uniform_noise_is_float64_in_zero_to_one():
    noise = uniform(10_000, rngs(1))
    assert noise.dtype == torch.float64 and noise.min() >= 0 and noise.max() < 1
    assert (noise.float().double() != noise).float().mean() > 0.9  # more bits than float32 holds


def test_guidance_goes_past_the_conditional():
    conditional, unconditional = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0])
    assert guided(conditional, unconditional, 0.0).tolist() == [1.0, 2.0]
    assert guided(conditional, unconditional, 1.5).tolist() == [2.5, -1.0]


def test_each_family_lists_its_samplers_default_first():
    assert {family: list(samplers) for family, samplers in SAMPLERS.items()} == {
        "continuous": ["sde", "ode"],
        "masked": ["random", "ancestral", "confidence", "entropy", "margin", "threshold", "remask"],
        "uniform": ["ancestral", "entropy_bound"],
        "autoregressive": ["left_to_right"],
    }


@pytest.mark.parametrize(
    ("family", "sampler", "own"),
    [
        ("continuous", "sde", {"schedule", "churn", "self_conditioning", "rounding"}),
        ("continuous", "ode", {"schedule", "self_conditioning", "rounding"}),
        ("masked", "ancestral", {"schedule", "top_p"}),
        ("masked", "confidence", {"schedule", "top_p"}),
        ("masked", "threshold", {"threshold", "top_p"}),
        ("masked", "remask", {"schedule", "eta", "top_p"}),
    ],
)
def test_a_sampler_listens_to_its_own_knobs(family, sampler, own):
    assert set(knobs(family, sampler)) == own | {"steps", "temperature", "guidance", "strength", "block", "refine"}


def test_the_knobs_of_the_families_without_masks_or_embeddings():
    whole = {"steps", "temperature", "top_p", "self_conditioning", "strength", "block", "refine"}
    assert set(knobs("uniform", "ancestral")) == whole | {"schedule"}
    assert set(knobs("uniform", "entropy_bound")) == whole | {"bound"}
    assert set(knobs("autoregressive", "left_to_right")) == {"temperature", "top_k", "top_p"}
