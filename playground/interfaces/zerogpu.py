"""ZeroGPU Spaces lend a GPU for the time of a call, to functions that ask for one.

Import this before torch: there `spaces` replaces parts of torch as torch is loaded.
"""

import math
import os
from collections.abc import Callable

from playground import environment

# What the spaces package itself reads. It can be installed elsewhere too, where it changes nothing.
IS_HERE = os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "true")
if IS_HERE:
    try:
        import spaces
    except ImportError:
        IS_HERE = False

BRIEF = 10.0  # seconds of a call that only times a few steps


def on_gpu(function: Callable, seconds: float | None = None) -> Callable:
    """The function with a GPU lent for each call, for `seconds` or as long as a run may take; elsewhere the function
    itself. A generator keeps its GPU until it ends."""
    if not IS_HERE:
        return function
    longest = environment.number("PLAYGROUND_TIME_LIMIT") if seconds is None else seconds
    return spaces.GPU(duration=max(1, math.ceil(longest)))(function)
