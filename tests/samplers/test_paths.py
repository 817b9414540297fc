"""The four methods of a path, with the model that comes with the app."""

import math

import pytest
import torch

from playground.denoisers import zoo
from playground.samplers import paths
from playground.samplers.alignment import Pairing
from playground.samplers.paths import METHODS, Points, invert, pick, slerp
from playground.samplers.step import State
from playground.schedules import schedule_for
from playground.text import BOS, EOS, PAD

A, B = "The dog ran to the park.", "Once there was a big red dragon. It was sad."
WEIGHTS = [0.0, 0.25, 0.5, 0.75, 1.0]
every = pytest.mark.parametrize("method", [method for method in METHODS if method != "arithmetic"])


@pytest.fixture(scope="module")
def model():
    return zoo.load("stories-continuous")


def points(model, a=A, b=B, weights=WEIGHTS) -> Points:
    ids = (model.tokenizer.encode(text) for text in (a, b))
    return Points.along(Pairing.of(*ids, model.tokenizer), weights)


def run(model, method, laid, seed=3, **knobs):
    heard = {"schedule": schedule_for("learned", model.denoiser)}
    if method != "naive":
        heard |= {"steps": 4, "temperature": 0.7}
    with torch.inference_mode():
        return list(METHODS[method](model.denoiser, laid, torch.Generator().manual_seed(seed), **heard | knobs))


def texts(model, step) -> list[str]:
    return [model.tokenizer.decode(row) for row in step.tokens.tolist()]


def test_rows_have_marks_and_padding_around_open_cells(model):
    laid = points(model)
    for row, fixed in zip(laid.ids.tolist(), laid.fixed.tolist(), strict=True):
        end = row.index(EOS)
        assert row[0] == BOS and not any(fixed[1:end]) and all(fixed[end:]) and set(row[end + 1 :]) <= {PAD}
    assert laid.ids.shape == (5, laid.widest + 2)


def test_a_mix_has_the_norm_of_an_embedding_and_is_the_texts_at_the_ends(model):
    laid, table = points(model), model.denoiser.table()
    mix = laid.mixed(table)
    assert torch.allclose(mix[~laid.fixed].norm(dim=-1), torch.tensor(math.sqrt(table.shape[1])), atol=1e-3)
    a = torch.tensor(model.tokenizer.encode(A))
    assert torch.allclose(mix[0, 1 : 1 + len(a)], table[a], atol=1e-4)


@every
def test_a_step_is_whole_and_marks_stay(model, method):
    laid = points(model)
    *_, last = run(model, method, laid)
    assert torch.equal(last.tokens[laid.fixed], laid.ids[laid.fixed])
    assert (last.tokens[~laid.fixed] > EOS).all() and last.level == 0
    assert (last.state[laid.fixed] == State.FIXED).all()
    assert last.probability.isfinite().all() and last.entropy.isfinite().all()


@every
def test_the_same_seed_gives_the_same_path_and_a_point_does_not_depend_on_the_others(model, method):
    *_, all_points = run(model, method, points(model))
    *_, again = run(model, method, points(model))
    assert torch.equal(all_points.tokens, again.tokens)
    if method != "noise-slerp":  # that one reads A and B off the first and the last row
        *_, alone = run(model, method, points(model, weights=[0.5]))
        assert torch.equal(alone.tokens[0], all_points.tokens[2])


@pytest.mark.parametrize("method", ["naive", "shared-noise"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_ends_are_the_texts_themselves(model, method, seed):
    *_, last = run(model, method, points(model), seed)
    assert texts(model, last)[0] == A and texts(model, last)[-1] == B


def test_noise_reaches_its_level_in_the_middle_only(model):
    """Up to its own level, a row is shown as the mix that it is."""
    laid = points(model)
    steps = run(model, "shared-noise", laid, steps=8, level=0.9)
    mix = laid.mixed(model.denoiser.table())
    held = [[torch.allclose(step.estimate[row], mix[row]) for row in range(5)] for step in steps]
    assert [sum(step[row] for step in held) for row in (1, 2, 3)] == [1, 0, 1]
    assert all(step[0] and step[4] for step in held[:-1])  # at level 0 nothing is left to hold


def test_naive_takes_the_nearest_embedding_without_the_denoiser(model):
    laid, table = points(model), model.denoiser.table()
    (step,) = run(model, "naive", laid)
    distance = torch.cdist(laid.mixed(table), table)[~laid.fixed]
    chosen = distance.gather(-1, step.tokens[~laid.fixed][:, None]).squeeze(-1)
    assert torch.allclose(chosen, distance.min(-1).values, atol=1e-3) and step.evaluations == 0


def test_inversion_leads_back_to_the_text(model):
    """Up to a low level and down again by the ODE, the words are those it began with."""
    ids = torch.tensor([[BOS, *model.tokenizer.encode(A), EOS]])
    fixed = (ids == BOS) | (ids == EOS)
    schedule = schedule_for("learned", model.denoiser)
    noise = torch.randn(*ids.shape, model.denoiser.embedding_width, generator=torch.Generator().manual_seed(1))
    up = torch.linspace(0, 0.4, 8).tolist()
    z = invert(model.denoiser, ids, fixed, noise, levels=up, schedule=schedule, temperature=0.7)
    with torch.inference_mode():
        *_, last = paths.descend(
            model.denoiser, z, ids, fixed, [], levels=up[::-1], schedule=schedule, temperature=0.7, churn=0.0
        )
    assert torch.equal(last.tokens, ids)


def test_slerp_turns_and_keeps_the_length():
    a, b = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    assert torch.allclose(slerp(a, b, torch.tensor(0.0)), a) and torch.allclose(slerp(a, b, torch.tensor(1.0)), b)
    third = slerp(a, b, torch.tensor(1 / 3))
    assert torch.allclose(third, torch.tensor([[3 * math.cos(math.pi / 6), 3 * math.sin(math.pi / 6)]]), atol=1e-5)
    assert torch.allclose(slerp(a, a, torch.tensor(0.5)), a)
    assert slerp(a, -a, torch.tensor(0.5)).isfinite().all()


def test_pick_gives_zeros_where_there_is_no_place():
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert pick(values, torch.tensor([1, -1, 0])).tolist() == [[3, 4], [0, 0], [1, 2]]
