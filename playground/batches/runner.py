"""A batch: which items run together, what is tried again, and how far it is."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol

from playground.batches.compute import Failure, attempt, cost, failure, group, shown
from playground.batches.filters import Filters
from playground.batches.items import Item
from playground.recipe import Recipe, RecipeError, typed
from playground.recipe import knob as field_of_run

TRIES = 3
PAUSES = (1.0, 4.0)  # seconds before the second and the third try
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
    """Items that run together, how often they were begun before, and when they may be."""

    items: list[Item]
    tries: int = 0
    due: float = 0.0

    @property
    def recipes(self) -> list[Recipe]:
        return [item.recipe for item in self.items]


class Engine(Protocol):
    """Where attempts are computed. `start` one while there is `room`; `finished` waits for the next that ends."""

    room: bool
    busy: bool

    def start(self, attempt: Attempt) -> None: ...

    def finished(self) -> tuple[Attempt, list[dict] | Failure]: ...

    def close(self) -> None:
        """Let go of everything, also of what is being computed."""


class Local:
    """In this process, one attempt after another."""

    def __init__(self):
        self._next: Attempt | None = None

    @property
    def room(self) -> bool:
        return self._next is None

    @property
    def busy(self) -> bool:
        return self._next is not None

    def start(self, attempt: Attempt) -> None:
        self._next = attempt

    def finished(self) -> tuple[Attempt, list[dict] | Failure]:
        now, self._next = self._next, None
        return now, attempt(now.recipes)

    def close(self) -> None:
        self._next = None


class Batch:
    """Items being run. `run` yields each Result as it is there; `done`, `failed`, `total` and `left`, the seconds that
    the rest is expected to take (None before anything is known), say how far it is."""

    def __init__(
        self, items: Sequence[Item], rows: int = 16, filters: Filters | None = None, engine: Engine | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ):  # fmt: skip
        self.items, self.rows, self.filters = list(items), rows, filters or Filters()
        self.engine, self._sleep = engine or Local(), sleep
        self.done = self.failed = 0
        self.total = len(self.items)
        self._work, self._ended, self._started = sum(cost(i.recipe) for i in self.items if i.recipe), 0, 0.0

    @property
    def left(self) -> float | None:
        """Seconds, if the rest goes on like what is done, in cells evaluated."""
        spent = time.monotonic() - self._started
        return spent * (self._work - self._ended) / self._ended if self._ended else None

    def run(self) -> Iterator[Result]:
        """Every Result as soon as it is there. A failed attempt of several items is tried again item by item, an item
        up to three times in all if the failure may pass. Close the iterator to stop."""
        self._started = time.monotonic()
        waiting = []
        try:
            for planned in self._planned():
                if isinstance(planned, Result):
                    yield self._counted(planned, None)
                else:
                    waiting.append(planned)
            while waiting or self.engine.busy:
                self._begin(waiting)
                if not self.engine.busy:
                    self._sleep(max(0.0, waiting[0].due - time.monotonic()))
                    continue
                yield from self._ends(*self.engine.finished(), waiting)
        finally:
            self.engine.close()

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
            self.engine.start(waiting.pop(0))

    def _ends(self, ended: Attempt, found: list[dict] | Failure, waiting: list[Attempt]) -> Iterator[Result]:
        tries = ended.tries + 1
        if not isinstance(found, Failure):
            for item, outcome in zip(ended.items, found, strict=True):
                yield self._counted(self._done(item, outcome, tries), item)
        elif len(ended.items) > 1 or (found.may_pass and tries < TRIES):
            due = time.monotonic() + PAUSES[tries - 1] if found.may_pass else 0.0
            waiting += [Attempt([item], tries, due) for item in ended.items]
        else:
            yield self._counted(_failed(ended.items[0], found, tries), ended.items[0])

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
