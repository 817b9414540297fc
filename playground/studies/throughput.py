"""How many tokens a second each model writes with more rows, what memory that takes, and how long a row takes with more
cells: measured here and now, a point at a time."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice

import torch

from playground import engine, memory
from playground.denoisers import zoo
from playground.denoisers.zoo import Model
from playground.recipe import Recipe, RecipeError, advised_steps, check_ranges, knob, typed
from playground.studies import speed
from playground.studies.grid import OVERTIME, budget
from playground.text import PAD

STEPS, LENGTH, SEED = 16, 64, 1  # of a run where nothing else is said
MOST = 8  # values of a list
WARM_UP = 2  # steps


@dataclass(frozen=True)
class One:
    """A value of each list, for its range and its help."""

    lengths: int = knob(64, "Lengths", "Cells of a row whose seconds are measured; several with commas.", 8, 512)
    batch: int = knob(1, "Batch", "Rows made together whose tokens a second are measured; several with commas.", 1, 32)
    repeats: int = knob(3, "Repeats", "Timed runs of each point, whose median is shown.", 1, 20)


ONE = {f.name: f for f in fields(One)}


@dataclass(frozen=True)
class Settings:
    """What is measured. Build it with `Settings.parse`, which checks every field; no models means all there are."""

    models: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (32, 64, 128, 256, 512)
    batch: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    repeats: int = 3

    @classmethod
    def parse(cls, values: Mapping) -> "Settings":
        """Checked settings from loosely typed values: a list, or text with commas. Absent fields take their defaults.
        Loads the models. Raises RecipeError or ModelError."""
        known = {f.name for f in fields(cls)}
        for name in values:
            if name not in known:
                raise RecipeError(str(name)[:40], f"there is no such field; the fields are {', '.join(sorted(known))}.")
        given = {name: value for name, value in values.items() if value is not None}
        found = {name: _numbers(name, given[name]) for name in ("lengths", "batch") if name in given}
        if "repeats" in given:
            found["repeats"] = _number("repeats", given["repeats"])
        models = _models(given["models"]) if "models" in given else tuple(zoo.catalogue())
        if not models:
            raise RecipeError("models", f"there is none in {zoo.models_folder()}.")
        settings = cls(models=models, **found)
        for name in settings.models:
            engine.Run(_recipe(zoo.load(name), max(*settings.lengths, LENGTH), STEPS))
        return settings


PAGE = {"batch": (1, 4, 16), "lengths": (32, 64, 128, 256), "repeats": 1}  # about a minute on two slow cores


@dataclass(frozen=True)
class Range:
    """The median of some repeats, the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Range":
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Throughput:
    """`rows` rows of LENGTH cells made together. `steps`: None from left to right. `tokens`: of text, in all rows.
    `peak_mb`: megabytes (2**20 bytes) that the process's resident memory peaked above what it was, or None."""

    model: str
    family: str
    rows: int
    length: int
    steps: int | None
    tokens: int
    seconds: Range
    tokens_per_second: Range
    peak_mb: float | None


@dataclass(frozen=True)
class Latency:
    """One row of `length` cells. `advised`: with the number of steps that is advised for its length instead of STEPS;
    from left to right, where steps are no choice, `steps` is None and nothing is advised."""

    model: str
    family: str
    length: int
    steps: int | None
    advised: bool
    seconds: Range


Point = Throughput | Latency


def throughput(settings: Settings) -> Iterator[Throughput]:
    """A point for each batch and model. The first run of a point warms up and is the one whose memory is measured."""
    for rows in settings.batch:
        for name in settings.models:
            yield _throughput(zoo.load(name), rows, settings.repeats)


def _throughput(model: Model, rows: int, repeats: int) -> Throughput:
    recipe = _recipe(model, LENGTH, STEPS)
    tokens, peak_mb = _with_memory(model, lambda: written(model, recipe, rows))
    seconds = [_seconds(model, recipe, rows) for _ in range(repeats)]
    return Throughput(
        model.name, model.family, rows, LENGTH, _steps(model, recipe), tokens,
        seconds=Range.of(seconds), tokens_per_second=Range.of([tokens / each for each in seconds]), peak_mb=peak_mb,
    )  # fmt: skip


def latency(settings: Settings) -> Iterator[Latency]:
    """For each length and model a point with STEPS steps and one with as many as are advised."""
    for length in settings.lengths:
        for name in settings.models:
            model = zoo.load(name)
            measured = {}
            for steps, advised in _choices(model, length):
                recipe = _recipe(model, length, steps)
                if steps not in measured:
                    _warm_up(model, recipe)
                    measured[steps] = Range.of([_seconds(model, recipe, 1) for _ in range(settings.repeats)])
                yield Latency(name, model.family, length, _steps(model, recipe), advised, measured[steps])


def study(settings: Settings) -> Iterator[Point]:
    """All points, those of the throughput first. Raises RunError when they take more than twice a page's budget."""
    started = time.monotonic()
    for measure in (throughput, latency):
        for point in measure(settings):
            yield point
            if time.monotonic() - started > OVERTIME * budget():
                raise engine.RunError(f"Stopped after {OVERTIME * budget():g} s, twice what was allowed for all.")


def expected(settings: Settings) -> float:
    """Seconds that all points are expected to take here."""
    return sum(_expected(settings, name) for name in settings.models)


def fitted(settings: Settings, seconds: float) -> Settings:
    """These settings without their largest lengths, then without their largest batches, until they are expected to take
    at most `seconds`; the smallest of each stays. Raises RecipeError where even that takes longer."""
    while expected(settings) > seconds:
        name = "lengths" if len(settings.lengths) > 1 else "batch"
        values = getattr(settings, name)
        if len(values) == 1:
            raise RecipeError(
                name,
                f"{values[0]} alone would take about {speed.duration(expected(settings))} here; "
                f"allowed: {speed.duration(seconds)}.",
            )
        largest = max(values)
        settings = replace(settings, **{name: tuple(value for value in values if value != largest)})
    return settings


