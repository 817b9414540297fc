"""A batch: which items run together, what is tried again, and how far it is."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Protocol

from playground.batches.compute import Failure, attempting, cost, failure, group, shown
from playground.batches.filters import Filters
from playground.batches.items import Item
from playground.recipe import Recipe, RecipeError, typed
from playground.recipe import knob as field_of_run
from playground.studies import speed

TRIES = 3
PAUSES = (1.0, 4.0)  # seconds before the second and the third try
OVERTIME = 2
FIGURES = ("tokens", "seconds", "perplexity", "entropy", "distinct_2", "repetition")


@dataclass(frozen=True)
class Rows:
    """How many rows run together at most."""

    rows: int = field_of_run(16, "Rows", "Rows that run together at most; the texts do not depend on it.", 1, 256)

    @classmethod
    def parse(cls, value) -> int:
        """Raises RecipeError."""
        f = cls.__dataclass_fields__["rows"]
        rows = f.default if value is None else typed(f, value)
        if not f.metadata["low"] <= rows <= f.metadata["high"]:
            raise RecipeError("rows", f"{rows} is out of range; allowed: whole numbers from 1 to 256.")
        return rows


@dataclass
class Result:
    """What became of an item: `status` done, with its text and figures, or failed, with the `error`. `recipe` has the
    fields that give the same text with `playground.generate` (an item without one: what was given), `seconds` the
    item's share of the computing, `tries` how often it was begun."""

    index: int
    place: str
    id: str | None
    status: str
    recipe: object
    text: str | None = None
    texts: list[str] | None = None
    tokens: int | None = None
    seconds: float | None = None
    perplexity: float | None = None
    entropy: float | None = None
    distinct_2: float | None = None
    repetition: float | None = None
    marks: list[str] = field(default_factory=list)
    error: str | None = None
    tries: int = 0
    kind: str | None = None  # of the error, for a log that holds no prompts

    def to_dict(self) -> dict:
        """For files and interfaces; `texts` only where there are several."""
        found = asdict(self)
        left_out = ["kind"] + ["texts"] * (self.texts is None or len(self.texts) < 2)
        return {name: value for name, value in found.items() if name not in left_out}


@dataclass
class Attempt:
    """Items that run together, how often they were begun before, when they may be, and what share of them is done."""

    items: list[Item]
    tries: int = 0
    due: float = 0.0
    share: float = 0.0

    @property
    def recipes(self) -> list[Recipe]:
        return [item.recipe for item in self.items]

    @property
    def cost(self) -> int:
        return sum(map(cost, self.recipes))

    @property
    def expected(self) -> float:
        """Seconds it is expected to take here."""
        rows = sum(recipe.samples for recipe in self.recipes)
        return speed.expected(replace(self.recipes[0], samples=rows))


class Engine(Protocol):
    """Where attempts are computed. `start` one while there is `room`; `finished` waits for the next that ends, or says
    None when none has and it is time to look around."""

    room: bool
    busy: bool

    def start(self, attempt: Attempt) -> None: ...

    def finished(self) -> tuple[Attempt, list[dict] | Failure] | None: ...

    def close(self) -> None:
        """Let go of everything, also of what is being computed."""


class Local:
    """In this process, one attempt after another, and step after step."""

    def __init__(self):
        self._now: Attempt | None = None
        self._steps: Iterator = iter(())

    @property
    def room(self) -> bool:
        return self._now is None

    @property
    def busy(self) -> bool:
        return self._now is not None

    def start(self, attempt: Attempt) -> None:
        self._now, self._steps = attempt, attempting(attempt.recipes)

    def finished(self) -> tuple[Attempt, list[dict] | Failure] | None:
        found = next(self._steps)
        if isinstance(found, float):
            self._now.share = found
            return None
        ended, self._now = self._now, None
        return ended, found

    def close(self) -> None:
        self._now, self._steps = None, iter(())


