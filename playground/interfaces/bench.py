"""`python -m playground bench`: what this machine does, as ratios within one run where a ratio says more."""

import csv
import io
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

import torch

from playground import memory
from playground.denoisers import zoo
from playground.interfaces import bench_browser, bench_ratios, bench_runs, bench_server, bench_soak, tables
from playground.recipe import RecipeError, check_ranges, knob, typed
from playground.studies import throughput
from playground.studies.throughput import Range, Settings

PARTS = (
    "cold_start", "models", "throughput", "latency", "over_autoregressive", "grid_over_cells", "over_diffusers",
    "concurrency",
)  # fmt: skip
COLD_START = (
    "from playground.denoisers import zoo\nfrom playground.ui.page import build\n"
    "[zoo.load(name) for name in zoo.catalogue()]\nbuild()"
)


@dataclass(frozen=True)
class Bench:
    """What is measured. Build it with `Bench.parse`, which checks every field."""

    only: str = knob("", "Only", f"Measure these parts alone, with commas: {', '.join(PARTS)}.")
    grids: int = knob(0, "Grids", "Also measure how memory grows over this many small grids in a row.", 0, 1000)
    soak: int = knob(0, "Soak", "Also send this many calls, four at once, to a server of its own.", 0, 10_000)
    speed: Settings | None = None
    training: bool = False
    browser: bool = False

    @classmethod
    def parse(cls, values: Mapping) -> "Bench":
        """Checked from loosely typed values, those of `throughput.Settings` among them. Loads the models, so that one
        that cannot be used is said before the first figure. Raises RecipeError or ModelError."""
        given = {name: value for name, value in values.items() if value is not None}
        own = {f.name: typed(f, given[f.name]) for f in fields(cls) if f.name != "speed" and f.name in given}
        bench = cls(**own, speed=Settings.parse({k: v for k, v in given.items() if k not in own}))
        check_ranges(bench)
        unknown = [part for part in bench.parts if part not in PARTS]
        if unknown:
            raise RecipeError("only", f"{unknown[0][:40]!r} is unknown; allowed: {', '.join(PARTS)}.")
        return bench

    @property
    def parts(self) -> list[str]:
        return [part.strip() for part in self.only.split(",")] if self.only else list(PARTS)


def measure(bench: Bench, progress: Callable[[str], None] = lambda line: None) -> dict:
    """All figures, with the facts of the machine. Times in milliseconds unless the name says otherwise; `throughput`,
    `latency` and `concurrency` have a row for each point. `progress` is told what comes next."""
    found = {"machine": machine()}
    for part in bench.parts:
        progress(part)
        found[part] = _measured(part, bench.speed, progress)
    if bench.grids:
        progress("grids")
        found["memory_growth_mb"] = {"grids": bench.grids, "mb": bench_ratios.memory_growth(bench.grids)}
    if bench.soak:
        progress("soak")
        found["soak"] = bench_soak.soak(bench.soak, progress)
    if bench.training:
        progress("training")
        found["training_tokens_per_second"] = {family: bench_runs.training_speed(family) for family in zoo.FAMILIES}
    if bench.browser:
        progress("browser")
        found["browser_streaming"] = bench_browser.streaming(computed=False)
        found["browser_live"] = bench_browser.streaming(computed=True)
    found["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def _measured(part: str, speed: Settings, progress: Callable[[str], None]):
    match part:
        case "cold_start":
            return {"seconds": cold_start()}
        case "models":
            return {name: _model(name) for name in speed.models}
        case "throughput":
            return throughput.rows(_told(throughput.throughput(speed), progress))
        case "latency":
            return throughput.rows(_told(throughput.latency(speed), progress))
        case "over_autoregressive":
            return bench_ratios.over_autoregressive()
        case "grid_over_cells":
            return bench_ratios.grid_over_cells()
        case "over_diffusers":
            return bench_ratios.over_diffusers()
        case "concurrency":
            return bench_server.concurrency(speed.models, speed.repeats, progress)


def _model(name: str) -> dict:
    loaded = {"load_seconds": bench_runs.load_seconds(name)}
    return loaded | bench_runs.engine(name) | bench_runs.first_frame(name)


def _told(points: Iterator, progress: Callable[[str], None]) -> list:
    """All points, each said when it is there."""
    found = []
    for point in points:
        found.append(point)
        progress(f"{type(point).__name__.lower()}, {point.model}: {len(found)} done")
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


def table(found: dict, indent: str = "") -> str:
    """The figures, a line each; points as tables."""
    lines = []
    for key, value in found.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += ["", key, _points(value), ""]
        elif isinstance(value, dict):
            lines += [f"{indent}{key}", table(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key:<{34 - len(indent)}} {'not measured' if value is None else value}")
    return "\n".join(lines)


def _points(points: list[dict]) -> str:
    """Points as a table: medians, with the lowest and the highest of the repeats."""
    heads = [name for name in points[0] if name not in ("study", "family")]
    told = tables.aligned([heads, *([_cell(point[name]) for name in heads] for point in points)])
    is_unknown = any(point.get("peak_mb", 0) is None for point in points)
    return f"{told}\n{memory.NOT_MEASURED}" if is_unknown else told


def _cell(value) -> str:
    if isinstance(value, dict):
        found = Range(**value)
        return f"{found.median:.4g} ({found.low:.4g} to {found.high:.4g})"
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def points_csv(found: dict) -> str:
    """A line for each point of throughput and latency, empty where one has no such figure; lines end as RFC 4180 has
    it."""
    rows = [_flat(point) for part in ("throughput", "latency") for point in found.get(part, [])]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(point: dict) -> dict:
    """A point whose ranges are columns of their own: seconds, seconds_low, seconds_high."""
    flat = {}
    for name, value in point.items():
        if isinstance(value, dict):
            flat |= {name: value["median"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
        else:
            flat[name] = value
    return flat
