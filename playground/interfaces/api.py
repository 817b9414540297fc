"""The HTTP API: typed endpoints made from Recipe's fields, in Gradio's OpenAPI page."""

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial

import gradio as gr

from playground import environment, interpolation
from playground.batches import items
from playground.batches.filters import Filters
from playground.batches.request import SHARED, prepared
from playground.batches.runner import Rows
from playground.denoisers import zoo
from playground.engine import RunError, record
from playground.interfaces import access, facts, zerogpu
from playground.interfaces.callers import awaited
from playground.interpolation import Blend
from playground.recipe import EDIT_FIELDS, GENERATE_FIELDS, Recipe, RecipeError, bounds, knob
from playground.samplers import SAMPLERS
from playground.studies import grid
from playground.studies import race as races
from playground.studies.grid import Grid, Study
from playground.studies.race import Race
from playground.trace import Trace

FOLLOWS = ["steps", "samples", "level", "lanes"]  # not given, they follow from the other fields
EVERY = 0.05  # seconds between two messages of a run that is streamed


@dataclass(frozen=True)
class Sweep:
    """The parameter of `compare` that no other interface has: elsewhere a list in a knob's own place says it."""

    sweep: dict = knob({}, "Sweep", 'One or two knobs and their values; {"steps": [4, 8, 16, 32, 64]} if not given.')


@dataclass(frozen=True)
class Items:
    """The parameter of `batch` that no other endpoint has."""

    items: tuple = knob((), "Items", "Prompts, or tables of fields such as prompt, text, length, seed, id.")


def generate(**values) -> dict:
    """A small text diffusion model, trained on simple stories, writes a row of tokens all at once, in steps, from a
    prompt or from nothing. Returns the text, with the facts of the run and the recipe that gives it again."""
    return facts.summary(_finished(lambda: record(Recipe.parse(values))))


def stream(**values) -> Iterator[dict]:
    """As generate, live: after each step how far the run is and the texts so far, with status running; last what
    generate returns, with status finished. Cancelling the job stops it."""
    yield from _live(facts.step, facts.summary, lambda: record(Recipe.parse(values)))


def infill(**values) -> dict:
    """Write the marked parts of a text anew and keep the rest, token for token: `The dog ran to the [[park]].` Returns
    the alternative that fits best, all alternatives with their scores, and the facts of the run."""
    return facts.edit(_finished(lambda: record(Recipe.parse(Recipe.edit(values)))))


def interpolate(**values) -> dict:
    """Lead a path of texts from a to b. Returns the text of each point on the way, how similar it is to a and to b, how
    many words differ, its perplexity under a small language model, and the facts of the run."""
    return facts.path(_finished(lambda: interpolation.record(Blend.parse(values))))


