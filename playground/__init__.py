"""Diffusion LM Playground: text diffusion models whose runs can be watched, edited and measured.

import playground
trace = playground.generate(prompt="Once upon a time", steps=32, seed=7)
print(trace.text)
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playground.samplers.step import Step
    from playground.studies.grid import Study
    from playground.studies.race import Heat
    from playground.trace import Trace

__version__ = "0.1.0"


def generate(**fields) -> "Trace":
    """Run a recipe, given by its fields, to its end and return its Trace (`.text`, `.texts`, `.recipe`, `.steps`,
    `.to_json()`, `.save(path)`). Raises RecipeError on a wrong field, RunError on a run that could not finish."""
    from playground.engine import RunError, record
    from playground.recipe import Recipe

    *_, trace = record(Recipe.parse(fields))
    if trace.end["status"] == "error":
        raise RunError(trace.end["message"])
    return trace


def infill(text: str, **fields) -> "Trace":
    """Write the marked parts of a text anew and keep the rest, token for token: `The dog ran to the [[park]].`
    (see playground.marks). `.text` is the alternative that fits best, `.texts` has all, `.written` what is new in them,
    `.end` their scores. Raises as `generate`."""
    from playground.recipe import Recipe

    return generate(**Recipe.edit(fields | {"text": text}))


def interpolate(a: str, b: str, **fields) -> "Trace":
    """A path of texts from `a` to `b`, with the fields of playground.interpolation.Blend: `.texts` has the text of each
    point, `.end["path"]` what was measured of them. Raises as `generate`."""
    from playground.engine import RunError
    from playground.interpolation import Blend, record

    *_, trace = record(Blend.parse(fields | {"a": a, "b": b}))
    if trace.end["status"] == "error":
        raise RunError(trace.end["message"])
    return trace


def compare(**fields) -> "Study":
    """A grid of runs, the same seeds in each: `compare(steps=[4, 8, 16], temperature=[0.5, 0.8], seeds=3)`
    sweeps every knob that is given a list, at most two. Returns the Study: `.rows` has what was measured of each text,
    `.cells` the recipes with their traces. Raises RecipeError, also on what would take too long, and RunError."""
    from playground.studies.grid import Grid, Study

    return Study(Grid.parse(fields)).finished()


def race(lanes: list[str] | None = None, **fields) -> "Heat":
    """Run a prompt through several models or samplers side by side, with the fields of playground.studies.race.Race:
    `.traces` has the Trace of each lane, `.results` its place, time and figures. A lane that could not finish has an
    error at its end and no place. Raises RecipeError on a wrong field."""
    from playground.studies.race import Race, record

    *_, heat = record(Race.parse(fields | {"lanes": lanes}))
    return heat


def batch(items: "list[str | dict] | Path", **fields) -> list[dict]:
    """Write every item of a list, prompts or tables of Recipe fields, or of a .txt, .csv or .jsonl file given as a
    Path, those of one shape together. `fields`: Recipe fields for all, which an item's own win over, `rows` that run
    together at most, and the filters of playground.batches.filters. Returns what playground.batches.runner.Result says
    of each, in order; one that could not be written has an `error`. Raises RecipeError on wrong fields, or a list or
    file that cannot be read."""
    from functools import partial

    from playground.batches import items as reading
    from playground.batches.request import prepared

    read = partial(reading.read_file if isinstance(items, Path) else reading.listed, items)
    return [result.to_dict() for result in sorted(prepared(read, fields).run(), key=lambda r: r.index)]


def stream(**fields) -> Iterator["Step"]:
    """The Steps of a run, live; close the iterator to stop it."""
    from playground.engine import run
    from playground.recipe import Recipe

    return run(Recipe.parse(fields))
