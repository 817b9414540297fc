"""kill -9 loses nothing that was reported and nothing is done twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(tmp_path: Path, items: int, how: str, number: int) -> dict:
    (tmp_path / "in").mkdir()
    given = [{"steps": 0} if i % 10 == 1 else {"prompt": f"Tom {i}", "id": str(i)} for i in range(items)]
    (tmp_path / "in" / "a.jsonl").write_text("".join(json.dumps(item) + "\n" for item in given))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name("killing.py")), str(tmp_path), how, str(number)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def ends(place: Path) -> dict:
    """What a finished folder holds, without the times."""
    done, failed = (
        [json.loads(line) for line in (place / kind / "a.jsonl.jsonl").read_text().splitlines()]
        for kind in ("output", "failed")
    )
    for result in done:
        result.pop("seconds")
    processed = (place / "processed" / "a.jsonl").read_bytes()
    work = sorted(path.name for path in (place / "work" / "a.jsonl").iterdir())
    return {"done": done, "failed": failed, "processed": processed, "work": work}


def check(tmp_path: Path, items: int) -> None:
    whole = ends(tmp_path / "whole")
    places = [r["place"] for r in whole["done"] + whole["failed"]]
    assert sorted(places) == sorted(f"line {i + 1}" for i in range(items)) and whole["work"] == ["plan.json"]
    others = [path for path in tmp_path.iterdir() if path.name not in ("in", "whole")]
    assert others
    for place in others:
        assert ends(place) == whole, place


def test_killed_at_twenty_random_moments(tmp_path):
    found = killed(tmp_path, 40, "random", 20)
    assert found["killed"] >= 20
    check(tmp_path, 40)


def test_killed_before_and_after_every_rename(tmp_path):
    found = killed(tmp_path, 2, "renames", 30)
    assert found["killed"] == 2 * (1 + 2 + 4)  # the plan, two results, output twice, failed, processed
    check(tmp_path, 2)
