"""How fast is this machine? Measured now and then, for what a run is expected to take."""

import time
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from playground.canvas import Canvas
from playground.denoisers import zoo
from playground.engine import record
from playground.recipe import Recipe

SMALL, LARGE = (1, 48), (4, 64)  # rows and cells of the two runs that are timed
EVALUATIONS = 4
FRESH = 120.0


def duration(seconds: float) -> str:
    """Seconds for readers, to two digits or a tenth: 0.4 s, 12 s, 2.5 minutes, 3.7 hours."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            return f"{round(seconds / length, 1):g} {unit}"
    return f"{seconds:.2g} s"


@dataclass(frozen=True)
class Pace:
    """Seconds an evaluation takes: a fixed part, and a part for each cell of all rows. From left to right an
    evaluation is one cell of each row."""

    fixed: float
    cell: float

    def seconds(self, evaluations: int, cells: int) -> float:
        return evaluations * (self.fixed + self.cell * cells)


def pace(model: str) -> Pace:
    """The pace of a model with its first sampler, its steps recorded, from two short runs. Measured again when FRESH
    seconds have passed: others may have come to this machine, or gone."""
    return _pace(model, time.monotonic() // FRESH)


@lru_cache(maxsize=32)
def _pace(model: str, period: float) -> Pace:
    is_whole = zoo.catalogue()[model] != "autoregressive"
    timed = []
    for rows, length in (SMALL, LARGE):
        recipe = Recipe.parse({"model": model, "samples": rows, "length": length, "steps": EVALUATIONS, "seed": 0})
        timed.append((rows * (length if is_whole else 1), _per_evaluation(recipe)))
    (few, quick), (many, slow) = timed
    per_cell = max(0.0, (slow - quick) / (many - few))
    return Pace(max(0.0, quick - per_cell * few), per_cell)


def _per_evaluation(recipe: Recipe) -> float:
    """Seconds, the lower of two runs of a few evaluations each, without the first, which warms up. A model that fails
    is expected to take none: its own run says why."""
    return min(_timed(recipe) for _ in range(2))


def _timed(recipe: Recipe) -> float:
    times = []
    with closing(record(recipe, alone=True)) as run:
        for trace in islice(run, EVALUATIONS + 1):
            if trace.end:
                return 0.0
            times.append(time.perf_counter())
    return (times[-1] - times[1]) / (EVALUATIONS - 1)


def expected(recipe: Recipe) -> float:
    """Seconds a recipe is expected to take here, its texts measured by the quick judge."""
    family, found = zoo.catalogue()[recipe.model], pace(recipe.model)
    if family == "autoregressive":
        given = int(Canvas.from_recipe(recipe, zoo.load(recipe.model).tokenizer).given)
        run = found.seconds(recipe.length - given, recipe.samples)
    else:
        passes = 2 if recipe.guidance and (recipe.prompt or recipe.pins) else 1
        run = found.seconds(recipe.steps * passes + 2 * recipe.refine, recipe.samples * recipe.length)
    return run + 2 * found.cell * recipe.samples * recipe.length  # judging is like one more evaluation or two
