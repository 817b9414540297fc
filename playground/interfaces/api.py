"""The HTTP API: typed endpoints made from Recipe's fields, in Gradio's OpenAPI page."""

import inspect
from dataclasses import fields

import gradio as gr

from playground.denoisers import zoo
from playground.engine import record
from playground.interfaces import facts
from playground.recipe import Recipe, RecipeError


def generate(**values) -> dict:
    """Run one recipe and return its text with the facts of the run."""
    try:
        *_, trace = record(Recipe.parse(values))
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None
    if trace.end["status"] == "error":
        raise gr.Error(trace.end["message"], print_exception=False)
    return facts.summary(trace)


def models() -> list[dict]:
    """The models this server runs: name, family, parameters, and the precision they run in."""
    return facts.models()


def publish() -> None:
    """Add the endpoints to the Blocks being built."""
    gr.api(_with_recipe_signature(generate), api_name="generate", concurrency_id="model")
    gr.api(models, api_name="models")


def _with_recipe_signature(function):
    """`function(**values)` with Recipe's fields as its typed parameters, defaults and documentation."""

    def endpoint(*args, **kwargs):
        return function(**signature.bind(*args, **kwargs).arguments)

    of = {int: float, float: float}  # JSON has one kind of number; Recipe.parse says which must be whole
    defaults = Recipe().to_dict() | {"steps": None}  # they follow from the length
    parameters = [
        inspect.Parameter(
            f.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults[f.name],
            annotation=dict if f.name == "pins" else of.get(f.type, f.type),
        )
        for f in fields(Recipe)
    ]  # fmt: skip
    signature = inspect.Signature(parameters, return_annotation=dict)
    endpoint.__signature__ = signature
    endpoint.__name__ = function.__name__
    endpoint.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict}
    lines = [f"    {f.name}: {f.metadata['help']}" for f in fields(Recipe)]
    endpoint.__doc__ = "\n".join([function.__doc__, "", "Args:", *lines])
    return endpoint
