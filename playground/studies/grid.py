"""A grid of runs: one or two knobs swept, each cell with the same seeds."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import product

from playground import engine, environment
from playground.denoisers import zoo
from playground.judges import JUDGES
from playground.recipe import (
    GENERATE_FIELDS,
    MAX_PROMPT_CHARACTERS,
    Recipe,
    RecipeError,
    check_ranges,
    knob,
    typed,
)
from playground.samplers import knobs
from playground.studies import speed
from playground.studies.figures import Figures, judge
from playground.studies.reference import Reference
from playground.trace import Trace

STEPS = [4, 8, 16, 32, 64]  # what is swept if nothing else is said
RECIPE_FIELDS = [name for name in GENERATE_FIELDS if name != "samples"]  # the seeds are the samples
SWEPT = [name for name in RECIPE_FIELDS if name not in ("prompt", "seed", "pins")]
BESIDE = ("length", "temperature", "top_p")  # knobs that the left-to-right runs beside the grid share with its cells
ALWAYS_HEARD = ("model", "sampler", "length")
MOST = 240  # texts in a grid
OVERTIME = 2
KNOBS = {f.name: f for f in fields(Recipe)}


def budget() -> float:
    """Seconds a grid may be expected to take."""
    return environment.number("PLAYGROUND_GRID_LIMIT")


@dataclass(frozen=True)
class Axis:
    """A swept knob and its values, in the order given."""

    name: str
    values: tuple

    @property
    def label(self) -> str:
        return KNOBS[self.name].metadata["label"]

    @property
    def numeric(self) -> bool:
        return KNOBS[self.name].type in (int, float)


@dataclass(frozen=True)
class Grid:
    """What is compared. Build it with `Grid.parse`, which checks every field; `base` has the knobs that all cells
    share, `axes` one or two that are swept."""

    seeds: int = knob(3, "Seeds", "Texts in each cell, from seed, seed + 1, ...; the same in all cells.", 1, 8)
    reference: str = knob("", "Reference text", "A text to compare with, by BLEU, ROUGE-L and similarity.")
    judge: str = knob("bundled", "Judge", "The language model whose perplexity is shown.", choices=lambda grid: JUDGES)
    base: Mapping = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()

    @classmethod
    def parse(cls, values: Mapping) -> "Grid":
        """A checked grid from loosely typed values. A knob in SWEPT with a list, or with text that holds commas, is
        swept: the first, or a knob of numbers, is the axis of the figures; another gives a line each. Without any, the
        steps are swept. Absent fields take their defaults. Raises RecipeError."""
        own = {f.name: f for f in fields(cls) if f.name not in ("base", "axes")}
        base, swept, grid = {}, {}, cls()
        for name, value in values.items():
            if name not in own and name not in RECIPE_FIELDS:
                known = ", ".join([*own, *RECIPE_FIELDS])
                raise RecipeError(str(name)[:40], f"cannot be compared or swept; the fields are {known}.")
            if value is None:
                continue
            if name in own:
                grid = replace(grid, **{name: typed(own[name], value)})
            elif name in SWEPT and (listed := _listed(name, value)) is not None:
                swept[name] = listed
            else:
                base[name] = value
        check_ranges(grid)
        if len(grid.reference) > MAX_PROMPT_CHARACTERS:
            raise RecipeError(
                "reference", f"has {len(grid.reference):,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}."
            )
        if grid.reference and not grid.reference.strip():
            raise RecipeError("reference", "is blank; write a text or leave it out.")
        if not swept and base.get("steps") is None:
            swept["steps"] = STEPS
        if not swept:
            raise RecipeError(
                "steps",
                f"{typed(KNOBS['steps'], base['steps'])} is one value; a comparison needs a list, as in 4, 8, 16.",
            )
        if len(swept) > 2:
            raise RecipeError(list(swept)[2], f"is a third knob to sweep, after {' and '.join(list(swept)[:2])}.")
        axes = sorted((_axis(name, found) for name, found in swept.items()), key=lambda axis: not axis.numeric)
        grid = replace(grid, base=base, axes=tuple(axes))
        return grid._checked()

    def resolved(self) -> "Grid":
        """This grid with a seed: -1 is drawn here, once."""
        return replace(self, base=dict(self.base) | {"seed": self.recipes[0].resolved().seed})

    @cached_property
    def recipes(self) -> list[Recipe]:
        """One for each cell, of which `samples` are the seeds; the first axis runs fastest. Raises RecipeError."""
        return [
            Recipe.parse(dict(self.base) | dict(zip(names, values, strict=True)) | {"samples": self.seeds})
            for names, values in self.places
        ]

    @property
    def places(self) -> list[tuple[list[str], tuple]]:
        """For each cell the names and the values of the axes."""
        names = [axis.name for axis in reversed(self.axes)]
        return [(names, values) for values in product(*(axis.values for axis in reversed(self.axes)))]

    @property
    def baselines(self) -> list[Recipe | None]:
        """For each cell the left-to-right run that it is measured against: of the same length and temperature."""
        named = next((name for name, family in zoo.catalogue().items() if family == "autoregressive"), None)
        shared = ("prompt", "seed", "samples", *BESIDE)
        return [
            Recipe.parse({"model": named} | {name: getattr(recipe, name) for name in shared}) if named else None
            for recipe in self.recipes
        ]

    def to_dict(self) -> dict:
        """The fields that give this grid again."""
        own = {name: value for name, value in asdict(self).items() if name not in ("base", "axes")}
        return own | dict(self.base) | {axis.name: list(axis.values) for axis in self.axes}

    def _checked(self) -> "Grid":
        count = self.seeds
        for axis in self.axes:
            count *= len(axis.values)
        if count > MOST:
            raise RecipeError(self.axes[-1].name, f"makes {count} texts in all; allowed: {MOST}. Sweep fewer values.")
        for axis in self.axes:
            if not any(is_heard(axis.name, recipe) for recipe in self.recipes):
                samplers = ", ".join(dict.fromkeys(recipe.sampler for recipe in self.recipes))
                raise RecipeError(axis.name, f"changes nothing with sampler {samplers}; sweep another knob.")
        return self


def is_heard(name: str, recipe: Recipe) -> bool:
    """Whether a knob changes what a recipe does."""
    return name in ALWAYS_HEARD or name in knobs(zoo.catalogue()[recipe.model], recipe.sampler)


def _listed(name: str, value) -> list | None:
    """The values of a sweep, or None of a single value."""
    if isinstance(value, str) and "," in value:
        parts = [part.strip() for part in value.split(",")]
        value = parts[:-1] if parts[-1] == "" else parts  # a comma at the end asks for a sweep of one
    if not isinstance(value, list | tuple | set | frozenset):
        return None
    if len(value) > MOST:
        raise RecipeError(name, f"has {len(value):,} values; allowed: {MOST} texts in all. Sweep fewer values.")
    if not value or "" in value:
        raise RecipeError(name, "has no value to sweep; write some, as in 4, 8, 16.")
    return list(value)


def _axis(name: str, values: list) -> Axis:
    found = tuple(typed(KNOBS[name], value) for value in values)
    twice = next((value for value in found if found.count(value) > 1), None)
    if twice is not None:
        raise RecipeError(name, f"{twice} is given twice.")
    return Axis(name, found)


@dataclass
class Cell:
    """One place of the grid, or the left-to-right run beside it. `rows` and `trace` are of the finished run."""

    place: dict  # the swept knobs' values
    recipe: Recipe
    trace: Trace | None = None
    rows: list[dict] = field(default_factory=list)
    given: int = 0  # cells of a row that are given

    @property
    def open(self) -> int:
        """Cells of a row that are written: what real texts beside it are to be as long as."""
        return self.recipe.length - self.given

    @property
    def done(self) -> bool:
        return self.trace is not None and self.trace.end is not None

    @property
    def key(self) -> str:
        """Equal for recipes that give the same texts."""
        ignored = {name: None for name in SWEPT if not is_heard(name, self.recipe)}
        return repr(sorted((self.recipe.to_dict() | ignored).items()))


class Study:
    """A grid made ready: the seed is drawn, every cell's models are loaded and its row is built. Raises RecipeError or
    ModelError here, before any computing."""

    def __init__(self, grid: Grid):
        self.grid = grid = grid.resolved()
        places = [dict(zip(names, values, strict=True)) for names, values in grid.places]
        self.cells = [Cell(place, recipe) for place, recipe in zip(places, grid.recipes, strict=True)]
        self.baselines = [
            Cell({name: value for name, value in place.items() if name in BESIDE}, recipe) if recipe else None
            for place, recipe in zip(places, grid.baselines, strict=True)
        ]  # fmt: skip
        self.judge = judge(grid.judge)
        for cell in self.cells:
            cell.given = engine.Run(cell.recipe).canvas.given
        self.reference = Reference.of(grid.reference, zoo.load(self.cells[0].recipe.model)) if grid.reference else None
        self._expected = {cell.key: speed.expected(cell.recipe) for cell in self.distinct}
        self.seconds = self.left = sum(self._expected.values())
        if self.seconds > budget():
            raise RecipeError(self.grid.axes[0].name, self._too_long())

    @property
    def distinct(self) -> list[Cell]:
        """The cells that have to be run, each recipe once: those of the grid, then the left-to-right runs."""
        first = {}
        for cell in [*self.cells, *filter(None, self.baselines)]:
            first.setdefault(cell.key, cell)
        return list(first.values())

    @property
    def distinct_baselines(self) -> list[Cell]:
        """The left-to-right runs, each once."""
        return list({cell.key: cell for cell in self.baselines if cell}.values())

    @property
    def rows(self) -> list[dict]:
        """What was measured of each text of the grid."""
        return [row for cell in self.cells for row in cell.rows]

    @property
    def failed(self) -> list[str]:
        """Why cells failed, a sentence each."""
        ended = {id(c.trace): c.trace.end for c in self.cells if c.trace and c.trace.end}
        return list(dict.fromkeys(end["message"] for end in ended.values() if end["status"] == "error"))

    def run(self) -> Iterator[Cell]:
        """Each cell after each of its steps, and once more when it is `done` and its texts are measured. Cells that
        give the same texts are run once. A cell that fails keeps what it has, without rows, and the next ones are run.
        Raises RunError when all takes more than twice the budget."""
        everywhere, started = [*self.cells, *filter(None, self.baselines)], time.monotonic()
        for cell in self.distinct:
            for trace in engine.record(cell.recipe, alone=True):
                cell.trace = trace
                if trace.end is None:
                    yield cell
                if time.monotonic() - started > OVERTIME * budget():
                    raise engine.RunError(f"Stopped after {OVERTIME * budget():g} s, twice what was allowed for all.")
            if trace.end["status"] == "finished":
                cell.rows = self._rows(cell)
            for other in everywhere:
                if other.key == cell.key:
                    other.trace, other.rows = cell.trace, [row | other.place for row in cell.rows]
            yield cell
            self.left -= self.expected(cell)

    def finished(self) -> "Study":
        """This study, run to its end. Raises RunError also where no cell has a text."""
        for _ in self.run():
            pass
        return self.checked()

    def checked(self) -> "Study":
        """This study. Raises RunError where no cell has a text."""
        if not self.rows:
            raise engine.RunError(self.failed[0])
        return self

    def expected(self, cell: Cell) -> float:
        """Seconds that a cell is expected to take here."""
        return self._expected[cell.key]

    def _rows(self, cell: Cell) -> list[dict]:
        """What was measured of each text. Rows of a cell are made together, so each takes its share of the time."""
        trace, recipe = cell.trace, cell.recipe
        seconds = trace.seconds / recipe.samples
        rows = []
        for seed, text, tokens in zip(recipe.seeds, trace.texts, trace.written_tokens, strict=True):
            known = {"model": recipe.model, "sampler": recipe.sampler, "steps": len(trace.frames) - 1}
            known |= {"length": recipe.length, "temperature": recipe.temperature} | cell.place | {"seed": seed}
            measured = asdict(Figures.of(text, recipe.prompt, self.judge))
            compared = self.reference.compare(text) if self.reference else {}
            spent = {
                "evaluations": trace.frames[-1]["e"], "seconds": seconds, "tokens": tokens,
                "tokens_per_second": tokens / seconds,
            }  # fmt: skip
            rows.append(known | measured | compared | spent | {"text": text})
        return rows

    def _too_long(self) -> str:
        dear = max(self.distinct, key=self.expected)
        beside = any(dear is cell for cell in self.baselines)
        place = (
            "the left-to-right run" if beside else ", ".join(f"{name} {value}" for name, value in dear.place.items())
        )
        return (
            f"this comparison would take about {speed.duration(self.seconds)} here; "
            f"allowed: {speed.duration(budget())}. "
            f"The dearest cell, {place}, takes {speed.duration(self.expected(dear))}: "
            "leave out the largest values, or take fewer seeds or a shorter length."
        )
