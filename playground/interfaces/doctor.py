"""`python -m playground doctor`: what this machine has, which precision works on it, and which to set."""

import argparse
import json
import os
import platform
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import pairwise

import torch

from playground import __version__, engine, environment, memory
from playground.denoisers import zoo
from playground.denoisers.together import Turns
from playground.denoisers.zoo import Model
from playground.interfaces.tables import aligned
from playground.recipe import Recipe
from playground.text import PAD

PACKAGES = ("torch", "gradio", "numpy", "tokenizers", "safetensors", "torch_npu", "spaces")
PROBE = "Once upon a time there was a little girl named Lily. She loved to play in the park with her red ball."
LENGTH, STEPS = 48, 6  # of the run that is timed
ANY = "any"
AGREEING = 0.95  # a precision is advised where at least this share of the best tokens is float32's


@dataclass
class Trial:
    """A model on a device in a precision; `reason` says why it failed, else the figures are there.

    max_drift and mean_drift: of the logits from those of float32 on the CPU; same_best: share of cells with the same
    best token; milliseconds: a step of a run of one row, without its first; weights_mb, and peak_mb: what the run takes
    above them, or None where that cannot be told.
    """

    model: str
    device: str
    dtype: str
    reason: str = ""
    max_drift: float | None = None
    mean_drift: float | None = None
    same_best: float | None = None
    milliseconds: float | None = None
    weights_mb: float | None = None
    peak_mb: float | None = None

    @property
    def is_good(self) -> bool:
        return not self.reason and self.same_best >= AGREEING


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON.")


def run(options) -> int:
    """Try every precision on every device here, and say which to set."""
    machine = _machine()
    if not options.json:
        print("\n".join(f"{name:<22} {value}" for name, value in machine.items()), flush=True)
    trials = list(_trials(machine["devices"]))
    wrong, advice = advise(trials, machine["device"], machine["precision"])
    if options.json:
        print(json.dumps(machine | {"trials": [asdict(t) for t in trials], "wrong": wrong, "advice": advice}))
    else:
        print("\n".join(["", table(trials), "", *wrong, *advice]))
    return 1 if wrong else 0


