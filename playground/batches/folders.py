"""Batches on the disk, which go on where they were stopped.

    OUT/output/NAME.jsonl, NAME.csv   the results of the input file NAME that are done, in the order of its items
    OUT/failed/NAME.jsonl             items that failed: what was given, and why
    OUT/processed/NAME                the input file, once all its items are in one of the two
    OUT/work/NAME/                    its settings and drawn seed; while it runs, a file for each result
    OUT/log.jsonl, lock               what happened when; held by the process that writes here

NAME is the whole name, ending included, so a.txt and a.csv do not meet. Inputs are copied to processed/, never moved:
what is yours stays as it is, and the copy, which is the file as it was read, tells a later run that nothing is left to
do. Results are files of their own as soon as they are reported, so a process that is killed loses only what it was
computing; the next one computes that and nothing else. Other settings, or other bytes under the same name, are refused:
their results are never mixed.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from playground.batches import items as reading
from playground.batches import jobs, storage, tables
from playground.batches.filters import Filters
from playground.batches.items import Item
from playground.batches.jobs import Job
from playground.batches.runner import Batch, Engine, Result
from playground.denoisers import zoo
from playground.recipe import RecipeError

VERSION = 1


class Folder:
    """An output folder made ready: inputs read, earlier work found. Raises RecipeError, before anything is written,
    on what cannot be done; `ignored` are files of the input folder that are no inputs."""

    def __init__(self, source: Path | str, place: Path | str, knobs: Mapping, filters: Filters | None = None):
        self.place, self.filters, self.base = Path(place), filters or Filters(), reading.checked(knobs)
        paths, self.ignored = jobs.inputs(Path(source), self.place)
        self.jobs = [jobs.made(path, self.place, self._settings()) for path in paths]

    def _settings(self) -> dict:
        device = zoo.chosen_device()
        about = {"version": VERSION, "device": device, "dtype": zoo.checked_dtype(None, device)}
        fields = {name: value for name, value in self.base.items() if (name, value) != ("seed", -1)}
        return json.loads(json.dumps(about | {"fields": fields, "filters": self.filters.to_dict()}))

    def run(self, rows: int = 16, engine: Engine | None = None) -> Iterator[tuple[Job, Batch | None]]:
        """Each job with its batch, as it begins, after each result, which is on the disk by then, and with None as it
        ends. Holds the folder meanwhile. Raises RecipeError as well if another process holds it, and OSError."""
        with storage.locked(storage.folder(self.place)):
            log = storage.Log(self.place / "log.jsonl")
            for job in self.jobs:
                jobs.find(job)  # once more: another process may have been here
            for job in self.jobs:
                yield from self._job(job, rows, engine, log)

    def _job(self, job: Job, rows: int, engine: Engine | None, log: storage.Log) -> Iterator[tuple[Job, Batch | None]]:
        started = time.monotonic()
        if job.state == "finished":
            job.done, job.failed = (_count(job.place / kind / f"{job.name}.jsonl") for kind in ("output", "failed"))
            job.total = job.repeated = job.done + job.failed
            _clear(job)
        elif job.error or not (found := self._items(job)):
            _refuse(job, log)
        else:
            yield from self._items_of(job, found, rows, engine, log)
            _finish(job, found)
            job.state, job.seconds = "finished", time.monotonic() - started
            log.add("finished", file=storage.printable(job.name), seconds=round(job.seconds, 3))
        yield job, None

    def _items(self, job: Job) -> list[Item]:
        """The items of a job, with the seed that is kept for it; none if they cannot be read."""
        seed = json.loads(job.plan.read_text(encoding="utf-8"))["seed"] if job.state == "begun" else None
        base = reading.drawn(self.base) if seed is None else self.base | {"seed": seed}
        try:
            found = reading.read(job.name, job.data, base)
        except RecipeError as error:
            job.error = str(error)
            return []
        if seed is None:
            storage.folder(job.work)
            storage.write(
                job.plan, tables.line({"seed": base["seed"], "settings": job.settings, "input": jobs.hashed(job)})
            )
        job.seed, job.total, job.state = base["seed"], len(found), "begun"
        return found

    def _items_of(self, job: Job, found: list[Item], rows: int, engine: Engine | None, log: storage.Log):
        kept = [item for item in found if job.file(item.index).exists()]
        for item in kept:
            failed = json.loads(job.file(item.index).read_text(encoding="utf-8"))["status"] == "failed"
            job.done, job.failed, job.repeated = job.done + (not failed), job.failed + failed, job.repeated + 1
        log.add("begun", file=storage.printable(job.name), items=job.total, there=job.repeated)
        batch = Batch([item for item in found if item not in kept], rows, self.filters, engine)
        yield job, batch
        for result in batch.run():
            storage.write(job.file(result.index), tables.line(result.to_dict()))
            job.done, job.failed = job.done + (result.status == "done"), job.failed + (result.status == "failed")
            _log(log, job, result)
            yield job, batch


def _log(log: storage.Log, job: Job, result: Result) -> None:
    about = {"item": result.index, "place": result.place, "seconds": result.seconds, "tries": result.tries}
    log.add(result.status, file=storage.printable(job.name), **about, error=result.kind)


def _refuse(job: Job, log: storage.Log) -> None:
    """A file of which no item can be read: said in failed/, and tried again by the next run."""
    job.state = "unreadable"
    if len(os.fsencode(job.name)) + jobs.ENDINGS <= 255:
        about = {"file": storage.printable(job.name), "error": job.error}
        storage.write(storage.folder(job.place / "failed") / f"{job.name}.jsonl", tables.line(about))
    log.add("unreadable", file=storage.printable(job.name))


def _finish(job: Job, found: list[Item]) -> None:
    """All results in their files, in the order of the items; then, as the last thing, the input's copy."""
    results = [json.loads(job.file(item.index).read_text(encoding="utf-8")) for item in found]
    done = [result for result in results if result["status"] == "done"]
    failed = [
        tables.line({"place": item.place, "id": item.id, "given": item.given, "error": result["error"],
                     "tries": result["tries"]})
        for item, result in zip(found, results, strict=True) if result["status"] == "failed"
    ]  # fmt: skip
    output, failures = storage.folder(job.place / "output"), storage.folder(job.place / "failed")
    storage.write(output / f"{job.name}.jsonl", tables.jsonl(done))
    storage.write(output / f"{job.name}.csv", tables.csv_text(done))
    if failed:
        storage.write(failures / f"{job.name}.jsonl", "".join(failed))
    else:
        (failures / f"{job.name}.jsonl").unlink(missing_ok=True)  # said of this file when it could not be read
    storage.folder(job.processed.parent)
    storage.write(job.processed, job.data)
    _clear(job)


def _clear(job: Job) -> None:
    """Take away the files of single results, which are in the job's own by now."""
    for path in job.work.glob("[0-9]*.json"):
        path.unlink()


def _count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