def compare(**values) -> dict:
    """Run a grid: one or two knobs with several values, each with the same seeds, as in
    `{"steps": [4, 8, 16], "temperature": [0.5, 0.8]}`. Returns a row for each text, means and spread for each cell, the
    left-to-right model and real text beside them, and what the numbers show. Refuses what would take too long."""
    sweep = values.pop("sweep", None)
    sweep = {} if sweep is None else sweep
    try:
        if not isinstance(sweep, dict):
            raise RecipeError("sweep", 'must be a table of knobs and values, as in {"steps": [4, 8, 16]}.')
        study = Study(Grid.parse(values | sweep))
        for _ in awaited(study.run()):
            pass
        return facts.compare(study.checked())
    except (RecipeError, zoo.ModelError, RunError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def race(**values) -> dict:
    """Run one prompt through two to four models or samplers, each timed on its own. Returns for each lane its text, its
    place, evaluations, seconds of computing, tokens a second, perplexity under a small language model, entropy and
    repetition. A lane that fails says so; the others go on."""
    try:
        *_, heat = awaited(races.record(Race.parse(values)))
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None
    return facts.race(heat)


def _finished(run: Callable[[], Iterator[Trace]]) -> Trace:
    *_, trace = _checked(run)
    return trace


def _live(said: Callable[[Trace], dict], ended: Callable[[Trace], dict], run: Callable[[], Iterator[Trace]]):
    """What is said of a run while it grows, at most once in EVERY seconds, and of its end."""
    told = 0.0
    for trace in _checked(run):
        if trace.end:
            yield {"status": "finished"} | ended(trace)
        elif time.monotonic() - told > EVERY:
            yield said(trace)
            told = time.monotonic()


def _checked(run: Callable[[], Iterator[Trace]]) -> Iterator[Trace]:
    """A run whose errors are sentences for whoever called."""
    try:
        for trace in awaited(run()):
            if trace.end and trace.end["status"] == "error":
                raise gr.Error(trace.end["message"], print_exception=False)
            yield trace
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def batch(**values) -> Iterator[dict]:
    """Write many texts, those of one shape together. An item is a prompt, or a table of fields, as in
    `{"text": "A [[dog]] sat.", "steps": 8}`, which win over the fields for all; one that cannot be used says why, and
    the others go on. Returns how far it is, with status running; last every result, with status finished: text, seed
    and steps (in recipe), figures, marks of the filters, error. Refuses what would take too long."""
    given, limit, results = values.pop("items", None), environment.number("PLAYGROUND_BATCH_LIMIT"), []
    try:
        running = prepared(partial(items.listed, () if given is None else given), values, limit)
        told = time.monotonic()
        for result in running.live():
            results += [result] if result else []
            if time.monotonic() - told > EVERY:
                yield facts.progress(running)
                told = time.monotonic()
        yield facts.batch(running, results)
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def models() -> list[dict]:
    """The models this server runs: name, family, parameters, and the precision they run in."""
    return facts.models()


def publish() -> None:
    """Add the endpoints to the Blocks being built."""
    knobs = {f.name: f for f in fields(Recipe)}
    path = {f.name: f for f in fields(Blend) if f.name != "recipe"} | {n: knobs[n] for n in interpolation.RECIPE_FIELDS}
    gr.api(_with_signature(generate, [knobs[n] for n in GENERATE_FIELDS]), api_name="generate", **access.together())
    gr.api(_with_signature(stream, [knobs[n] for n in GENERATE_FIELDS]), api_name="stream", **access.together())
    gr.api(_with_signature(infill, [knobs[n] for n in EDIT_FIELDS]), api_name="infill", **access.together())
    gr.api(_with_signature(interpolate, list(path.values())), api_name="interpolate", **access.together())
    own = [*fields(Sweep), *(f for f in fields(Grid) if f.name not in ("base", "axes"))]
    compared = [*own, *(knobs[name] for name in grid.RECIPE_FIELDS)]
    gr.api(_with_signature(compare, compared), api_name="compare", **access.TIMED)
    shared = [f for f in fields(Race) if f.name == "lanes"] + [knobs[n] for n in races.SHARED]
    gr.api(_with_signature(race, shared), api_name="race", **access.TIMED)
    many = [*fields(Items), *fields(Rows), *fields(Filters), *(knobs[n] for n in SHARED)]
    not_given = dict.fromkeys(f.name for f in many) | Items().__dict__
    gr.api(_with_signature(batch, many, not_given), api_name="batch", **access.together())
    gr.api(access.admitted(models, by_program=True), api_name="models")


def _with_signature(function, knobs: list, not_given: dict | None = None):
    """`function(**values)` with fields of Recipe and the like as its typed parameters, defaults, which are those in
    `not_given` before the fields' own, and documentation."""
    function = zerogpu.on_gpu(function)
    if inspect.isgeneratorfunction(function):

        def endpoint(*args, **kwargs):
            yield from function(**signature.bind(*args, **kwargs).arguments)

    else:

        def endpoint(*args, **kwargs):
            return function(**signature.bind(*args, **kwargs).arguments)

    # JSON has one kind of number, and Recipe.parse says which must be whole; and it has lists.
    of = {int: float, float: float, tuple[str, ...]: list[str], tuple: list}
    defaults = Sweep().__dict__ | Grid().to_dict() | Blend().to_dict() | Recipe().to_dict() | dict.fromkeys(FOLLOWS)
    defaults |= not_given or {}
    parameters = [
        inspect.Parameter(
            f.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults[f.name],
            annotation=dict if f.name in ("pins", "sweep") else of.get(f.type, f.type),
        )
        for f in knobs
    ]  # fmt: skip
    signature = inspect.Signature(parameters, return_annotation=dict)
    endpoint.__signature__ = signature
    endpoint.__name__ = function.__name__
    endpoint.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": dict}
    lines = [f"    {f.name}: {f.metadata['help']}{_allowed(f)}" for f in knobs]
    endpoint.__doc__ = "\n".join([inspect.cleandoc(function.__doc__), "", "Args:", *lines])
    return access.admitted(endpoint, by_program=True)


def _allowed(f) -> str:
    """What may be given for a knob, in a sentence for machines and people."""
    low, high = bounds(f)
    if low is not None:
        return f" {'Whole numbers' if f.type is int else 'Numbers'} from {low} to {high}."
    if f.name == "sampler":
        samplers = (f"{family}: {', '.join(SAMPLERS[family])}" for family in dict.fromkeys(zoo.catalogue().values()))
        return f" Not given, the first of its family; {'; '.join(samplers)}."
    choices = f.metadata["choices"]
    return f" One of {', '.join(choices(None))}." if choices else ""
