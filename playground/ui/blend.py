"""The Blend tab: a path of texts from A to B, and a slider along it."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gradio as gr

from playground.denoisers import zoo
from playground.interpolation import Blend, heard_by, own_level, record
from playground.recipe import RecipeError
from playground.samplers.alignment import RULE
from playground.samplers.paths import METHODS
from playground.trace import Trace
from playground.ui import knobs, plots, runs
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

CANVAS = "blend-canvas"
EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "blend.json"
OWN = ["a", "b", "c", "method", "level", "points"]
FIRST = [*OWN, "steps", "temperature", "seed"]
MORE = ["model", "churn", "schedule", "self_conditioning"]
NAMES = FIRST + MORE
FITTED = ["c", "level", "steps", "temperature", *MORE[1:]]  # knobs that only some methods listen to
INFO = {"points": "Texts along the way, both ends included.", "seed": "Empty: a new one each run."}
EXAMPLES = [
    [
        "Once upon a time, there was a little boy named Tom. He loved to play with his red ball in the park.",
        "One day, a big dragon was sad. He had no friends and he lived alone in a dark cave.", "", "shared-noise",
    ],
    [
        "The sun was bright and the birds were singing. Lily was very happy.",
        "It was dark and cold outside. Ben was scared and wanted to go home.", "", "shared-noise",
    ],
    [
        "Mom made a big cake for the party. All the children were happy and danced.",
        "The little boat was lost in the storm. The waves were very big.", "", "semantic-code",
    ],
    ["One day, a big bird was in a tree. The bird was happy.", "bird. tree.", "fish. water.", "arithmetic"],
]  # fmt: skip
EXAMPLE_LABELS = [
    "Tom's ball → the sad dragon",
    "bright morning → dark night",
    "a party → a storm",
    "bird − tree + fish + water",
]


@cache
def opening() -> Blend:
    """What the tab opens with."""
    a, b, *_ = EXAMPLES[0]
    return Blend.parse({"a": a, "b": b, "steps": 32})


def blend(*values) -> Iterator[tuple]:
    """The knobs' values -> for each step a message for the player; at the end also the two figures."""
    try:
        fields = dict(zip(NAMES, values, strict=True))
        if "c" not in heard_by(_method(fields["method"])):
            fields["c"] = ""  # its box is hidden, and keeps what was written there
        for trace in record(Blend.parse(fields)):
            measured = bool(trace.end) and "path" in trace.end
            figures = (plots.path_figure(trace), plots.map_figure(trace)) if measured else (gr.skip(), gr.skip())
            yield trace.message(), *figures
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def build(saved: gr.BrowserState, page: gr.Blocks) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs and the two texts in the visitor's browser."""
    boxes, recorded = {}, Trace.load(EXAMPLE)
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            canvas = TokenCanvas(recorded.to_json(), "blend", elem_id=CANVAS)
            with gr.Accordion("The path in numbers", open=False):
                figure = gr.Plot(plots.recorded(plots.path_figure(recorded)), show_label=False, elem_id="blend-figure")
                chart = gr.Plot(_map(recorded), show_label=False, elem_id="blend-map")
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts = {"canvas": canvas, "figure": figure, "map": chart} | _desk(boxes)
    _connect(page, saved, boxes, parts)


def _map(recorded: Trace):
    """The map of the recorded path, where the model that made it is among those of this page."""
    is_here = recorded.head["model"]["name"] in zoo.catalogue()
    return plots.recorded(plots.map_figure(recorded)) if is_here else None


