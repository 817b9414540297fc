"""`python -m playground bench`: what this machine does, as ratios within one run where a ratio says more."""

import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import torch

from playground.denoisers import zoo
from playground.engine import Run, complete, record
from playground.recipe import Recipe
from playground.text import PAD
from playground.trace import Trace
from playground.training import initial
from playground.training.objectives import Noise
from playground.training.train import Loss, optimizer

ROUNDS, STEPS, LENGTH = 15, 32, 64
COLD_START = (
    "from playground.denoisers import zoo\nfrom playground.ui.page import build\n"
    "[zoo.load(name) for name in zoo.catalogue()]\nbuild()"
)


def measure(browser: bool = False, training: bool = False) -> dict:
    """All figures, with the facts of the machine. Times in milliseconds unless the name says otherwise."""
    for name in zoo.catalogue():
        zoo.load(name)  # a model that cannot be used is said here, before the first figure
    found = {"machine": machine(), "cold_start_seconds": cold_start(), "models": {}}
    for name in zoo.catalogue():
        found["models"][name] = engine(name) | first_frame(name) | {"output_tokens_per_second": throughput(name)}
    if training:
        found["training_tokens_per_second"] = {family: training_speed(family) for family in zoo.FAMILIES}
    if browser:
        found["browser_streaming"] = streaming(computed=False)
        found["browser_live"] = streaming(computed=True)
    found["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def machine() -> dict:
    return {
        "processor": platform.processor() or platform.machine(), "threads": torch.get_num_threads(),
        "python": platform.python_version(), "torch": torch.__version__, "device": zoo.best_device(),
        "dtype": zoo.best_dtype(zoo.best_device()),
    }  # fmt: skip


def cold_start() -> float:
    """Seconds for a fresh process to import, load every model and build the page."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", COLD_START], check=True, capture_output=True)
    return round(time.perf_counter() - started, 2)


def engine(name: str) -> dict:
    """A run of the default recipe against as many bare forward passes, taking turns; medians over ROUNDS."""
    recipe = Recipe.parse({"model": name, "steps": STEPS, "length": LENGTH, "seed": 1})
    denoiser = zoo.load(name).denoiser
    if denoiser.family == "autoregressive":
        return one_token(recipe)
    forward = _forward(denoiser)
    pairs = [(_seconds(lambda: _exhaust(Run(recipe).steps())), _seconds(lambda: _bare(forward))) for _ in range(ROUNDS)]
    pairs = pairs[2:]  # the first two warm up
    run = statistics.median(r for r, _ in pairs)
    recorded = min(_seconds(lambda: _exhaust(trace.message() for trace in record(recipe))) for _ in range(3))
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


def throughput(name: str) -> dict:
    """Tokens of text a second, in 16 steps where steps are a choice, for 1 row and for 32 together; medians of 3."""
    model = zoo.load(name)
    recipe = Recipe.parse({"model": name, "steps": 16, "length": LENGTH, "seed": 1})
    found = {}
    for rows in (1, 32):
        ids = torch.full((rows, LENGTH), PAD)
        fixed = torch.zeros_like(ids, dtype=torch.bool)
        speeds = []
        for _ in range(4):
            started = time.perf_counter()
            (tokens,) = complete(recipe, model, ids, fixed)
            speeds.append((tokens != PAD).sum().item() / (time.perf_counter() - started))
        found[f"batch_{rows}"] = round(statistics.median(speeds[1:]))
    return found


def training_speed(family: str, steps: int = 5) -> int:
    """Tokens a second that a denoiser of the shipped size learns from, on rows of random tokens; median of `steps`."""
    noise, seconds = Noise.seeded(0), []
    denoiser = initial.fresh(family, {"vocab_size": 4096} | initial.SHAPE | (
        {"embedding_width": initial.EMBEDDING_WIDTH} if family == "continuous" else {}
    ))  # fmt: skip
    loss, adam = Loss(denoiser.train()), optimizer(denoiser, 1e-4)
    dtype = zoo.DTYPES[zoo.best_dtype("cpu")]
    rows = noise.token(4096 // LENGTH, LENGTH, vocab_size=4096)
    for _ in range(steps + 1):
        seconds.append(_seconds(lambda: _learn(loss, adam, dtype, rows, noise)))
    return round(rows.numel() / statistics.median(seconds[1:]))


def _learn(loss: Loss, adam: torch.optim.Optimizer, dtype: torch.dtype, rows: torch.Tensor, noise: Noise) -> None:
    loss.at(dtype, rows, noise, slice(None)).backward()
    adam.step()
    adam.zero_grad()


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


def streaming(computed: bool, length: int = 128, steps: int = 128) -> dict:
    """A run in headless Chromium: how often the player drew a new step, and what was lost on the way.

    With `computed`, the model and the browser share this machine's cores, as they do on a laptop. Without, the
    steps were computed before and only travel through the page's event, as when the server is another machine.
    """
    from playwright.sync_api import sync_playwright

    from playground.ui import watch
    from playground.ui.page import build, launch

    recipe = Recipe.parse({"length": length, "steps": steps, "seed": 1})
    if not computed:
        *_, done = record(recipe)
        watch.record = lambda recipe: _again(done)
    page = build()
    _, url, _ = launch(page, quiet=True, prevent_thread_lock=True)
    try:
        with sync_playwright() as p:
            chromium = p.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            tab = chromium.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(f"{url}?{recipe.to_query()}")
            counts = []
            for _ in range(3):
                tab.wait_for_function(_ENDED, timeout=60_000)
                tab.evaluate(_WATCH_DRAWING)
                tab.click("#run")
                tab.wait_for_function("window.ended", timeout=60_000)
                counts.append(tab.evaluate("document.querySelectorAll('*').length"))
            drawn = tab.evaluate("window.drawn")
            frames = tab.evaluate(f"{_PLAYER}.trace().frames.map((frame) => frame.s)")
            chromium.close()
    finally:
        watch.record = record
        page.close()
    gaps = sorted(b["at"] - a["at"] for a, b in pairwise(drawn))
    return {
        "frames_received": len(frames), "frames_lost": steps + 1 - len(frames), "frames_drawn": len(drawn),
        "frames_per_second": round(1000 * (len(drawn) - 1) / (drawn[-1]["at"] - drawn[0]["at"]), 1),
        "gap_p99": round(gaps[int(0.99 * len(gaps))], 1), "dom_nodes_after_each_run": counts,
    }  # fmt: skip


def table(found: dict, indent: str = "") -> str:
    """The figures, a line each."""
    lines = []
    for key, value in found.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}", table(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key:<{34 - len(indent)}} {value}")
    return "\n".join(lines)


_PLAYER = "document.querySelector('.dlm-host')?.player"
_ENDED = f"{_PLAYER} && {_PLAYER}.trace().end && {_PLAYER}.step() === {_PLAYER}.trace().frames.at(-1).s"
_WATCH_DRAWING = f"""() => {{
  const player = {_PLAYER}, before = player.trace().head;
  window.drawn = [];
  const look = () => {{
    const run = player.trace(), isNew = run.head !== before;
    const step = player.step();
    if (isNew && window.drawn.at(-1)?.step !== step) window.drawn.push({{step, at: performance.now()}});
    window.ended = isNew && run.end && step === run.frames.at(-1).s;
    if (!window.ended) requestAnimationFrame(look);
  }};
  requestAnimationFrame(look);
}}"""


def _again(done: Trace) -> Iterator[Trace]:
    """A finished trace growing once more, at the pace at which it was computed."""
    trace, started = Trace(done.head, []), time.perf_counter()
    for frame in done.frames:
        time.sleep(max(0.0, started + frame["t"] - time.perf_counter()))
        trace.frames.append(frame)
        yield trace
    trace.close("finished")
    yield trace


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


def _seconds(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started
