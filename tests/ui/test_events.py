"""What the page's private events answer, whatever a client sends them."""

import gradio as gr
import pytest

from playground.denoisers import zoo
from playground.samplers import SAMPLERS
from playground.ui import knobs, watch

MODEL = "stories-continuous"


def pin(data, pins="", model=MODEL):
    return watch.add_pin(pins, model, gr.EventData(None, data))


def test_a_pin_is_added_beside_the_others_and_keeps_the_seed():
    pins, seed = pin({"position": 20, "token": 300, "seed": 7}, pins="30:dog")
    assert pins.startswith("20:") and pins.endswith(", 30:dog") and seed == 7
    assert watch.drop_pin(pins, MODEL, gr.EventData(None, {"position": 20, "seed": 7})) == ("30:dog", 7)


@pytest.mark.parametrize(
    ("data", "others", "sentence"),
    [
        ({"position": 20, "token": 10**9, "seed": 7}, {}, "pins: token is '1000000000'; a whole number from 0 to"),
        ({"position": "x", "token": 300, "seed": 7}, {}, "pins: position is 'x'; a whole number from 0 to 511"),
        ({"position": True, "token": 300, "seed": 7}, {}, "pins: position is 'True'"),
        ({"position": 20, "token": 300, "seed": [1]}, {}, "seed: '[1]' is not allowed"),
        (None, {}, "pins: position is 'None'"),
        ({"position": 20, "token": 300}, {"pins": {"a": []}}, "pins: cannot read"),
        ({"position": 20, "token": 300}, {"pins": 5}, "pins: 5 is not a table"),
        ({"position": 20, "token": 300}, {"model": ["x"]}, "model: \"['x']\" is not text."),
        ({"position": 20, "token": 300}, {"model": "gpt"}, "model: 'gpt' is unknown"),
    ],
)
def test_a_pin_that_cannot_be_used_is_refused_with_a_sentence(data, others, sentence):
    with pytest.raises(gr.Error) as refused:
        pin(data, **others)
    assert refused.value.message.startswith(sentence)


@pytest.mark.parametrize("model", [["x"], {}, 5, "gpt"])
def test_a_model_that_is_none_is_refused_with_a_sentence(model):
    with pytest.raises(gr.Error) as refused:
        watch.fit(model, "sde")
    assert refused.value.message.startswith("model: ")


def test_a_sampler_of_another_family_becomes_the_first_of_this_one():
    for sampler in ("random", ["sde"], None, 5):
        assert watch.fit(MODEL, sampler)[0]["value"] == "sde"


def test_a_family_without_steps_hides_them(monkeypatch):
    def greedy(denoiser, ids, fixed, rngs, *, temperature=1.0):
        """One token after the other. More of it."""

    monkeypatch.setitem(SAMPLERS, "autoregressive", {"greedy": greedy})
    monkeypatch.setattr(zoo, "catalogue", lambda: {MODEL: "autoregressive"})
    assert "steps" in watch.FITTED
    updates = knobs.for_model(MODEL, "sde", watch.FITTED)
    assert updates[-1] == "One token after the other."
    shown = dict(zip(watch.FITTED, updates[:-1], strict=True))
    assert shown["sampler"]["choices"] == ["greedy"]
    assert {name for name, update in shown.items() if update.get("visible")} == {"temperature"}


@pytest.mark.parametrize(
    ("pins", "seed", "line"),
    [
        ("", -1, None),
        ("", "7", "seed kept · clear"),
        ("12:dragon", -1, "1 pinned word · clear"),
        ("12:dragon, 20:park", "x", "2 pinned words · seed kept · clear"),
        ("12", -1, "pinned words that cannot be read · clear"),
    ],
)
def test_what_is_kept_from_run_to_run_is_said(pins, seed, line):
    update = watch.keeping(pins, seed)
    assert update["visible"] == (line is not None)
    assert line is None or update["value"] == line
