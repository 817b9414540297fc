"""A section of the page that measures the machine it runs on: two buttons, and two figures that grow."""

import time
from collections.abc import Iterator

import gradio as gr

from playground import memory
from playground.denoisers.zoo import ModelError
from playground.engine import RunError
from playground.interfaces import access, zerogpu
from playground.recipe import RecipeError
from playground.studies import throughput
from playground.studies.grid import budget
from playground.studies.speed import duration
from playground.studies.throughput import PAGE, STEPS, Point, Settings
from playground.ui import speed_plots
from playground.ui.runs import QUIET, plain

EVERY = 1.0  # seconds between two drawings: each makes the browser build the figure anew
TIMED = {"show_progress": "hidden", "api_visibility": "private"} | access.TIMED
ABOUT = (
    f"Measures tokens a second with more rows, and seconds a row with more cells, of every model: with {STEPS} steps, "
    "and with as many as are advised."
)


def estimate() -> str:
    """How long measuring takes here, or why it cannot be done; a line for the page."""
    try:
        seconds = throughput.expected(_settings())
    except (RecipeError, ModelError, RunError) as error:
        return plain(error)
    return f"{ABOUT} It takes about {duration(seconds)} on this machine."


def measure() -> Iterator[tuple]:
    """(the figure of the throughput, that of the latency, a sentence) as points come, at most one in EVERY seconds."""
    try:
        settings, points, drawn = _settings(), [], 0.0
        for point in throughput.study(settings):
            points.append(point)
            if time.monotonic() - drawn > EVERY:
                yield _shown(points, settings)
                drawn = time.monotonic()
        yield _shown(points, settings)
    except (RecipeError, ModelError, RunError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def _settings() -> Settings:
    """What fits into the page's budget here."""
    return throughput.fitted(Settings.parse(PAGE), budget())


def _shown(points: list[Point], settings: Settings) -> tuple:
    of_rows = [point for point in points if isinstance(point, throughput.Throughput)]
    is_unknown = any(point.peak_mb is None for point in of_rows)
    sentences = [throughput.said(points), memory.NOT_MEASURED if is_unknown else ""]
    latency = gr.skip()
    if len(of_rows) < len(points):
        latency = gr.update(value=speed_plots.latency_figure(points, settings), visible=True)
    return (
        gr.update(value=speed_plots.throughput_figure(points, settings), visible=True),
        latency,
        plain(" ".join(filter(None, sentences))),
    )


def build(page: gr.Blocks) -> None:
    """Lay out the section where it is called, inside `page`, and connect it. How long measuring takes is found out when
    the section is opened."""
    with gr.Accordion("How fast is this machine?", open=False, elem_id="speed") as section:
        line = gr.Markdown(f"{ABOUT} It takes one to four minutes on two slow cores.", elem_id="speed-estimate")
        with gr.Row(elem_classes="speed-row"):
            start = gr.Button("Measure", variant="primary", elem_id="speed-measure", min_width=120, scale=0)
            stop = gr.Button("Stop", elem_id="speed-stop", min_width=80, scale=0, interactive=False)
        said = gr.Markdown(elem_id="speed-said")
        figures = [
            gr.Plot(visible=False, show_label=False, elem_id=f"speed-{name}") for name in ("throughput", "latency")
        ]
    section.expand(zerogpu.on_gpu(estimate, zerogpu.BRIEF), None, line, **TIMED)
    buttons = {"inputs": None, "outputs": [start, stop]} | QUIET
    start.click(None, js=_running(True), **buttons)
    event = start.click(access.admitted(zerogpu.on_gpu(measure)), None, [*figures, said], **TIMED)
    event.then(None, js=_running(False), **buttons)
    stop.click(None, js=_running(False), cancels=[event], **buttons)


def _running(now: bool) -> str:
    """JavaScript for what can be pressed while it measures and while it does not."""
    start, stop = ("false", "true") if now else ("true", "false")
    return f"() => [{start}, {stop}].map((interactive) => ({{__type__: 'update', interactive}}))"