def _machine() -> dict:
    """What is here, by name; what cannot be told is said in its place."""
    facts = {"playground": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        facts[name] = _or_reason(lambda name=name: metadata.version(name), "not installed")
    facts["cores"] = os.cpu_count()
    facts["threads"] = torch.get_num_threads()
    facts["memory"] = _or_reason(lambda: f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 20} MB")
    facts["bfloat16 on the cpu"] = _or_reason(
        lambda: "native" if zoo.best_dtype("cpu") == "bfloat16" else "emulated, so float32 is the default"
    )
    shown = [name for name in (*environment.SETTINGS, "OMP_NUM_THREADS") if name in os.environ]
    facts |= {name: "set" if name == "PLAYGROUND_API_KEY" else os.environ[name] for name in shown}
    facts["device"] = _or_reason(zoo.chosen_device)
    facts["precision"] = _or_reason(lambda: zoo.checked_dtype(None, facts["device"]))
    facts["devices"] = list(dict.fromkeys(["cpu", _or_reason(zoo.best_device), facts["device"]]))
    return facts


def _or_reason(find: Callable, reason: str = "") -> str:
    try:
        return find()
    except Exception as error:
        return reason or f"cannot be told: {_line(error)}"


def _trials(devices: list[str]) -> Iterator[Trial]:
    """Every model on every device in every precision, the reference first."""
    try:
        names = list(zoo.catalogue())
    except Exception as error:
        yield Trial(ANY, "cpu", ANY, _line(error))
        return
    if not names:
        yield Trial(ANY, "cpu", ANY, f"there is no model in {zoo.models_folder()}")
    usable = []
    for device in devices:
        try:
            torch.zeros(1, device=device)
        except Exception as error:
            yield Trial(ANY, device, ANY, _line(error))
        else:
            usable.append(device)
    for name in names:
        reference = None
        for device in usable:
            for dtype in zoo.DTYPES:
                trial = Trial(name, device, dtype)
                try:
                    logits = _measure(trial, reference)
                except Exception as error:
                    trial.reason = _line(error)
                else:
                    reference = logits if (device, dtype) == ("cpu", "float32") else reference
                yield trial


def _measure(trial: Trial, reference: torch.Tensor | None) -> torch.Tensor:
    """Fill in a trial; returns its logits [L, V]. `reference`: those of float32 on the CPU, once they are there."""
    model = zoo.load_folder(zoo.models_folder() / trial.model, trial.device, trial.dtype)
    tensors = [*model.denoiser.parameters(), *model.denoiser.buffers()]
    trial.weights_mb = sum(t.numel() * t.element_size() for t in tensors) / 2**20
    logits = _logits(model)
    if not logits.isfinite().all():
        raise engine.RunError(f"{int((~logits.isfinite()).sum())} of {logits.numel()} logits are NaN or infinite")
    if reference is None:
        if (trial.device, trial.dtype) != ("cpu", "float32"):
            raise engine.RunError("float32 on the cpu, with which it would be compared, does not work")
        reference = logits
    drift = (logits - reference).abs()
    trial.max_drift, trial.mean_drift = drift.max().item(), drift.mean().item()
    trial.same_best = (logits.argmax(-1) == reference.argmax(-1)).float().mean().item()
    times, trial.peak_mb = _with_memory(model, lambda: [step.seconds for step in _steps(model)])
    trial.milliseconds = 1000 * statistics.median(after - before for before, after in pairwise(times))
    return logits


def _logits(model: Model) -> torch.Tensor:
    """Logits [L, V] of a sentence of which every other cell is hidden."""
    ids = torch.tensor([model.tokenizer.encode(PROBE)], device=model.device)
    hidden = torch.arange(ids.shape[1], device=model.device)[None] % 2 == 1
    with torch.inference_mode():
        return model.denoiser.blanks(ids, hidden)[0].float().cpu()


def _steps(model: Model) -> Iterator:
    recipe = Recipe.parse({"model": model.name, "length": LENGTH, "steps": STEPS, "seed": 1})
    ids = torch.full((1, LENGTH), PAD)
    rngs, turns = [torch.Generator().manual_seed(1)], Turns(alone=True)
    nothing = torch.zeros_like(ids, dtype=torch.bool)
    return engine.paced(engine.sampled(model, recipe, ids, nothing, rngs, turns=turns), model, turns)


def _with_memory(model: Model, run: Callable):
    if model.device.type == "cpu":
        return memory.peak(run)
    if model.device.type != "cuda":
        return run(), None
    before = torch.cuda.memory_allocated(model.device)
    torch.cuda.reset_peak_memory_stats(model.device)
    return run(), (torch.cuda.max_memory_allocated(model.device) - before) / 2**20


def advise(trials: list[Trial], device: str, dtype: str) -> tuple[list[str], list[str]]:
    """(what is wrong with the precision in force, what to set), in sentences."""
    in_force = [t for t in trials if t.device == device and t.dtype in (dtype, ANY)]
    wrong = [f"{t.model} in {t.dtype} on {device} does not work: {t.reason}." for t in in_force if t.reason]
    wrong += [f"The precision in force {dtype}."] if dtype not in zoo.DTYPES else []
    for t in in_force:
        if not (t.reason or t.is_good):
            wrong.append(f"{t.model} in {dtype} on {device} has {t.same_best:.0%} of float32's best tokens.")
    advice = []
    for where in dict.fromkeys(t.device for t in trials):
        of = {d: [t for t in trials if (t.device, t.dtype) == (where, d)] for d in zoo.DTYPES}
        works = {d: time for d, found in of.items() if (time := _total(found)) is not None}
        if not works:
            advice.append(f"On {where} no precision works for every model; set PLAYGROUND_DEVICE to another device.")
            continue
        best = min(works, key=works.get)
        set_it = "is in force" if (where, best) == (device, dtype) else f"needs PLAYGROUND_DTYPE={best}"
        set_it += f" and PLAYGROUND_DEVICE={where}" if where != device else ""
        others = ", ".join(f"{d} {time / works[best]:.1f} times its time" for d, time in works.items() if d != best)
        advice.append(f"On {where} {best} is fastest{f' ({others})' if others else ''}; it {set_it}.")
    return wrong, advice


def _total(trials: list[Trial]) -> float | None:
    """Milliseconds a step of all models together; None where one does not work."""
    return sum(t.milliseconds for t in trials) if trials and all(t.is_good for t in trials) else None


def table(trials: list[Trial]) -> str:
    """A line for each trial, and the reason of each that failed."""
    head = ["model", "device", "precision", "max drift", "mean drift", "same best", "ms a step", "weights MB", "run MB"]
    rows = []
    for t in trials:
        cells = (t.max_drift, t.mean_drift, t.same_best, t.milliseconds, t.weights_mb, t.peak_mb)
        formats = (".3g", ".2g", ".1%", ".1f", ".0f", ".0f")
        shown = ["-" if c is None else format(c, how) for c, how in zip(cells, formats, strict=True)]
        rows.append([t.model, t.device, t.dtype, *shown])
    failed = [f"{t.model} on {t.device} in {t.dtype}: {t.reason}" for t in trials if t.reason]
    return "\n".join([aligned([head, *rows]), *failed])


def _line(error: BaseException) -> str:
    """An error in one short line."""
    text = str(error).strip().split("\n")[0][:300]
    return text.rstrip(".") or type(error).__name__