def _desk(boxes: dict) -> dict:
    parts = {}
    boxes["a"] = _knob("a", lines=2, max_lines=8)
    boxes["b"] = _knob("b", lines=2, max_lines=8)
    boxes["c"] = _knob("c", lines=1, max_lines=8, info="What is to come for B, as in: girl. she. her.")
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Blend", variant="primary", elem_id="blend-run", min_width=120, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="blend-stop", min_width=80, interactive=False)
    boxes["method"] = _knob("method", render=False)
    parts["examples"] = gr.Examples(
        EXAMPLES, [boxes[name] for name in ("a", "b", "c", "method")], label="Try", example_labels=EXAMPLE_LABELS
    )
    boxes["method"].render()
    parts["help"] = gr.Markdown(method_help(opening().method), elem_classes="sampler-help", elem_id="blend-help")
    for name in FIRST[4:]:
        boxes[name] = _knob(name)
    with gr.Accordion("More knobs", open=False):
        for name in MORE:
            boxes[name] = _knob(name)
    with gr.Accordion("Which words meet", open=False):
        gr.Markdown(RULE, elem_classes="sampler-help")
    return parts


def _knob(name: str, **kwargs):
    settings = opening() if name in OWN else opening().recipe
    info = INFO.get(name) or (
        settings.__dataclass_fields__[name].metadata["help"] if name in ("level", *MORE) else None
    )
    heard = name not in FITTED or name in heard_by(opening().method)
    box = knobs.component(name, settings, **{"info": info, "elem_id": f"blend-{name}", "visible": heard} | kwargs)
    if name == "model":
        box.choices = [(m, m) for m, family in zoo.catalogue().items() if family == "continuous"]
    return box


def method_help(method: str) -> str:
    """What a method does and where it fails: its docstring, without references."""
    return knobs.without_references(METHODS[method].__doc__)


def _connect(page, saved, boxes, parts) -> None:
    inputs, canvas = [boxes[name] for name in NAMES], parts["canvas"]
    outputs = [canvas, parts["figure"], parts["map"]]
    runs.connect(canvas, blend, inputs, outputs, parts["run"], parts["stop"], name="Blend")
    fitting = {"outputs": [*(boxes[name] for name in FITTED), parts["help"]]} | QUIET
    loaded = parts["examples"].load_input_event.then(chosen, boxes["method"], boxes["level"], **QUIET)
    loaded.then(fit, boxes["method"], **fitting).then(None, js=runs.start(CANVAS), **QUIET)
    boxes["method"].input(chosen, boxes["method"], boxes["level"], **QUIET)
    gr.on([boxes["method"].input], fit, boxes["method"], **fitting)
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    page.load(restore, saved, inputs, **QUIET).then(fit, boxes["method"], **fitting)


def chosen(method: str) -> float:
    """The noise level that suits a newly chosen method."""
    return own_level(_method(method))


def fit(method: str) -> list:
    """Show the knobs this method listens to, and say what it does."""
    method = _method(method)
    return [*(gr.update(visible=name in heard_by(method)) for name in FITTED), method_help(method)]


def restore(saved: dict | None) -> list:
    """The texts and knobs last used in this browser."""
    try:
        kept = {n: value for n, value in saved.items() if n in NAMES and (n, value) != ("seed", "")}
        c = kept.pop("c", "") if kept.get("method") != "arithmetic" else ""
        values = Blend.parse(kept).to_dict()
        values["c"] = values["c"] or (c if isinstance(c, str) else "")
    except (RecipeError, AttributeError):  # a visitor can write anything there
        values = opening().to_dict()
    return [values[name] for name in NAMES]


def call(saved: dict) -> dict:
    """The fields of a call that leads the saved path. Raises RecipeError."""
    path = Blend.parse(dict(zip(NAMES, restore(saved or None), strict=True)))
    fields = path.to_dict()
    names = [*path.texts, "method", "points", *path.knobs, "model", "seed"]
    return {name: fields[name] for name in names if (name, fields[name]) != ("seed", -1)}


def _method(method: str) -> str:
    if not (isinstance(method, str) and method in METHODS):
        sentence = f"method: {str(method)[:40]!r} is unknown; allowed: {', '.join(METHODS)}."
        raise gr.Error(plain(sentence), print_exception=False)
    return method
