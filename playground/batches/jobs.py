"""The jobs of an output folder: its input files, and what earlier runs left of them."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from playground.batches import items as reading
from playground.batches import storage
from playground.engine import RunError
from playground.recipe import RecipeError

ENDINGS = len(".jsonl")  # what is put after a name


@dataclass
class Job:
    """An input file and what has become of it: `state` new, begun, finished, or unreadable with the `error`."""

    name: str
    data: bytes
    place: Path  # the output folder
    settings: dict
    state: str = "new"
    error: str | None = None
    seed: int | None = None
    done: int = 0
    failed: int = 0
    total: int = 0
    repeated: int = 0  # results that were there already
    seconds: float = 0.0

    @property
    def work(self) -> Path:
        return self.place / "work" / self.name

    @property
    def plan(self) -> Path:
        return self.work / "plan.json"

    @property
    def processed(self) -> Path:
        return self.place / "processed" / self.name

    def file(self, index: int) -> Path:
        return self.work / f"{index:06}.json"

    def facts(self) -> dict:
        """For machines."""
        names = ("state", "error", "seed", "done", "failed", "total", "repeated")
        about = {"file": storage.printable(self.name)} | {name: getattr(self, name) for name in names}
        return about | {"seconds": round(self.seconds, 3)}


def inputs(source: Path, place: Path) -> tuple[list[Path], list[str]]:
    """The input files, in the order of their names, and the names of other files beside them; folders inside are not
    entered. Raises RecipeError."""
    if not source.exists():
        raise RecipeError("input", f"{storage.printable(source)} is not there.")
    if place.exists() and not place.is_dir():
        raise RecipeError("output", f"{storage.printable(place)} is a file; a folder is needed.")
    inside = source.resolve() if source.is_dir() else source.resolve().parent
    if inside == place.resolve() or place.resolve() in inside.parents:
        raise RecipeError("output", f"{storage.printable(place)} holds the input; choose another folder.")
    if not source.is_dir():
        reading.kind_of(source.name)
        return [source], []
    files = sorted(path for path in source.iterdir() if path.is_file())
    taken = [path for path in files if path.name.lower().endswith(reading.KINDS)]
    if not taken:
        kinds = ", ".join(reading.KINDS)
        raise RecipeError("input", f"{storage.printable(source)} has no file that ends in {kinds}.")
    return taken, [path.name for path in files if path not in taken]


def made(path: Path, place: Path, settings: dict) -> Job:
    """The job of an input file, with what is there of it. Raises RecipeError, as `find`."""
    job = Job(path.name, b"", place, settings)
    if len(os.fsencode(path.name)) + ENDINGS > 255:
        job.error = f"file: its name has {len(os.fsencode(path.name))} bytes; allowed: {255 - ENDINGS}."
        return job
    try:
        job.data = reading.file_bytes(path)
    except OSError as error:
        job.error = f"file: cannot be read ({error.strerror})."
        return job
    find(job)
    return job


def hashed(job: Job) -> str:
    """What the bytes of an input are known by."""
    return hashlib.sha256(job.data).hexdigest()


def find(job: Job) -> None:
    """What earlier runs left of a job. Raises RecipeError where it is of something else."""
    if job.error:
        return
    name, elsewhere = storage.printable(job.name), "choose another output folder."
    ends = [job.processed, *(job.place / "output" / f"{job.name}.{kind}" for kind in ("jsonl", "csv"))]
    if not job.plan.exists():
        if there := next((path for path in ends if path.exists()), None):
            raise RecipeError("output", f"{storage.printable(there)} is there and not from a batch; {elsewhere}")
        return
    try:
        plan = json.loads(job.plan.read_text(encoding="utf-8"))
        before, seed, found = plan["settings"], plan["seed"], plan["input"]
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{storage.printable(job.plan)} is damaged; {elsewhere}") from None
    if found != hashed(job):
        raise RecipeError("input", f"{name} has changed since its results were begun there; {elsewhere}")
    said = _difference(before, job.settings)
    if said:
        raise RecipeError("output", f"the results of {name} there were made with {said}; {elsewhere}")
    job.state, job.seed = ("finished" if job.processed.exists() else "begun"), seed


def _difference(before: Mapping, now: Mapping) -> str:
    """Which setting differs, and how."""
    flat = [dict(s) | dict(s["fields"]) | dict(s["filters"]) for s in (before, now)]
    names = [name for name in dict.fromkeys([*flat[0], *flat[1]]) if name not in ("fields", "filters")]
    told = ["not given" if name not in s else repr(s[name])[:40] for name in names for s in flat]
    pairs = zip(names, told[::2], told[1::2], strict=True)
    return ", ".join(f"{name} {then} and not {today}" for name, then, today in pairs if then != today)
