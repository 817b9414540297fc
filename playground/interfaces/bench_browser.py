"""A run in headless Chromium: how often the player draws a new step, and what is lost on the way."""

import shutil
import time
from collections.abc import Iterator
from itertools import pairwise

from playground.engine import record
from playground.recipe import Recipe
from playground.trace import Trace

_PLAYER = "document.querySelector('.dlm-host')?.player"
_ENDED = f"{_PLAYER} && {_PLAYER}.trace().end && {_PLAYER}.step() === {_PLAYER}.trace().frames.at(-1).s"
_WATCH_DRAWING = f"""() => {{
  const player = {_PLAYER}, before = player.trace().head;
  window.drawn = [];
  const look = () => {{
    const run = player.trace(), isNew = run.head !== before;
    const step = player.step();
    if (isNew && window.drawn.at(-1)?.step !== step) window.drawn.push({{step, at: performance.now()}});
    window.ended = isNew && run.end && step === run.frames.at(-1).s;
    if (!window.ended) requestAnimationFrame(look);
  }};
  requestAnimationFrame(look);
}}"""


def streaming(computed: bool, length: int = 128, steps: int = 128) -> dict:
    """A run in headless Chromium: how often the player drew a new step, and what was lost on the way.

    With `computed`, the model and the browser share this machine's cores, as they do on a laptop. Without, the
    steps were computed before and only travel through the page's event, as when the server is another machine.
    """
    from playwright.sync_api import sync_playwright

    from playground.ui import watch
    from playground.ui.page import build, launch

    recipe = Recipe.parse({"length": length, "steps": steps, "seed": 1})
    if not computed:
        *_, done = record(recipe)
        watch.record = lambda recipe: _again(done)
    page = build()
    _, url, _ = launch(page, quiet=True, prevent_thread_lock=True)
    try:
        with sync_playwright() as p:
            chromium = p.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            tab = chromium.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(f"{url}?{recipe.to_query()}")
            counts = []
            for _ in range(3):
                tab.wait_for_function(_ENDED, timeout=60_000)
                tab.evaluate(_WATCH_DRAWING)
                tab.click("#run")
                tab.wait_for_function("window.ended", timeout=60_000)
                counts.append(tab.evaluate("document.querySelectorAll('*').length"))
            drawn = tab.evaluate("window.drawn")
            frames = tab.evaluate(f"{_PLAYER}.trace().frames.map((frame) => frame.s)")
            chromium.close()
    finally:
        watch.record = record
        page.close()
    gaps = sorted(b["at"] - a["at"] for a, b in pairwise(drawn))
    return {
        "frames_received": len(frames), "frames_lost": steps + 1 - len(frames), "frames_drawn": len(drawn),
        "frames_per_second": round(1000 * (len(drawn) - 1) / (drawn[-1]["at"] - drawn[0]["at"]), 1),
        "gap_p99": round(gaps[int(0.99 * len(gaps))], 1), "dom_nodes_after_each_run": counts,
    }  # fmt: skip


def _again(done: Trace) -> Iterator[Trace]:
    """A finished trace growing once more, at the pace at which it was computed."""
    trace, started = Trace(done.head, []), time.perf_counter()
    for frame in done.frames:
        time.sleep(max(0.0, started + frame["t"] - time.perf_counter()))
        trace.frames.append(frame)
        yield trace
    trace.close("finished")
    yield trace
