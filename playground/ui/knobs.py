"""Form components made from Recipe's fields. They leave checking to Recipe.parse, so that every interface says the
same sentence."""

from dataclasses import fields

import gradio as gr

from playground.recipe import Recipe, format_pins
from playground.samplers import SAMPLERS, knobs

FIELDS = {f.name: f for f in fields(Recipe)}
SHOWN_MAXIMUM = {"samples": 4}  # what fits on a page; the API allows the field's own maximum
STEPS = {float: 0.05, int: 1}


class Slider(gr.Slider):
    """A slider whose number box is checked by Recipe.parse alone."""

    def preprocess(self, payload):
        return payload


class Dropdown(gr.Dropdown):
    """A dropdown whose value is checked by Recipe.parse alone."""

    def preprocess(self, payload):
        return payload


class Number(gr.Number):
    """A number box whose value is checked by Recipe.parse alone."""

    def preprocess(self, payload):
        return payload


def component(name: str, recipe: Recipe, **kwargs):
    """The component that edits one field, showing the field's value in `recipe`."""
    f = FIELDS[name]
    value = getattr(recipe, name)
    about = {"label": f.metadata["label"], "info": f.metadata["help"], "elem_id": f"knob-{name}"} | kwargs
    if name == "pins":
        return gr.Textbox(format_pins(value), max_lines=3, **about)
    if name == "seed":
        return Number(value, precision=0, **about)
    if f.metadata["choices"]:
        return Dropdown(list(f.metadata["choices"](recipe)), value=value, **about)
    if f.type is bool:
        return gr.Checkbox(value, **about)
    if f.type is str:
        return gr.Textbox(value, **about)
    high = SHOWN_MAXIMUM.get(name, f.metadata["high"])
    return Slider(f.metadata["low"], high, value=value, step=STEPS[f.type], **about)


def for_model(model: str, sampler: str | None, names: list[str]) -> list[dict]:
    """Updates of the named components after the model or sampler changed: the family's samplers, and only the
    knobs they listen to."""
    recipe = Recipe.parse({"model": model})
    family = _family(recipe)
    sampler = sampler if sampler in SAMPLERS[family] else recipe.sampler
    heard = knobs(family, sampler)
    updates = []
    for name in names:
        if name == "sampler":
            updates.append(gr.update(choices=list(SAMPLERS[family]), value=sampler))
        else:
            updates.append(gr.update(visible=name in heard))
    return updates


def _family(recipe: Recipe) -> str:
    return FIELDS["model"].metadata["choices"](recipe)[recipe.model]
