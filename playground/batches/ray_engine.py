"""Attempts computed by the workers of a Ray cluster, which write nothing; the process that drives them does.

A cluster's machines need this package and its models where Python finds them; a local cluster's workers take them from
here. The settings PLAYGROUND_* of this process go with the work. Ray is optional: requirements-ray.txt.
"""

import os
from collections.abc import Callable
from pathlib import Path

from playground.batches.compute import Failure, attempt
from playground.batches.runner import Attempt
from playground.recipe import RecipeError

MOST_WORKERS = 256
PACKAGE = Path(__file__).resolve().parents[2]


class RayEngine:
    """An engine for a Batch: an existing cluster, `address` or RAY_ADDRESS, else a local one of `workers` processes.
    Each attempt takes one CPU of it. `close` ends what a batch left; `shutdown` lets go of the cluster. Raises
    RecipeError."""

    def __init__(self, address: str | None = None, workers: int = 2, compute: Callable = attempt):
        self._ray, address = _ray(), address or os.environ.get("RAY_ADDRESS") or None
        if address is None and not 1 <= workers <= MOST_WORKERS:
            raise RecipeError("workers", f"{workers} is out of range; allowed: whole numbers from 1 to {MOST_WORKERS}.")
        self._running: dict = {}
        try:
            self._ray.init(**_cluster(address, workers))
        except (OSError, ValueError, RuntimeError) as error:
            said = " ".join(str(error).split())[:200]
            raise RecipeError("engine", f"no Ray cluster at {address or 'this machine'} ({said}).") from None
        self._slots = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._remote = self._ray.remote(num_cpus=1, max_retries=0)(compute)  # tries are counted here

    @property
    def room(self) -> bool:
        return len(self._running) < self._slots

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def start(self, attempt: Attempt) -> None:
        self._running[self._remote.remote(attempt.recipes)] = attempt

    def finished(self) -> tuple[Attempt, list[dict] | Failure]:
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        ended = self._running.pop(ready[0])
        try:
            return ended, self._ray.get(ready[0])
        except self._ray.exceptions.RayError as error:
            said = (str(error).splitlines() or [""])[0][:200]
            return ended, Failure(type(error).__name__, f"a worker was lost ({said}).", True)

    def close(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()

    def shutdown(self) -> None:
        self.close()
        self._ray.shutdown()


def _cluster(address: str | None, workers: int) -> dict:
    """What ray.init is told."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("PLAYGROUND_")}
    options = {"log_to_driver": False, "logging_level": "error", "configure_logging": True}
    if address is not None:
        return options | {"address": address, "runtime_env": {"env_vars": settings}}
    path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    local = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    return options | local | {"runtime_env": {"env_vars": settings | {"PYTHONPATH": path}}}


def _ray():
    """The package, quiet about itself. Raises RecipeError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise RecipeError("engine", "ray is not installed: pip install -r requirements-ray.txt.") from None
    return ray
