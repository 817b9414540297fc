"""Run by test_kill: the real command, killed over and over. Imports and loads once, then forks a child for each run.

killing.py FOLDER random KILLS   after random times, until so many were killed; a new output when one is finished
killing.py FOLDER renames N      just before the first rename, in a new run just after it, then before the second, ...
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from playground.denoisers import zoo
from playground.interfaces.cli import main
from playground.studies.figures import judge

ITEMS = 40
KNOBS = ["--model", "stories-masked", "--length", "8", "--steps", "2", "--seed", "3", "--rows", "3"]


def child(source: Path, place: Path, before=lambda: None) -> int:
    """A forked run; its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        before()
        status = main(["batch", "--input", str(source), "--output", str(place), *KNOBS])
    except BaseException:
        status = 99
    os._exit(status)


def ended(pid: int) -> int | None:
    """The exit status, or None of one that was killed."""
    _, how = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(how) if os.WIFEXITED(how) else None


def reported(place: Path) -> set[int]:
    """The items that the log says an end of."""
    log = place / "log.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    items = [event["item"] for event in events if event["event"] in ("done", "failed")]
    assert len(items) == len(set(items)), "an item that was reported was computed again"
    return set(items)


def at_random(source: Path, folder: Path, kills: int) -> None:
    luck, killed, rounds = random.Random(7), 0, 0
    while killed < kills:
        place = folder / f"round-{rounds}"
        while True:
            pid = child(source, place)
            time.sleep(luck.uniform(0.0, 0.4))
            os.kill(pid, signal.SIGKILL)
            status = ended(pid)
            reported(place)
            killed += status is None
            if killed >= kills and status is None:
                status = ended(child(source, place))
            if status is not None:
                assert status == 1, status
                break
        rounds += 1
    print(json.dumps({"killed": killed, "rounds": rounds}))


def at_renames(source: Path, folder: Path, most: int) -> None:
    """A run killed at every rename in turn: `most` is more than there are."""

    def kill_at(count: int, after: bool):
        replace, left = Path.replace, [count]

        def counted(self, target):
            left[0] -= 1
            if left[0] == 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            found = replace(self, target)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return lambda: setattr(Path, "replace", counted)

    place, killed = folder / "renames", 0
    for count in range(1, most):
        for after in (False, True):
            place = folder / f"renames-{count}-{after}"
            status = ended(child(source, place, kill_at(count, after)))
            if status is not None:
                print(json.dumps({"killed": killed}))
                return
            killed += 1
            assert ended(child(source, place)) == 1
    raise AssertionError("more renames than expected")


if __name__ == "__main__":
    where, how, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    zoo.load("stories-masked")
    judge()
    assert ended(child(where / "in", where / "whole")) == 1
    {"random": at_random, "renames": at_renames}[how](where / "in", where, number)