def rows(points: Sequence[Point]) -> list[dict]:
    """The points for machines: `study` says which of the two it is."""
    return [{"study": type(point).__name__.lower()} | asdict(point) for point in points]


def said(points: Sequence[Point]) -> str:
    """A sentence made of the numbers: the fastest diffusion model beside the left-to-right one, with the fewest rows
    and with the most. Empty where there is nothing to compare."""
    found = [point for point in points if isinstance(point, Throughput)]
    pairs = {rows: pair for rows in sorted({point.rows for point in found}) if (pair := _beside(found, rows))}
    if not pairs:
        return ""
    few, many = min(pairs), max(pairs)
    fastest, baseline = pairs[few]
    sentence = f"With {_counted(few)} {_compared(fastest, baseline)}"
    if many > few:
        sentence += f"; with {_counted(many)} {_compared(*pairs[many])}"
    return sentence + "."


def _beside(points: list[Throughput], rows: int) -> tuple[Throughput, Throughput] | None:
    """(the fastest diffusion model, the left-to-right one) with that many rows."""
    found = [point for point in points if point.rows == rows]
    whole = [point for point in found if point.family != "autoregressive"]
    baselines = [point for point in found if point.family == "autoregressive"]
    if not whole or not baselines:
        return None
    return max(whole, key=lambda point: point.tokens_per_second.median), baselines[0]


def _compared(whole: Throughput, baseline: Throughput) -> str:
    ours, theirs = whole.tokens_per_second.median, baseline.tokens_per_second.median
    ratio = f"{ours / theirs:.1f} times as fast as" if ours >= theirs else f"{theirs / ours:.1f} times slower than"
    return f"{whole.model} writes {ours:,.0f} tokens a second, {ratio} writing from left to right ({theirs:,.0f})"


def _counted(rows: int) -> str:
    return "one row" if rows == 1 else f"{rows} rows at once"


def written(model: Model, recipe: Recipe, rows: int) -> int:
    """Run `rows` rows of nothing given to their end; how many tokens of text, no padding, they come to."""
    ids = torch.full((rows, recipe.length), PAD)
    done = engine.complete(recipe, model, ids, torch.zeros_like(ids, dtype=torch.bool))
    return sum(int((tokens != PAD).sum()) for tokens in done)


def _seconds(model: Model, recipe: Recipe, rows: int) -> float:
    started = time.perf_counter()
    written(model, recipe, rows)
    return time.perf_counter() - started


def _warm_up(model: Model, recipe: Recipe) -> None:
    for _ in islice(engine.run(recipe), WARM_UP):
        pass


def _with_memory(model: Model, run: Callable[[], int]) -> tuple[int, float | None]:
    """(what `run` gives, the megabytes that it takes): None where the model's memory is not the process's."""
    return memory.peak(run) if model.device.type == "cpu" else (run(), None)


def _recipe(model: Model, length: int, steps: int) -> Recipe:
    return Recipe.parse({"model": model.name, "length": length, "steps": steps, "seed": SEED})


def _steps(model: Model, recipe: Recipe) -> int | None:
    return None if model.family == "autoregressive" else recipe.steps


def _choices(model: Model, length: int) -> list[tuple[int, bool]]:
    """(steps, whether they are the advised ones) of a model's points."""
    fixed = [(STEPS, False)]
    return fixed if model.family == "autoregressive" else [*fixed, (advised_steps(length), True)]


def _expected(settings: Settings, name: str) -> float:
    model, pace = zoo.load(name), speed.pace(name)
    is_whole = model.family != "autoregressive"
    seconds = 0.0
    for rows in settings.batch:
        run = pace.seconds(STEPS, rows * LENGTH) if is_whole else pace.seconds(LENGTH, rows)
        seconds += (1 + settings.repeats) * run
    for length in settings.lengths:
        for steps in {steps for steps, _ in _choices(model, length)}:
            evaluations, cells = (steps, length) if is_whole else (length, 1)
            seconds += settings.repeats * pace.seconds(evaluations, cells) + pace.seconds(WARM_UP, cells)
    return seconds


def _listed(name: str, value) -> list:
    """The parts of a list, or of text with commas. Raises RecipeError."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    parts = list(parts) if isinstance(parts, Sequence) else [parts]
    if not parts or "" in parts:
        raise RecipeError(name, f"{str(value)[:40]!r} has an empty value; allowed: 1 to {MOST} values, with commas.")
    if len(parts) > MOST:
        raise RecipeError(name, f"has {len(parts)} values; allowed: 1 to {MOST}.")
    return parts


def _numbers(name: str, value) -> tuple[int, ...]:
    """Whole numbers in the order given, each in its range and once. Raises RecipeError."""
    return _each_once(name, [_number(name, part) for part in _listed(name, value)])


def _number(name: str, value) -> int:
    number = typed(ONE[name], value)
    check_ranges(replace(One(), **{name: number}))
    return number


def _models(value) -> tuple[str, ...]:
    names = _listed("models", value)
    for name in names:
        if not isinstance(name, str) or name not in zoo.catalogue():
            raise RecipeError("models", f"{str(name)[:40]!r} is unknown; allowed: {', '.join(zoo.catalogue())}.")
    return _each_once("models", names)


def _each_once(name: str, values: list) -> tuple:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise RecipeError(name, f"{twice} is given twice; allowed: each value once.")
    return tuple(values)
