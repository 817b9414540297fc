"""The same results from the workers of a local cluster. Skipped without ray."""

import builtins
import os

import pytest

from playground.batches import items
from playground.batches.compute import Failure
from playground.batches.ray_engine import RayEngine
from playground.batches.runner import Batch, run
from playground.recipe import RecipeError

GIVEN = ["Once upon a time", "The dog", "Lily had a red ball", {"text": "Tom was [[very sad]] and ran."}, {"steps": 0},
         {"prompt": "Sue", "samples": 2}, {"prompt": "Tom", "model": "stories-autoregressive"}]  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    """A local cluster of two workers, shared: a cluster takes seconds to start."""
    pytest.importorskip("ray")
    made = RayEngine(workers=2)
    yield made
    made.shutdown()


def found():
    return items.listed(GIVEN, items.checked({"model": "stories-masked", "length": 12, "steps": 3, "seed": 5}))


def told(results) -> list[dict]:
    kept = sorted((result.to_dict() for result in results), key=lambda result: result["index"])
    return [{name: value for name, value in result.items() if name != "seconds"} for result in kept]


def dies(recipes):
    os._exit(1)


def test_the_same_results_as_here(cluster):
    assert told(run(found(), rows=2, engine=cluster)) == told(run(found()))
    assert told(run(found(), rows=16, engine=cluster)) == told(run(found(), rows=1))


def test_a_worker_that_is_lost_is_a_failure_that_may_pass(cluster, monkeypatch):
    monkeypatch.setattr("playground.batches.runner.PAUSES", (0.0, 0.0))
    working, cluster._remote = cluster._remote, cluster._ray.remote(num_cpus=1, max_retries=0)(dies)
    try:
        (result,) = Batch(found()[:1], engine=cluster).run()
    finally:
        cluster._remote = working
    assert (result.status, result.tries) == ("failed", 3) and "a worker was lost" in result.error
    cluster.start(type("One", (), {"recipes": [found()[0].recipe]})())
    assert not isinstance(cluster.finished()[1], Failure)


def test_without_ray_it_is_said_what_to_install(monkeypatch):
    importing = builtins.__import__

    def without(name, *rest, **named):
        if name == "ray":
            raise ImportError
        return importing(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RecipeError, match=r"^engine: ray is not installed: pip install -r requirements-ray\.txt\.$"):
        RayEngine()


def test_a_number_of_workers_that_cannot_be(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(RecipeError, match=r"^workers: 0 is out of range"):
        RayEngine(workers=0)
