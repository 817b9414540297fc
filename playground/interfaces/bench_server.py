"""Runs started at the same time, which share their forward passes, over the same runs one after another."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from playground.denoisers import zoo
from playground.denoisers.together import PASSES
from playground.engine import record
from playground.recipe import Recipe
from playground.studies.throughput import LENGTH, STEPS, Range

RUNS = (1, 2, 4, 8)  # at the same time; a server lets PLAYGROUND_CONCURRENCY of them go on
PROMPT = "Once upon a time"


@dataclass(frozen=True)
class Together:
    """`runs` runs of one row of LENGTH cells, each with a seed of its own, at once and then one by one.

    `tokens_per_second`: of text that was written, of all runs. `ratio`: at once over one by one, of each repeat.
    `first_step_ms`: from when all runs were asked for to a run's first step; mean of the runs, median of the repeats.
    `passes`: made for the `evaluations` of the runs at once, in all repeats; as many where none was shared.
    `same_texts`: each seed's text is the same both ways and in every repeat."""

    model: str
    family: str
    runs: int
    tokens_per_second: Range
    one_by_one_tokens_per_second: Range
    ratio: Range
    first_step_ms: float
    one_by_one_first_step_ms: float
    passes: int
    evaluations: int
    same_texts: bool


@dataclass(frozen=True)
class Way:
    """All runs, done one way or the other: their texts and tokens by seed; seconds from when they were asked for."""

    texts: list[str]
    tokens: int
    first_step: float  # mean of the runs
    seconds: float
    passes: int
    evaluations: int

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def concurrency(
    models: Sequence[str], repeats: int, progress: Callable[[str], None], counts: Iterable[int] = RUNS
) -> list[dict]:
    """The fields of Together for each model and number of runs. One run of each model warms up."""
    found = []
    for model in models:
        _way(map, model, 1)
        for runs in counts:
            found.append(asdict(_together(model, runs, repeats)))
            progress(f"concurrency, {model}: {runs} at once done")
    return found


def _together(model: str, runs: int, repeats: int) -> Together:
    pairs = []
    for _ in range(repeats):
        with ThreadPoolExecutor(runs) as pool:
            pairs.append((_way(pool.map, model, runs), _way(map, model, runs)))
    at_once, one_by_one = zip(*pairs, strict=True)
    return Together(
        model, zoo.catalogue()[model], runs,
        tokens_per_second=Range.of([way.tokens_per_second for way in at_once]),
        one_by_one_tokens_per_second=Range.of([way.tokens_per_second for way in one_by_one]),
        ratio=Range.of([a.tokens_per_second / b.tokens_per_second for a, b in pairs]),
        first_step_ms=_milliseconds(at_once), one_by_one_first_step_ms=_milliseconds(one_by_one),
        passes=sum(way.passes for way in at_once), evaluations=sum(way.evaluations for way in at_once),
        same_texts=all(way.texts == at_once[0].texts for way in (*at_once, *one_by_one)),
    )  # fmt: skip


def _milliseconds(ways: Sequence[Way]) -> float:
    return round(1000 * statistics.median(way.first_step for way in ways), 1)


def _way(each: Callable, model: str, runs: int) -> Way:
    """Runs of seeds 1, 2, ..., by `map`, or by the map of a pool of threads, which starts them all at once."""
    before, asked = (PASSES.made, PASSES.answered), time.perf_counter()
    texts, tokens, firsts = zip(*each(lambda seed: _run(model, seed), range(1, runs + 1)), strict=True)
    ended = time.perf_counter()
    return Way(
        list(texts), sum(tokens), statistics.mean(firsts) - asked, ended - asked,
        passes=PASSES.made - before[0], evaluations=PASSES.answered - before[1],
    )  # fmt: skip


def _run(model: str, seed: int) -> tuple[str, int, float]:
    """(text, tokens of it that were written, the moment of its first step) of one run."""
    first = None
    fields = {"model": model, "prompt": PROMPT, "length": LENGTH, "steps": STEPS, "seed": seed}
    for trace in record(Recipe.parse(fields)):
        if first is None and len(trace.frames) > 1:
            first = time.perf_counter()
    return trace.text, sum(trace.written_tokens), first
