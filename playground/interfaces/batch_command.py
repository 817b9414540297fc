"""`python -m playground batch`: a file or a folder of prompts, into a folder that goes on where it was stopped."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from tqdm import tqdm

from playground.batches import folders
from playground.batches.filters import Filters
from playground.batches.items import KNOBS as RECIPE
from playground.batches.jobs import Job
from playground.batches.request import FILTERS, SHARED
from playground.batches.runner import Engine, Rows
from playground.batches.storage import printable
from playground.recipe import RecipeError

FAILED, STOPPED = 1, 130
KNOBS = [*(RECIPE[name] for name in SHARED), *fields(Filters), *fields(Rows)]


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes besides KNOBS."""
    parser.add_argument("--input", required=True, help="A .txt, .csv or .jsonl file, or a folder of them.")
    parser.add_argument("--output", required=True, help="The folder for results; run again to go on in it.")
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="Where it is computed.")
    parser.add_argument("--address", help="The Ray cluster; RAY_ADDRESS or a local one if not given.")
    parser.add_argument("--workers", type=int, default=2, help="Processes of a local Ray cluster.")
    parser.add_argument("--json", action="store_true", help="Print a summary as one line of JSON.")


def run(options) -> int:
    """Run every prompt of a file or of a folder of files; stopped at any moment, it goes on where it was."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    rows = Rows.parse(given.get("rows"))
    filters = Filters.parse({name: given[name] for name in FILTERS if name in given})
    knobs = {name: given[name] for name in SHARED if name in given}
    folder = folders.Folder(options.input, options.output, knobs, filters)
    if folder.ignored:
        print(f"Not read: {', '.join(map(printable, folder.ignored))}.", file=sys.stderr)
    try:
        with _engine(options) as engine:
            _run(folder, rows, engine)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here, and nothing that is done is repeated.", file=sys.stderr)
        return STOPPED
    if options.json:
        print(json.dumps(_summary(folder.jobs), ensure_ascii=False))
    return FAILED if any(job.failed or job.error for job in folder.jobs) else 0


@contextmanager
def _engine(options) -> Iterator[Engine | None]:
    if options.engine == "local":
        if options.address is not None:
            raise RecipeError("address", "is of a Ray cluster; add --engine ray.")
        yield None
        return
    from playground.batches.ray_engine import RayEngine

    engine = RayEngine(options.address, options.workers)
    try:
        yield engine
    finally:
        engine.shutdown()


def _run(folder: folders.Folder, rows: int, engine: Engine | None) -> None:
    """With a progress bar on a terminal, and a line on stderr for each file."""
    bar = None
    for job, batch in folder.run(rows, engine):
        if batch is None:
            bar = bar and bar.close()
            print(_said(job), file=sys.stderr)
            continue
        if bar is None:
            bar = tqdm(total=job.total, initial=job.repeated, desc=printable(job.name), unit="item", disable=None)
        bar.set_postfix(failed=job.failed, refresh=False)
        bar.update(job.done + job.failed - bar.n)


def _said(job: Job) -> str:
    name = printable(job.name)
    if job.error:
        return f"{name}: {job.error}"
    there = f", {job.repeated} of them already there" if job.repeated else ""
    why = f"; why is in failed/{name}.jsonl" if job.failed else ""
    seed = "" if job.seed is None else f", seed {job.seed}"
    return f"{name}: {job.done} done, {job.failed} failed{there}, {job.seconds:.1f} s{seed}{why}"


def _summary(jobs: list[Job]) -> dict:
    counted = {name: sum(getattr(job, name) for job in jobs) for name in ("done", "failed", "total", "repeated")}
    unreadable = sum(job.error is not None for job in jobs)
    return counted | {"unreadable": unreadable, "files": [job.facts() for job in jobs]}