class Batch:
    """Items being run. `run` yields each Result as it is there; `done`, `failed`, `total`, `running`, the attempts that
    are being computed, `share` of all the work, and `left`, the seconds that the rest is expected to take (None before
    anything is known), say how far it is. With a `limit`, in seconds, one that takes more than twice as long is ended.
    """

    def __init__(
        self, items: Sequence[Item], rows: int = 16, filters: Filters | None = None, engine: Engine | None = None,
        limit: float | None = None, sleep: Callable[[float], None] = time.sleep,
    ):  # fmt: skip
        self.items, self.rows, self.filters = list(items), rows, filters or Filters()
        self.engine, self.limit, self._sleep = engine or Local(), limit, sleep
        self.done = self.failed = 0
        self.total = len(self.items)
        self.running: list[Attempt] = []
        self._work, self._ended, self._started = sum(cost(i.recipe) for i in self.items if i.recipe), 0, 0.0

    @property
    def share(self) -> float:
        """0 to 1, in cells evaluated."""
        now = sum(attempt.share * attempt.cost for attempt in self.running)
        return (self._ended + now) / self._work if self._work else 1.0

    @property
    def left(self) -> float | None:
        """Seconds, if the rest goes on like what is done."""
        spent = time.monotonic() - self._started
        return spent * (1 - self.share) / self.share if self.share else None

    @cached_property
    def expected(self) -> float:
        """Seconds that all of it is expected to take in this process."""
        return sum(planned.expected for planned in self._plan if isinstance(planned, Attempt))

    def checked(self) -> "Batch":
        """This batch. Raises RecipeError where it is expected to take longer than its limit."""
        if self.limit is not None and self.expected > self.limit:
            raise RecipeError(
                "items", f"would take about {speed.duration(self.expected)} here; "
                f"allowed: {speed.duration(self.limit)}. "
                "Take fewer of them, fewer steps or a shorter length.",
            )  # fmt: skip
        return self

    def run(self) -> Iterator[Result]:
        """Every Result as soon as it is there. A failed attempt of several items is tried again item by item, an item
        up to three times in all if the failure may pass. Close the iterator to stop."""
        with closing(self.live()) as found:
            yield from (result for result in found if result is not None)

    def live(self) -> Iterator[Result | None]:
        """As `run`, and None after each step that ends nothing, so that whoever reads can look around, or stop."""
        self._started = time.monotonic()
        waiting = []
        try:
            for planned in self._plan:
                if isinstance(planned, Result):
                    yield self._counted(planned, None)
                else:
                    waiting.append(planned)
            while waiting or self.engine.busy:
                if self.limit is not None and time.monotonic() - self._started > OVERTIME * self.limit:
                    yield from self._given_up([*self.running, *waiting])
                    return
                self._begin(waiting)
                if not self.engine.busy:
                    self._sleep(max(0.0, waiting[0].due - time.monotonic()))
                    continue
                ended = self.engine.finished()
                if ended is None:
                    yield None
                else:
                    yield from self._ends(*ended, waiting)
        finally:
            self.engine.close()

    @cached_property
    def _plan(self) -> list[Result | Attempt]:
        return list(self._planned())

    def _planned(self) -> Iterator[Result | Attempt]:
        """Items that cannot be run, as Results; the others, those together that change nothing of each other, in the
        order of the first of each attempt."""
        groups: dict[tuple, list[Item]] = {}
        for item in self.items:
            if item.recipe is None:
                yield _failed(item, Failure(item.kind or "unreadable", item.error, False), 0)
                continue
            try:
                key = group(item.recipe)
            except Exception as error:
                yield _failed(item, failure(error), 0)
                continue
            groups.setdefault(("alone", item.index) if key is None else key, []).append(item)
        packed = [items for found in groups.values() for items in _packed(found, self.rows)]
        yield from (Attempt(items) for items in sorted(packed, key=lambda items: items[0].index))

    def _begin(self, waiting: list[Attempt]) -> None:
        waiting.sort(key=lambda attempt: attempt.due)
        while waiting and self.engine.room and waiting[0].due <= time.monotonic():
            self.running.append(waiting.pop(0))
            self.engine.start(self.running[-1])

    def _ends(self, ended: Attempt, found: list[dict] | Failure, waiting: list[Attempt]) -> Iterator[Result]:
        tries = ended.tries + 1
        self.running.remove(ended)
        if not isinstance(found, Failure):
            for item, outcome in zip(ended.items, found, strict=True):
                yield self._counted(self._done(item, outcome, tries), item)
        elif len(ended.items) > 1 or (found.may_pass and tries < TRIES):
            due = time.monotonic() + PAUSES[tries - 1] if found.may_pass else 0.0
            waiting += [Attempt([item], tries, due) for item in ended.items]
        else:
            yield self._counted(_failed(ended.items[0], found, tries), ended.items[0])

    def _given_up(self, attempts: list[Attempt]) -> Iterator[Result]:
        self.running = []
        why = Failure("time", f"not finished: all together passed {OVERTIME * self.limit:g} s.", False)
        for attempt in attempts:
            for item in attempt.items:
                yield self._counted(_failed(item, why, attempt.tries), item)

    def _done(self, item: Item, outcome: dict, tries: int) -> Result:
        said = [outcome[name] for name in ("text", "tokens", "perplexity", "repetition")]
        marks = self.filters.marks(*said)
        return Result(item.index, item.place, item.id, "done", shown(item.recipe), marks=marks, tries=tries, **outcome)

    def _counted(self, result: Result, item: Item | None) -> Result:
        self.done += result.status == "done"
        self.failed += result.status == "failed"
        self._ended += cost(item.recipe) if item else 0
        return result


def run(items: Sequence[Item], **options) -> Iterator[Result]:
    """The Results of items as they are there, with the options of a Batch."""
    yield from Batch(items, **options).run()


def _packed(items: list[Item], rows: int) -> Iterator[list[Item]]:
    """As many items together as make up to `rows` rows; one of more rows alone."""
    batch: list[Item] = []
    for item in items:
        if batch and sum(i.recipe.samples for i in batch) + item.recipe.samples > rows:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _failed(item: Item, why: Failure, tries: int) -> Result:
    said = why.reason if why.reason.startswith(item.place) else f"{item.place}: {why.reason}"
    recipe = item.given if item.recipe is None else shown(item.recipe)
    return Result(item.index, item.place, item.id, "failed", recipe, error=said, tries=tries, kind=why.kind)
