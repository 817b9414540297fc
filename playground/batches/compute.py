"""One forward pass for several recipes: which go together, and what each comes to. No state, no writing: this is what
a worker does, wherever it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import torch

from playground import editing
from playground.denoisers import zoo
from playground.denoisers.zoo import ModelError
from playground.engine import Run, RunError, paced, sampled
from playground.recipe import Recipe, RecipeError
from playground.samplers.step import Step
from playground.studies.figures import Figures, judge
from playground.trace import Trace

APART = ("prompt", "text", "seed", "samples", "pins")  # what recipes that run together may differ in
ALWAYS = ("model", "sampler", "length", "steps", "temperature", "seed")
MAY_PASS = (RunError, OSError, MemoryError, RuntimeError)  # torch says RuntimeError where it has no memory


@dataclass(frozen=True)
class Failure:
    """Why recipes could not be run; `kind` says it without any words of theirs."""

    kind: str
    reason: str
    may_pass: bool


def attempting(recipes: Sequence[Recipe]) -> Iterator[float | list[dict] | Failure]:
    """`computing`, with whatever is raised as a Failure: an exception may not survive the way from another process."""
    try:
        yield from computing(recipes)
    except Exception as error:
        yield failure(error)


def attempt(recipes: Sequence[Recipe]) -> list[dict] | Failure:
    """What `attempting` comes to."""
    *_, found = attempting(recipes)
    return found


def failure(error: Exception) -> Failure:
    """What an exception says of the run that it ended, in one sentence."""
    said = " ".join(str(error).split())[:500]
    if isinstance(error, RecipeError):
        return Failure(f"field {error.field}"[:60], said, False)
    if isinstance(error, ModelError | RunError):
        return Failure(type(error).__name__, said, isinstance(error, RunError))
    kind = type(error).__name__
    return Failure(kind, f"{kind}: {said}" if said else f"{kind}.", isinstance(error, MAY_PASS))


def computing(recipes: Sequence[Recipe]) -> Iterator[float | list[dict]]:
    """After each step the share that is done, and last, of each recipe, all of one `group`: text, texts, tokens (new
    ones of `text`), its share of the seconds of computing, and the figures of `text`. Each text is that of
    `playground.generate` with the recipe alone. The time limit of a run holds for all of them together. Raises what a
    Run raises."""
    runs = [Run(recipe) for recipe in recipes]
    for last in paced(_steps(runs), runs[0].model, runs[0].turns):
        yield (last.index + 1) / last.total
    rows = len(last.tokens)
    found, at = [], 0
    for run in runs:
        end = at + run.recipe.samples
        found.append(_measured(run, _part(last, slice(at, end), rows)))
        at = end
    yield found


def compute(recipes: Sequence[Recipe]) -> list[dict]:
    """What `computing` comes to. Raises as it does."""
    *_, found = computing(recipes)
    return found


def group(recipe: Recipe) -> tuple | None:
    """Equal for recipes that can share a forward pass without a change to any of their texts; None for one that has to
    be run alone. Raises RecipeError and ModelError, as a Run does."""
    run = Run(recipe)
    if not _can_share(run):
        return None
    fixed = run.canvas.fixed
    holes = None
    if run.model.family == "autoregressive":  # cells that are given in all rows are read at once
        holes = (fixed.all(0).numpy().tobytes(), fixed.any(0).numpy().tobytes())
    guided = recipe.guidance > 0 and bool(fixed.any())
    same = tuple((name, value) for name, value in asdict(recipe).items() if name not in APART)
    return (*same, bool(recipe.text), guided, holes)


def _can_share(run: Run) -> bool:
    """Blocks are shared out by the holes of all rows, and start from where each row's random numbers are when the last
    row has finished the block before; so does refining look at a row that others kept from ending early."""
    recipe = run.recipe
    return not (recipe.block or (recipe.refine and recipe.sampler in ("threshold", "ancestral", "entropy_bound")))


def shown(recipe: Recipe) -> dict:
    """The fields that say what a recipe is: those that give it again, without what is as it would be anyway."""
    usual = Recipe.parse({"model": recipe.model, "length": recipe.length}).to_dict()
    return {name: value for name, value in recipe.to_dict().items() if name in ALWAYS or value != usual[name]}


def cost(recipe: Recipe) -> int:
    """Work of a recipe, in cells evaluated, for shares of the time that is left."""
    left_to_right = zoo.catalogue()[recipe.model] == "autoregressive"
    return recipe.samples * recipe.length * (1 if left_to_right else recipe.steps)


def _steps(runs: list[Run]) -> Iterator[Step]:
    """The Steps of all rows of several runs."""
    ids, fixed, apart = (
        torch.cat([getattr(run.canvas, name) for run in runs]) for name in ("ids", "fixed", "after_pins")
    )
    rngs = [torch.Generator().manual_seed(seed) for run in runs for seed in run.recipe.seeds]
    return sampled(
        runs[0].model, runs[0].recipe, ids, fixed, rngs, apart if runs[0].recipe.text else None, runs[0].turns
    )


def _part(step: Step, rows: slice, of: int) -> Step:
    """Some rows of a step, with their share of its time."""
    names = ("tokens", "state", "probability", "entropy", "candidates", "candidate_probability")
    parts = {name: getattr(step, name)[rows] for name in names}
    return replace(step, estimate=None, seconds=step.seconds * (rows.stop - rows.start) / of, **parts)


def _measured(run: Run, last: Step) -> Mapping:
    """What a finished run comes to, said by its Trace, as everywhere else."""
    trace = Trace.begin(run.recipe, run.model, run.canvas)
    trace.add(last)
    trace.close("finished", **(editing.verdict(run.model, run.canvas, last) if run.recipe.text else {}))
    figures = asdict(Figures.of(trace.text, run.recipe.prompt, judge()))
    return {
        "text": trace.text,
        "texts": trace.texts,
        "tokens": trace.written_tokens[trace.best],
        "seconds": round(trace.seconds, 4),
        **{name: value if value is None else round(value, 4) for name, value in figures.items()},
    }
