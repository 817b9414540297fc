"""The Race tab: one prompt through several models or samplers side by side, each on its own clock."""

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gradio as gr

from playground.denoisers import zoo
from playground.recipe import RecipeError
from playground.studies.race import HONEST, MOST, Race, contenders, record
from playground.ui import knobs, runs, speed
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

CANVAS = "race-canvas"
EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "race.json"
NAMES = ["prompt", "lanes", "steps", "length", "temperature", "seed"]
INFO = {
    "lanes": "2 to 4, each a family and one of its samplers.",
    "steps": "For the lanes that have them: from left to right it is one a token.",
    "seed": "Empty: a new one each race.",
}
EVERY = 0.05  # seconds between messages: four lanes would have more steps than a browser draws
PROMPT = "Once upon a time"
EXAMPLES = {
    "Four families": (PROMPT, ("continuous:sde", "masked:random", "uniform:ancestral", "autoregressive:left_to_right")),
    "Which slot first?": (PROMPT, ("masked:random", "masked:confidence", "masked:entropy", "masked:threshold")),
    "Mask or random word?": ("The little dragon was", ("masked:ancestral", "masked:remask", "uniform:ancestral")),
    "Noise or none on the way?": ("Tom and Lily went to the park", ("continuous:sde", "continuous:ode")),
}


@cache
def opening() -> Race:
    """What the tab opens with: four tokens a step, so that filling a row at once takes few passes."""
    return Race.parse({"prompt": PROMPT, "length": 48, "steps": 12})


def run_race(*values) -> Iterator[str]:
    """The knobs' values -> messages for the canvas, with every step of the lanes, at most one in EVERY seconds."""
    told = 0.0
    try:
        for heat in record(Race.parse(dict(zip(NAMES, values, strict=True)))):
            if heat.results is not None or time.monotonic() - told > EVERY:
                yield heat.message()
                told = time.monotonic()
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def build(saved: gr.BrowserState, page: gr.Blocks) -> None:
    """Lay out the tab and connect it. `saved` keeps the prompt and the knobs in the visitor's browser."""
    boxes = {}
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            canvas = TokenCanvas(EXAMPLE.read_text(encoding="utf-8"), "race", elem_id=CANVAS)
            gr.Markdown(HONEST, elem_classes="honest", elem_id="race-honest")
            speed.build(page)
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts = _desk(boxes)
    _connect(page, saved, canvas, boxes, parts)


def _desk(boxes: dict) -> dict:
    parts = {}
    boxes["prompt"] = _knob("prompt", max_lines=6, placeholder="No prompt: nothing is given.")
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Race", variant="primary", elem_id="race-run", min_width=120, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="race-stop", min_width=80, interactive=False)
    boxes["lanes"] = knobs.Dropdown(
        lane_choices(), value=list(opening().lanes), multiselect=True, max_choices=MOST, label="Lanes",
        info=INFO["lanes"], elem_id="race-lanes", render=False,
    )  # fmt: skip
    tried = {label: (prompt, found) for label, (prompt, lanes) in EXAMPLES.items() if (found := _of_families(lanes))}
    parts["examples"] = gr.Examples(
        [list(example) for example in tried.values()], [boxes["prompt"], boxes["lanes"]], label="Try",
        example_labels=list(tried),
    )  # fmt: skip
    boxes["lanes"].render()
    for name in NAMES[2:]:
        boxes[name] = _knob(name)
    return parts


def _knob(name: str, **kwargs):
    return knobs.component(name, opening().recipe, **{"info": INFO.get(name), "elem_id": f"race-{name}"} | kwargs)


def lane_choices() -> list[tuple[str, str]]:
    """Every lane there can be with its name: family and sampler, and the model where a family has several."""
    families = list(zoo.catalogue().values())

    def name(lane: str) -> str:
        model, sampler = lane.split(":")
        family = zoo.catalogue()[model]
        return f"{family if families.count(family) == 1 else model} · {sampler.replace('_', ' ')}"

    return [(name(lane), lane) for lane in contenders()]


def _of_families(wanted: tuple[str, ...]) -> list[str]:
    """Lanes given as family:sampler, by the first model of each family; none where a family is missing."""
    models = {family: model for model, family in reversed(zoo.catalogue().items())}
    pairs = [entry.split(":") for entry in wanted]
    return [f"{models[family]}:{sampler}" for family, sampler in pairs] if {f for f, _ in pairs} <= set(models) else []


def _connect(page, saved, canvas, boxes, parts) -> None:
    inputs = [boxes[name] for name in NAMES]
    runs.connect(canvas, run_race, inputs, [canvas], parts["run"], parts["stop"], name="Race", timed=True)
    boxes["prompt"].submit(None, js=runs.start(CANVAS), **QUIET)
    parts["examples"].load_input_event.then(None, js=runs.start(CANVAS), **QUIET)
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    page.load(restore, saved, inputs, **QUIET)


def restore(saved: dict | None) -> list:
    """The prompt and knobs last used in this browser."""
    try:
        kept = saved if isinstance(saved, dict) and saved else opening().to_dict()  # a visitor can write anything
        values = Race.parse({n: kept[n] for n in NAMES if n in kept and (n, kept[n]) != ("seed", "")}).to_dict()
    except RecipeError:
        values = opening().to_dict()
    return [values[name] for name in NAMES]


def call(saved: dict) -> dict:
    """The fields of a call that runs the saved race. Raises RecipeError."""
    fields = Race.parse(dict(zip(NAMES, restore(saved or None), strict=True))).to_dict()
    return {name: value for name, value in fields.items() if (name, value) != ("seed", -1)}
