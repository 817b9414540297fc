"""What the numbers show, checked against numbers that are known."""

import math
from types import SimpleNamespace

import pytest

from playground.recipe import Recipe
from playground.studies import sentences
from playground.studies.figures import Spread
from playground.studies.grid import Axis, Cell, Grid
from playground.studies.sentences import change, said, shown
from playground.studies.summary import REAL, real, summary


def cell(place, perplexities, entropy=3.5, seconds=1.0, repetition=0.0):
    same = {"entropy": entropy, "distinct_2": 1.0, "repetition": repetition, "seconds": seconds, "text": "a"}
    rows = [same | {"perplexity": p} for p in perplexities]
    return Cell(place, Recipe.parse({"length": 64}), trace=SimpleNamespace(end={}), rows=rows)


def study(axes, cells, seeds=2):
    grid = Grid(seeds=seeds, axes=axes)
    return SimpleNamespace(grid=grid, cells=cells, baselines=[None] * len(cells), reference=None)


STEPS = (Axis("steps", (8, 16)),)


def test_a_change_is_taken_over_the_seeds_each_with_itself():
    a, b = cell({"steps": 8}, [10.0, 20.0]), cell({"steps": 16}, [5.0, 10.0])
    assert change(a, b, "perplexity") == (pytest.approx(-0.5), 0)
    noisy = cell({"steps": 16}, [5.0, 40.0])  # halved and doubled: ln 2 either way
    share, error = change(a, noisy, "perplexity")
    assert share == pytest.approx(0) and error == pytest.approx(math.sinh(math.log(2)))
    assert change(cell({}, [2.0]), cell({}, [1.0]), "perplexity") == (pytest.approx(-0.5), None)
    assert change(cell({}, [None]), cell({}, [1.0]), "perplexity") is None


def test_what_falls_and_what_it_costs_is_said():
    found = said(study(STEPS, [cell({"steps": 8}, [10.0, 20.0]), cell({"steps": 16}, [5.0, 10.0], seconds=2.0)]))
    assert found[0] == (
        "From 8 to 16 steps perplexity falls 50 ± 0%, word entropy does not change measurably (+0 ± 0%), "
        "and a text takes 2.0 times as long."
    )
    _, texts = real(64, "bundled")
    assert found[1] == (
        "The lowest perplexity is 7.1 at word entropy 3.50 (steps 16); real text of 64 tokens has "
        f"{texts['perplexity'].mean:.1f} at word entropy {texts['entropy'].mean:.2f}."
    )


def test_a_change_within_its_error_is_not_called_one():
    found = said(study(STEPS, [cell({"steps": 8}, [10.0, 20.0]), cell({"steps": 16}, [5.0, 44.0])]))
    assert "perplexity does not change measurably (+5 ± 8" in found[0]


def test_one_seed_has_no_error_and_that_is_said():
    found = said(study(STEPS, [cell({"steps": 8}, [10.0]), cell({"steps": 16}, [5.0])], seeds=1))
    assert "perplexity falls 50%," in found[0] and found[-1].startswith("With one seed there are no error bars")


def test_names_are_ranked_and_each_line_of_a_second_knob_is_named():
    axes = (Axis("sampler", ("sde", "ode")),)
    found = said(study(axes, [cell({"sampler": "sde"}, [5.0, 5.0]), cell({"sampler": "ode"}, [9.0, 9.0], entropy=3.4)]))
    assert found[0] == (
        "Sampler sde has 5.0 at word entropy 3.50 and ode has 9.0 at word entropy 3.40: "
        "the lowest and the highest perplexity."
    )
    axes = (*STEPS, Axis("self_conditioning", (True, False)))
    cells = [cell({"self_conditioning": on, "steps": s}, [9.0, 8.0]) for on in (True, False) for s in (8, 16)]
    assert [line[:22] for line in said(study(axes, cells))[:2]] == ["Self-conditioning on: ", "Self-conditioning off:"]


def test_monotonous_text_is_not_praised_for_its_perplexity():
    found = said(study(STEPS, [cell({"steps": 8}, [1.1, 1.2], entropy=1.0), cell({"steps": 16}, [5.0, 5.0])]))
    assert any(line.startswith("Mind the entropy beside the perplexity: at steps 8 it is 29%") for line in found)


def test_nothing_is_said_of_nothing():
    assert said(study(STEPS, [Cell({"steps": 8}, Recipe.parse({}))] * 2)) == []


def test_values_are_shown_as_a_reader_writes_them():
    assert [shown(value) for value in (True, False, 0.7, 1.0, 8, "sde")] == ["on", "off", "0.7", "1", "8", "sde"]


def test_a_summary_has_every_metric_there_is():
    found = summary(cell({}, [10.0, 40.0]).rows)
    assert found["perplexity"].mean == pytest.approx(20) and found["entropy"] == Spread(3.5, 3.5, 3.5, 2)
    assert "bleu" not in found and summary([]) == {}


def test_real_text_is_that_of_the_nearest_length_and_of_the_judge_that_read_it():
    assert [real(length, "bundled")[0] for length in (8, 64, 80, 100, 400)] == [16, 64, 64, 128, 512]
    assert "perplexity" not in real(64, "smollm2")[1] and "entropy" in real(64, "smollm2")[1]


def test_real_text_was_read_by_the_weights_that_are_here():
    import json

    from playground.training.real import fingerprint

    measured = json.loads(REAL.read_text(encoding="utf-8"))
    assert measured["weights"] == fingerprint("stories-autoregressive")


@pytest.mark.parametrize(
    ("share", "error", "sentence"),
    [
        (502.2, None, "rises to 503 times as much"),
        (11.0, 2.2, "rises to 12 ± 2 times as much"),
        (8.9, None, "rises 890%"),
    ],
)
def test_what_grows_manyfold_is_said_in_times(share, error, sentence):
    assert sentences._moves(share, error) == sentence
