"""Recipe -> Canvas, denoiser, sampler -> Steps: one run, with its time limit, cancelling and checks."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from playground import editing, environment, log
from playground.canvas import Canvas
from playground.denoisers import zoo
from playground.denoisers.together import Turns
from playground.denoisers.zoo import Model
from playground.recipe import Recipe, RecipeError
from playground.samplers import SAMPLERS, knobs, own_knobs
from playground.samplers.blocks import by_blocks
from playground.samplers.refine import refine
from playground.samplers.step import Step
from playground.samplers.strength import partly
from playground.samplers.whole import WholeWords
from playground.schedules import schedule_for
from playground.trace import Trace


class RunError(RuntimeError):
    """A run that could not go on; the message says at which step and why."""


class Run:
    """A recipe made ready: the seed is drawn, the model loaded, the row built. Raises RecipeError or ModelError
    here, before any computing. Nothing outside it is changed, so runs do not see each other; forward passes of runs
    that go on at the same time are made together, unless this one is to be `alone` in its own, to be timed."""

    def __init__(self, recipe: Recipe, alone: bool = False):
        self.turns = Turns(alone)
        self.recipe = recipe.resolved()
        self.model = zoo.load(recipe.model)
        longest = len(self.model.denoiser.trunk.positions) - 1
        if recipe.length > longest:
            field, what = ("text", "makes a row of ") if recipe.text else ("length", "")
            raise RecipeError(
                field, f"{what}{recipe.length} is longer than the longest row of {recipe.model}, {longest}."
            )
        self.canvas = Canvas.from_recipe(self.recipe, self.model.tokenizer)

    def steps(self) -> Iterator[Step]:
        """The run, one function evaluation at a time; close the iterator to stop it. Raises RunError when the
        time limit has passed or the denoiser's output is not finite."""
        recipe = self.recipe
        ids, fixed = self.canvas.ids, self.canvas.fixed
        rngs = [torch.Generator().manual_seed(seed) for seed in recipe.seeds]
        apart = self.canvas.after_pins if recipe.text else None
        yield from paced(sampled(self.model, recipe, ids, fixed, rngs, apart, self.turns), self.model, self.turns)

    def record(self) -> Iterator[Trace]:
        """This run as a Trace that grows: yielded before the first step, after each, and once more when it is closed.
        A RunError closes the trace, with what was done kept, and is its message."""
        trace = Trace.begin(self.recipe, self.model, self.canvas)

        def finished(last: Step) -> dict:
            return editing.verdict(self.model, self.canvas, last) if self.recipe.text else {}

        yield from written(trace, self.steps(), self.turns, finished)


def written(trace: Trace, steps: Iterator[Step], turns: Turns, finished: Callable[[Step], dict]) -> Iterator[Trace]:
    """A trace that grows by steps, as Run.record gives it, and two lines in the log. `finished` says from the last step
    what the trace's end has besides; its texts are there by then."""
    recipe = _of(trace.recipe.to_dict(), "model", "sampler", "length", "steps", "samples")
    log.event("run began", run=trace.run, **recipe, private=trace.recipe.to_dict())
    try:
        yield trace
        try:
            for step in steps:
                trace.add(step)
                yield trace
            trace.close("finished", **finished(step))
        except RunError as error:
            trace.close("error", str(error))
        yield trace
    finally:  # also where whoever reads this stops, or closes the page
        end = trace.end or {"status": "stopped", "message": ""}
        seconds = {"seconds": round(trace.seconds, 3), "waited": round(turns.waited, 3)}
        ended = {"step": trace.frames[-1]["s"]} | seconds | _of(end, "status", "message")
        log.event("run ended", run=trace.run, **recipe, **ended)


