"""One prompt through several models and samplers side by side: its settings, and its run as a Trace a lane."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from playground.denoisers import zoo
from playground.engine import Run
from playground.quality import Judge
from playground.recipe import Recipe, RecipeError, knob
from playground.samplers import SAMPLERS
from playground.studies.figures import Figures, judge
from playground.studies.grid import budget
from playground.studies.speed import duration, expected
from playground.trace import Trace, dumps

FORMAT, VERSION = "diffusion-lm-playground/race", 1
SHARED = ["prompt", "length", "steps", "temperature", "seed"]
FEWEST, MOST = 2, 4
HONEST = (
    "All lanes get the same prompt and length, and a clock counts only its own lane's computing. The models that come "
    "with the app have the same size and corpus, so what differs is how they write. On a CPU, with one row at a time, "
    "filling the row at once can win because it needs fewer passes; with many rows or on a GPU the picture changes. "
    "A race of small models says nothing on which kind is better when large, and numbers published for data-centre "
    "GPUs, such as 1,500 or 2,082 tokens/s, are not comparable with these."
)


@dataclass(frozen=True)
class Race:
    """A race. Build it with `Race.parse`, which checks every field; `recipe` holds the knobs that the lanes share,
    SHARED."""

    lanes: tuple[str, ...] = knob(
        (), "Lanes", "2 to 4 of model or model:sampler, as in stories-masked:threshold; not given, one of each family."
    )  # fmt: skip
    recipe: Recipe = field(default_factory=Recipe)

    @classmethod
    def parse(cls, values: Mapping) -> "Race":
        """A checked race from loosely typed values; `lanes` is a list, or text with commas; absent fields take their
        defaults. Raises RecipeError."""
        for name in values:
            if name not in ("lanes", *SHARED):
                known = ", ".join(["lanes", *SHARED])
                raise RecipeError(str(name)[:40], f"there is no such field; the fields are {known}.")
        recipe = Recipe.parse({name: values[name] for name in SHARED if name in values})
        given = values.get("lanes")
        lanes = usual_lanes() if given is None else tuple(_lane(entry) for entry in _entries(given))
        if not FEWEST <= len(lanes) <= MOST:
            raise RecipeError("lanes", f"are {len(lanes)}; allowed: {FEWEST} to {MOST}.")
        twice = next((lane for lane in lanes if lanes.count(lane) > 1), None)
        if twice is not None:
            raise RecipeError("lanes", f"{twice} is there twice; each lane needs a model or sampler of its own.")
        return cls(lanes, recipe)

    def resolved(self) -> "Race":
        """This race with a seed: -1 is drawn here, once for all lanes."""
        return replace(self, recipe=self.recipe.resolved())

    @property
    def recipes(self) -> list[Recipe]:
        """The recipe of each lane."""
        pairs = (lane.split(":") for lane in self.lanes)
        return [replace(self.recipe, model=model, sampler=sampler) for model, sampler in pairs]

    def to_dict(self) -> dict:
        return {"lanes": list(self.lanes)} | {name: getattr(self.recipe, name) for name in SHARED}


def contenders() -> list[str]:
    """Every lane there can be here, as model:sampler."""
    return [f"{model}:{sampler}" for model, family in zoo.catalogue().items() for sampler in SAMPLERS[family]]


def usual_lanes() -> tuple[str, ...]:
    """The first model of each family with its first sampler; where there is one family, its first samplers."""
    firsts = {}
    for model, family in zoo.catalogue().items():
        firsts.setdefault(family, f"{model}:{next(iter(SAMPLERS[family]))}")
    return tuple(firsts.values() if len(firsts) >= FEWEST else contenders()[:MOST])


def _entries(given) -> list:
    if isinstance(given, str):
        return [entry.strip() for entry in given.split(",") if entry.strip()]
    if isinstance(given, list | tuple):
        return list(given)
    raise RecipeError("lanes", f"{str(given)[:40]!r} is neither a list nor text.")


def _lane(entry) -> str:
    """`model` or `model:sampler` -> model:sampler."""
    if not isinstance(entry, str):
        raise RecipeError("lanes", f"{str(entry)[:40]!r} is not text.")
    model, _, sampler = entry.partition(":")
    families = zoo.catalogue()
    if model not in families:
        raise RecipeError("lanes", f"{model[:40]!r} is no model; allowed: {', '.join(families)}.")
    samplers = SAMPLERS[families[model]]
    if sampler and sampler not in samplers:
        raise RecipeError("lanes", f"{sampler[:40]!r} is no sampler of {model}; allowed: {', '.join(samplers)}.")
    return f"{model}:{sampler or next(iter(samplers))}"


@dataclass
class Heat:
    """A race as it runs: a Trace for each lane, and when all have ended what each came to.

    `results` has for each lane {lane, place: 1 is the quickest, null where it failed; evaluations; seconds of its own
    computing; tokens_per_second written; perplexity, entropy, distinct_2, repetition: see studies.figures; null where
    it failed}. `judge` names who found the perplexity, null for nobody.

    Its file, and the live stream, whose messages are {run, seq, lanes: [[lane, message of its trace], ...]} with race
    and vocabulary in the first and the last, and results and judge in the last:

        {"format": "diffusion-lm-playground/race", "version": 1, "race": fields, "vocabulary": [...],
         "lanes": [trace, ...], "results": results or null, "judge": name or null}

    A lane's head lacks its vocabulary where it is that of the first lane.
    """

    race: Race
    traces: list[Trace]
    results: list[dict] | None = None
    judge: str | None = None
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    untold: list[list] = field(default_factory=list)  # [lane, message of its trace] since the last message

    @property
    def running(self) -> list[int]:
        return [lane for lane, trace in enumerate(self.traces) if trace.end is None]

    @property
    def failed(self) -> list[int]:
        return [lane for lane, trace in enumerate(self.traces) if trace.end and trace.end["status"] == "error"]

    @property
    def places(self) -> list[int | None]:
        """Of each lane; equal times share a place."""
        times = {lane: trace.seconds for lane, trace in enumerate(self.traces) if lane not in self.failed}
        return [
            1 + sum(other < times[lane] for other in times.values()) if lane in times else None
            for lane in range(len(self.traces))
        ]

    def score(self) -> None:
        """Fill in `results`, once no lane runs."""
        reader = judge()
        self.judge = reader.name if reader else None
        lanes = zip(self.race.lanes, self.places, self.traces, strict=True)
        self.results = [_result(name, place, trace, reader) for name, place, trace in lanes]

    def tell(self, lane: int) -> None:
        """Have the newest of a lane in the next message."""
        self.untold.append([lane, self._shortened(self.traces[lane].news())])

    def message(self) -> str:
        """What is new since the last message, as one line of JSON."""
        said = sum(len(trace.frames) - 1 + (trace.end is not None) for trace in self.traces)
        last = self.results is not None
        message = {"run": self.run, "seq": said + last}
        message |= {"race": self.race.to_dict(), "vocabulary": self._vocabulary} if last or said == 0 else {}
        message |= {"lanes": self.untold}
        self.untold = []
        return dumps(message | ({"results": self.results, "judge": self.judge} if last else {}))

    def to_json(self) -> str:
        return dumps(
            {
                "format": FORMAT, "version": VERSION, "race": self.race.to_dict(), "vocabulary": self._vocabulary,
                "lanes": [self._shortened(trace.to_dict()) for trace in self.traces],
                "results": self.results, "judge": self.judge,
            }
        )  # fmt: skip

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @property
    def _vocabulary(self) -> list:
        return self.traces[0].head["vocabulary"]

    def _shortened(self, told: dict) -> dict:
        """A trace or message of it without the vocabulary that all lanes share."""
        if told.get("head", {}).get("vocabulary") != self._vocabulary:
            return told
        return told | {"head": {key: value for key, value in told["head"].items() if key != "vocabulary"}}


def record(race: Race) -> Iterator[Heat]:
    """A race as a Heat that grows: yielded before the first step, after each step of a lane and each end of one, and
    once more with the results. The lane with the least compute time behind it goes next, so the lanes are where they
    would be if each had the machine to itself; a lane's end comes when no other can still be before it. A lane that
    fails ends with an error, and the others go on. Raises RecipeError or ModelError before any computing."""
    race = race.resolved()
    runs = [Run(recipe, alone=True).record() for recipe in race.recipes]
    seconds = sum(map(expected, race.recipes))
    if seconds > budget():
        raise RecipeError(
            "steps", f"this race would take about {duration(seconds)} here; allowed: {duration(budget())}. "
            "Take fewer steps, a shorter length or fewer lanes.",
        )  # fmt: skip
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(closing(run))
        heat = Heat(race, [next(run) for run in runs])
        for lane in range(len(runs)):
            heat.tell(lane)
        yield heat
        while heat.running:
            lane = min(heat.running, key=lambda lane: heat.traces[lane].seconds)
            next(runs[lane])
            heat.tell(lane)
            yield heat
        for lane in range(len(runs)):
            heat.tell(lane)
        heat.score()
        yield heat


def _result(name: str, place: int | None, trace: Trace, reader: Judge | None) -> dict:
    figures = dict.fromkeys(["tokens_per_second", *(f.name for f in fields(Figures))])
    if place is not None:
        found = asdict(Figures.of(trace.text, trace.recipe.prompt, reader))
        found["tokens_per_second"] = trace.tokens_per_second
        figures = {name: found[name] if found[name] is None else round(found[name], 4) for name in figures}
    return {"lane": name, "place": place, "evaluations": trace.frames[-1]["e"], "seconds": trace.seconds} | figures
