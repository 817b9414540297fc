"""Two ways to the same thing in one run, taking turns, so that what else the machine does meets both alike."""

import gc
from importlib.util import find_spec

import torch

from playground import memory
from playground.denoisers import zoo
from playground.denoisers.masked import MaskedDenoiser
from playground.engine import complete
from playground.interfaces.bench_runs import seconds
from playground.recipe import Recipe
from playground.studies.grid import Cell, Grid, Study
from playground.studies.throughput import LENGTH, SEED, STEPS, Range, written
from playground.text import PAD

ROUNDS = 9  # of which the first warms up
GRID = {"steps": [4, 8, 16, 32, 64], "length": LENGTH, "seeds": 3, "seed": SEED}
SMALL_GRID = {"steps": [2, 4], "length": 16, "seeds": 1, "seed": SEED}
LEFT_OUT = "left out: the package diffusers is not installed (requirements-evaluate.txt)"


def over_autoregressive() -> dict:
    """Tokens of text a second of each family over those of the left-to-right model: one row of LENGTH cells, STEPS
    steps; the ratio of each round, its median, lowest and highest. Empty without a left-to-right model."""
    models = {name: zoo.load(name) for name in zoo.catalogue()}
    baseline = next((name for name, family in zoo.catalogue().items() if family == "autoregressive"), None)
    if baseline is None:
        return {}
    ratios = {name: [] for name in models if name != baseline}
    for _ in range(ROUNDS):
        speeds = {name: _tokens_per_second(model) for name, model in models.items()}
        for name, found in ratios.items():
            found.append(speeds[name] / speeds[baseline])
    return {name: rounded(found[1:]) for name, found in ratios.items()}


def _tokens_per_second(model: zoo.Model) -> float:
    recipe, tokens = Recipe.parse({"model": model.name, "steps": STEPS, "length": LENGTH, "seed": SEED}), []
    return 1 / seconds(lambda: tokens.append(written(model, recipe, 1))) * tokens[0]


def grid_over_cells(fields: dict = GRID) -> dict:
    """A grid, whose seeds are made together, over running its cells one seed at a time, taking turns step count by step
    count; and whether all texts are identical. Judging counts on both sides, the left-to-right runs on neither."""
    study = Study(Grid.parse(fields))
    singles = [Study(Grid.parse(fields | {"seeds": 1, "seed": seed})) for seed in study.cells[0].recipe.seeds]
    runs = {id(each): each.run() for each in (study, *singles)}
    together = alone = 0.0
    for place, cell in enumerate(study.cells):
        together += seconds(lambda cell=cell: _until_done(runs[id(study)], cell))
        for single in singles:
            alone += seconds(lambda s=single, place=place: _until_done(runs[id(s)], s.cells[place]))
    for run in runs.values():
        run.close()
    texts = [[single.cells[place].trace.text for single in singles] for place in range(len(study.cells))]
    identical = texts == [cell.trace.texts for cell in study.cells]
    return {"cells": len(study.cells) * len(singles), "ratio": round(together / alone, 3), "texts_identical": identical}


def _until_done(runs, cell: Cell) -> None:
    while not cell.done:
        next(runs)


def memory_growth(grids: int) -> float | None:
    """Megabytes that the process's resident memory grows by over small grids in a row, after two that warm up; None
    where it cannot be read."""
    for _ in range(2):
        _small_grid()
    gc.collect()
    before = memory.resident()
    for _ in range(grids):
        _small_grid()
    gc.collect()
    return None if before is None else round(memory.resident() - before, 1)


def _small_grid() -> None:
    for _ in Study(Grid.parse(SMALL_GRID)).run():
        pass


def over_diffusers() -> dict | str:
    """Our masked sampler `confidence` over diffusers.AmusedScheduler, which ranks by confidence as well: the same
    network, one row of LENGTH cells, STEPS steps, both on the linear schedule; time of a step, the ratio of each round,
    its median, lowest and highest. `masks_left`: by the scheduler, which has to leave none. A sentence where the
    package or a masked model is missing."""
    name = next((name for name, family in zoo.catalogue().items() if family == "masked"), None)
    if name is None:
        return f"left out: there is no masked model in {zoo.models_folder()}"
    if find_spec("diffusers") is None:
        return LEFT_OUT
    model = zoo.load(name)
    recipe = Recipe.parse(
        {"model": name, "sampler": "confidence", "schedule": "linear", "steps": STEPS, "length": LENGTH, "seed": SEED}
    )
    ids = torch.full((1, LENGTH), PAD)
    nothing, ratios, rows = torch.zeros_like(ids, dtype=torch.bool), [], []
    for _ in range(ROUNDS):
        ours = seconds(lambda: list(complete(recipe, model, ids, nothing)))
        theirs = seconds(lambda: rows.append(scheduled(model.denoiser, recipe)))
        ratios.append(ours / theirs)
    left = sum(int((row == model.denoiser.mask_id).sum()) for row in rows)
    return rounded(ratios[1:]) | {"masks_left": left}


@torch.inference_mode()
def scheduled(denoiser: MaskedDenoiser, recipe: Recipe) -> torch.Tensor:
    """A row [1, L] by diffusers.AmusedScheduler at the recipe's temperature; its own temperature, of the ranking, is 0
    as it is in ours."""
    from diffusers import AmusedScheduler

    scheduler = AmusedScheduler(mask_token_id=denoiser.mask_id, masking_schedule="linear")
    scheduler.set_timesteps(recipe.steps, temperature=(0, 0))
    generator = torch.Generator().manual_seed(recipe.seed)
    row = torch.full((1, recipe.length), denoiser.mask_id)
    for timestep in scheduler.timesteps:
        logits = denoiser(row.to(denoiser.tokens.device)).cpu() / recipe.temperature
        row = scheduler.step(logits, timestep, row, generator=generator).prev_sample
    return row


def rounded(ratios: list[float]) -> dict:
    """The median of ratios, the lowest and the highest."""
    found = Range.of(ratios)
    return {"ratio": round(found.median, 3), "low": round(found.low, 3), "high": round(found.high, 3)}
