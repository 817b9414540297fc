"""A pinned word stays a word, whichever model writes around it."""

import dataclasses

import pytest
import torch

import playground
from playground.canvas import Canvas
from playground.denoisers import zoo
from playground.editing import verdict
from playground.engine import Run
from playground.recipe import Recipe
from playground.samplers.whole import joined

WORD = " hippopotamus"
FIELDS = {"text": "Tom was happy. He saw a [[+9]] and went home.", "pins": {8: f'"{WORD}"'}, "samples": 8, "steps": 6}
SAMPLERS = [
    ("stories-continuous", {"sampler": "sde"}),
    ("stories-continuous", {"sampler": "ode", "guidance": 1.0}),
    ("stories-masked", {"sampler": "random", "refine": 2}),
    ("stories-masked", {"sampler": "remask"}),
    ("stories-uniform", {"sampler": "ancestral"}),
    ("stories-uniform", {"sampler": "entropy_bound"}),
    ("stories-autoregressive", {"sampler": "left_to_right"}),
]


def test_tokens_that_go_on_with_a_word(tokenizer):
    [the] = tokenizer.encode(" the")
    [us] = tokenizer.encode("us")
    [full_stop] = tokenizer.encode(".")
    assert [tokenizer.continuing[i] for i in (the, us, full_stop, 0, 2)] == [False, True, False, False, False]


def test_the_cells_after_pinned_words(tokenizer):
    canvas = Canvas.from_recipe(Recipe.parse(FIELDS), tokenizer)
    assert canvas.after_pins[0].nonzero().flatten().tolist() == [13]
    assert not Canvas.from_recipe(Recipe.parse({"text": "a [[b]]"}), tokenizer).after_pins.any()


@pytest.mark.parametrize(("model", "knobs"), SAMPLERS)
@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_no_token_goes_on_with_a_pinned_word(model, knobs, temperature):
    trace = playground.infill(**FIELDS, **knobs, model=model, seed=3, temperature=temperature)
    for text in trace.texts:
        after = text[text.index(WORD) + len(WORD) :]
        assert after and not after[0].isalnum()
    assert not any("joined" in score for score in trace.end["scores"])


def test_a_row_with_a_word_gone_on_with_is_never_the_best(tokenizer):
    prepared = Run(Recipe.parse(FIELDS | {"samples": 2, "seed": 1, "rounding": "nearest"}))
    *_, last = prepared.steps()
    best = [score["best"] for score in verdict(prepared.model, prepared.canvas, last)["scores"]].index(True)
    tokens = last.tokens.clone()
    tokens[best, 13] = tokenizer.encode("us")[0]
    grown = joined(tokens, prepared.canvas.after_pins, torch.tensor(tokenizer.continuing))
    assert grown.tolist() == [best == 0, best == 1]
    scores = verdict(prepared.model, prepared.canvas, dataclasses.replace(last, tokens=tokens))["scores"]
    assert scores[best]["joined"] and not scores[best]["best"] and scores[1 - best]["best"]


@pytest.mark.parametrize("model", zoo.catalogue())
def test_without_pins_the_denoiser_is_asked_as_it_is(model, monkeypatch):
    monkeypatch.setattr("playground.engine.WholeWords", None)
    assert playground.infill(text="He saw [[+4]] there.", model=model, seed=1, steps=2).end["unchanged"]
    assert playground.generate(prompt="He saw", pins={9: "dog"}, model=model, seed=1, steps=2, length=16).text
