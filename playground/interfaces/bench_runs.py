"""What single runs cost: loading, the engine around the network, the first frame, and learning."""

import statistics
import time
from collections.abc import Callable

import torch

from playground.denoisers import zoo
from playground.engine import Run, record
from playground.recipe import Recipe
from playground.studies.throughput import LENGTH
from playground.training import initial
from playground.training.objectives import Noise
from playground.training.train import Loss, optimizer

ROUNDS, STEPS = 15, 32


def load_seconds(name: str) -> float:
    """Seconds to load a model whose files the system has read before; median of 3."""
    folder = zoo.models_folder() / name
    return round(statistics.median(seconds(lambda: zoo.load_folder(folder)) for _ in range(3)), 3)


def engine(name: str) -> dict:
    """A run of the default recipe against as many bare forward passes, taking turns; medians over ROUNDS."""
    recipe = Recipe.parse({"model": name, "steps": STEPS, "length": LENGTH, "seed": 1})
    denoiser = zoo.load(name).denoiser
    if denoiser.family == "autoregressive":
        return one_token(recipe)
    forward = _forward(denoiser)
    pairs = [(seconds(lambda: _exhaust(Run(recipe).steps())), seconds(lambda: _bare(forward))) for _ in range(ROUNDS)]
    pairs = pairs[2:]  # the first two warm up
    run = statistics.median(r for r, _ in pairs)
    recorded = min(seconds(lambda: _exhaust(trace.message() for trace in record(recipe))) for _ in range(3))
    return {
        "milliseconds_per_step": round(1000 * run / STEPS, 2),
        "engine_over_bare_forwards": round(statistics.median(r / b for r, b in pairs), 3),
        "recording_over_engine": round(recorded / run, 3),
    }


def one_token(recipe: Recipe) -> dict:
    """The baseline's step is one token with its cache; its context grows, so a bare forward says nothing."""
    each = []
    for _ in range(5):
        *_, last = Run(recipe).steps()
        each.append(1000 * last.seconds / last.evaluations)
    return {"milliseconds_per_step": round(statistics.median(each[1:]), 2)}


def first_frame(name: str) -> dict:
    """Milliseconds from the click's recipe to the first message, and to the first that shows a step."""
    started = time.perf_counter()
    runs = record(Recipe.parse({"model": name, "prompt": "Once upon a time", "seed": 1}))
    times = []
    for _ in range(2):
        next(runs).message()
        times.append(round(1000 * (time.perf_counter() - started), 1))
    runs.close()
    return {"first_message": times[0], "first_step_message": times[1]}


def training_speed(family: str, steps: int = 5) -> int:
    """Tokens a second that a denoiser of the shipped size learns from, on rows of random tokens; median of `steps`."""
    noise, times = Noise.seeded(0), []
    denoiser = initial.fresh(family, {"vocab_size": 4096} | initial.SHAPE | (
        {"embedding_width": initial.EMBEDDING_WIDTH} if family == "continuous" else {}
    ))  # fmt: skip
    loss, adam = Loss(denoiser.train()), optimizer(denoiser, 1e-4)
    dtype = zoo.DTYPES[zoo.best_dtype("cpu")]
    rows = noise.token(4096 // LENGTH, LENGTH, vocab_size=4096)
    for _ in range(steps + 1):
        times.append(seconds(lambda: _learn(loss, adam, dtype, rows, noise)))
    return round(rows.numel() / statistics.median(times[1:]))


def _learn(loss: Loss, adam: torch.optim.Optimizer, dtype: torch.dtype, rows: torch.Tensor, noise: Noise) -> None:
    loss.at(dtype, rows, noise, slice(None)).backward()
    adam.step()
    adam.zero_grad()


def _forward(denoiser):
    """One forward pass of the denoiser alone, on a row of LENGTH cells."""
    device = denoiser.tokens.device
    if denoiser.family == "masked":
        ids = torch.full((1, LENGTH), denoiser.mask_id, device=device)
        return lambda: denoiser(ids)
    if denoiser.family == "uniform":
        ids = torch.randint(denoiser.vocab_size, (1, LENGTH), device=device)
        hint, nothing = denoiser.tokens[ids], torch.zeros_like(ids, dtype=torch.bool)
        return lambda: denoiser(ids, hint, nothing)
    z = torch.randn(1, LENGTH, denoiser.embedding_width, device=device)
    g, given, table_ = torch.full((1,), 5.0, device=device), torch.zeros(1, LENGTH, dtype=torch.bool), denoiser.table()
    return lambda: denoiser(z, g, z, given.to(device), table=table_)


@torch.inference_mode()
def _bare(forward) -> None:
    for _ in range(STEPS):
        forward()


def _exhaust(iterator) -> None:
    for _ in iterator:
        pass


def seconds(function: Callable) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started
