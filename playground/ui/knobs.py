"""Form components made from Recipe's fields. They leave checking to Recipe.parse, so that every interface says the
same sentence."""

import re
from dataclasses import fields

import gradio as gr

from playground.batches.compute import shown
from playground.recipe import Recipe, bounds, format_pins
from playground.samplers import SAMPLERS
from playground.samplers import knobs as heard_by

FIELDS = {f.name: f for f in fields(Recipe)}
SHOWN_MAXIMUM = {"samples": 4}  # what fits on a page; the API allows the field's own maximum
STEPS = {float: 0.05, int: 1}


class Slider(gr.Slider):
    """A slider whose number box is checked by Recipe.parse alone."""

    def preprocess(self, payload):
        return payload


class Number(gr.Number):
    """A box for a number, checked by the class that has the knob alone."""

    def preprocess(self, payload):
        return payload


class Dropdown(gr.Dropdown):
    """A dropdown whose value is checked by Recipe.parse alone."""

    def preprocess(self, payload):
        return payload


class Textbox(gr.Textbox):
    """A box for a seed, checked by Recipe.parse alone; empty, it reads "random" and means -1."""

    def preprocess(self, payload):
        return -1 if payload in (None, "") else payload

    def postprocess(self, value):
        return "" if value in (None, -1, "-1") else str(value)


def component(name: str, settings, **kwargs):
    """The component that edits one field of `settings`, a Recipe or another dataclass of knobs, showing its value."""
    f = next(f for f in fields(settings) if f.name == name)
    value = getattr(settings, name)
    about = {"label": f.metadata["label"], "info": f.metadata["help"], "elem_id": f"knob-{name}"} | kwargs
    if name == "pins":
        return gr.Textbox(format_pins(value), max_lines=3, **about)
    if name == "seed":
        return Textbox(value, max_lines=1, placeholder="random", **about)
    if f.metadata["choices"]:
        return Dropdown(list(f.metadata["choices"](settings)), value=value, **about)
    if f.type is bool:
        return gr.Checkbox(value, **about)
    if f.type is str:
        return gr.Textbox(value, **about)
    low, high = bounds(f)
    return Slider(low, SHOWN_MAXIMUM.get(name, high), value=value, step=STEPS[f.type], **about)


def given(recipe: Recipe, names: list[str]) -> dict:
    """Those of the named fields that a call has to name to run this recipe; a seed that is not drawn is not named."""
    found = shown(recipe).items()
    return {name: value for name, value in found if name in names and (name, value) != ("seed", -1)}


def heard_by_any() -> set[str]:
    """The knobs that only some samplers listen to."""
    return {name for family in SAMPLERS for sampler in SAMPLERS[family] for name in heard_by(family, sampler)}


def for_model(model: str, sampler: str | None, names: list[str]) -> list[dict]:
    """Updates of the named components after the model or sampler changed: the family's samplers, and only the
    knobs they listen to. Last comes what the sampler does, in a sentence."""
    recipe = Recipe.parse({"model": model})
    samplers = list(SAMPLERS[_family(recipe)])
    chosen = {} if sampler in samplers else {"value": recipe.sampler}
    sampler = chosen.get("value", sampler)
    heard = heard_by(_family(recipe), sampler)
    updates = [
        gr.update(choices=samplers, **chosen) if name == "sampler" else gr.update(visible=name in heard)
        for name in names
    ]
    return [*updates, sampler_help(_family(recipe), sampler)]


def sampler_help(family: str, sampler: str) -> str:
    """The first sentence of the sampler's docstring, without its references."""
    text = " ".join(SAMPLERS[family][sampler].__doc__.split())
    return without_references(re.split(r"(?<=\.) ", text)[0])


def without_references(doc: str) -> str:
    """A docstring as one line for readers, without its references in brackets."""
    return re.sub(r" \([^)]*(arXiv|\d{4})[^)]*\)", "", " ".join(doc.split()))


def _family(recipe: Recipe) -> str:
    return FIELDS["model"].metadata["choices"](recipe)[recipe.model]
