"""The HTTP API: typed endpoints made from Recipe's fields, in Gradio's OpenAPI page."""

import inspect
from dataclasses import fields

import gradio as gr

from playground.denoisers import zoo
from playground.engine import record
from playground.interfaces import facts
from playground.recipe import EDIT_FIELDS, GENERATE_FIELDS, Recipe, RecipeError
from playground.trace import Trace

FOLLOWS = ["steps", "samples"]  # not given, they follow from the other fields


def generate(**values) -> dict:
    """Run one recipe and return its text with the facts of the run."""
    return facts.summary(_finished(values))


def infill(**values) -> dict:
    """Write the marked parts of a text anew and keep the rest, token for token: `The dog ran to the [[park]].` Returns
    the alternative that fits best, all alternatives with their scores, and the facts of the run."""
    return facts.edit(_finished(values, Recipe.edit))


def _finished(values: dict, checked=dict) -> Trace:
    try:
        *_, trace = record(Recipe.parse(checked(values)))
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None
    if trace.end["status"] == "error":
        raise gr.Error(trace.end["message"], print_exception=False)
    return trace


def models() -> list[dict]:
    """The models this server runs: name, family, parameters, and the precision they run in."""
    return facts.models()


def publish() -> None:
    """Add the endpoints to the Blocks being built."""
    gr.api(_with_signature(generate, GENERATE_FIELDS), api_name="generate", concurrency_id="model")
    gr.api(_with_signature(infill, EDIT_FIELDS), api_name="infill", concurrency_id="model")
    gr.api(models, api_name="models")


def _with_signature(function, names: list[str]):
    """`function(**values)` with the named fields of Recipe as its typed parameters, defaults and documentation."""

    def endpoint(*args, **kwargs):
        return function(**signature.bind(*args, **kwargs).arguments)

    of = {int: float, float: float}  # JSON has one kind of number; Recipe.parse says which must be whole
    defaults = Recipe().to_dict() | dict.fromkeys(FOLLOWS)
    chosen = [f for f in fields(Recipe) if f.name in names]
    parameters = [
        inspect.Parameter(
            f.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults[f.name],
            annotation=dict if f.name == "pins" else of.get(f.type, f.type),
        )
        for f in chosen
    ]  # fmt: skip
    signature = inspect.Signature(parameters, return_annotation=dict)
    endpoint.__signature__ = signature
    endpoint.__name__ = function.__name__
    endpoint.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict}
    lines = [f"    {f.name}: {f.metadata['help']}" for f in chosen]
    endpoint.__doc__ = "\n".join([function.__doc__, "", "Args:", *lines])
    return endpoint