def paced(sampler: Iterator[Step], model: Model, turns: Turns) -> Iterator[Step]:
    """A sampler's Steps, each with the compute time so far, which is what the time limit counts: runs that wait for
    each other's passes do not shorten each other's. Raises RunError."""
    seconds = 0.0
    while True:
        started, waited = time.perf_counter(), turns.waited
        try:
            with torch.inference_mode():  # around each step: the mode is a thread's, and a generator may change thread
                step = next(sampler, None)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            smaller = ", or set PLAYGROUND_DTYPE=bfloat16" if model.dtype == "float32" else ""
            raise RunError(
                f"The memory of {model.device} ran out in {model.dtype}: lower length or samples{smaller}."
            ) from None
        seconds += time.perf_counter() - started - (turns.waited - waited)
        if step is None:
            return
        _check_finite(step, model)
        yield step.timed(seconds)
        limit = environment.number("PLAYGROUND_TIME_LIMIT")
        if seconds > limit:
            raise RunError(
                f"Stopped after step {step.index + 1} of {step.total}: "
                f"the run passed the time limit of {limit:g} seconds."
            )


def sampled(
    model: Model, recipe: Recipe, ids: Tensor, fixed: Tensor, rngs: list[torch.Generator], apart: Tensor | None = None,
    turns: Turns | None = None,
) -> Iterator[Step]:  # fmt: skip
    """The Steps of any rows [B, L] under a recipe's sampler and knobs; one generator a row. The cells `apart` [B, L]
    do not go on with the word before them."""
    turns = turns or Turns()
    denoiser = turns.of(model.denoiser)
    if apart is not None and apart.any():
        denoiser = WholeWords(denoiser, apart, torch.tensor(model.tokenizer.continuing))
    options = {name: getattr(recipe, name) for name in own_knobs(model.family, recipe.sampler)}
    if "schedule" in options:
        options["schedule"] = schedule_for(recipe.schedule, model.denoiser)
    sampler = SAMPLERS[model.family][recipe.sampler]
    around = knobs(model.family, recipe.sampler)
    if recipe.block and "block" in around:
        sampler, options = partial(by_blocks, sampler), options | {"block": recipe.block}
    if recipe.strength < 1 and ("strength" not in options or recipe.strength == 0):  # at 0 nothing is noised at all
        sampler, options = partial(partly, sampler), options | {"strength": recipe.strength}
    steps = sampler(denoiser, ids, fixed, rngs, **options)
    last = None
    for last in steps:
        yield last
    if recipe.refine and last is not None and "refine" in around:
        yield from refine(last, denoiser, turns.of(zoo.reader(model).denoiser), fixed, recipe.refine)


def run(recipe: Recipe) -> Iterator[Step]:
    """The Steps of one run."""
    return Run(recipe).steps()


def record(recipe: Recipe, alone: bool = False) -> Iterator[Trace]:
    """One run as a Trace that grows; see Run and Run.record."""
    yield from Run(recipe, alone).record()


def complete(recipe: Recipe, model: Model, ids: Tensor, fixed: Tensor, rows: int = 32) -> Iterator[Tensor]:
    """Rows ids [N, L], given where fixed [N, L], run to their end, `rows` at a time and without a time limit: yields
    tokens [up to `rows`, L]. Row i uses seed + i, so it is the same however many there are (with `block` only among
    rows with the same holes: they share out the steps). Raises RunError."""
    seeds = replace(recipe, samples=len(ids)).seeds
    for at in range(0, len(ids), rows):
        batch = slice(at, at + rows)
        rngs = [torch.Generator().manual_seed(seed) for seed in seeds[batch]]
        with torch.inference_mode():
            for step in sampled(model, recipe, ids[batch], fixed[batch], rngs):
                _check_finite(step, model)
        yield step.tokens


def _is_out_of_memory(error: Exception) -> bool:
    """torch has a class for it on accelerators; its CPU allocator raises RuntimeError and says "can't allocate memory",
    or "not enough memory" on Windows."""
    said = str(error)
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in said for words in ("out of memory", "not enough memory", "can't allocate memory")
    )


def _of(found: dict, *names: str) -> dict:
    return {name: found[name] for name in names}


def _check_finite(step: Step, model: Model) -> None:
    """Raises RunError where the denoiser's output was not finite."""
    if not (step.entropy.isfinite().all() and step.probability.isfinite().all()):
        raise RunError(
            f"Step {step.index + 1} gave numbers that are not finite (NaN or Inf) in {model.dtype}; "
            "set PLAYGROUND_DTYPE=float32 and run again."
        )
