"""The memory of a process that serves stays level: see memory.steady."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playground import memory

ROOT = Path(__file__).parents[1]
HOLDS_AND_LEAVES = """
import time
from playground import memory
done = [0]
memory.steady(lambda: done[0])
first = memory.resident()
blocks = [b"x" * 60_000 for _ in range(2000)]  # in the heap, where one that stays in use keeps all below it
held = memory.resident()
last, blocks = blocks[-1], None
done[0] += 1
ends = time.monotonic() + 20
while memory.resident() > first + 20 and time.monotonic() < ends:
    time.sleep(0.1)
print(first, held, memory.resident())
"""


@pytest.mark.skipif(memory.resident() is None, reason="the system does not tell what is resident")
def test_what_was_freed_goes_back_once_nothing_is_done():
    env = os.environ | {"PYTHONPATH": str(ROOT), "MALLOC_TRIM_THRESHOLD_": "268435456"}
    found = subprocess.run(
        [sys.executable, "-c", HOLDS_AND_LEAVES], capture_output=True, text=True, env=env, timeout=60, check=True
    )
    first, held, left = map(float, found.stdout.split())
    assert held - first > 100  # the 114 MB of the blocks
    assert left - first < 20
