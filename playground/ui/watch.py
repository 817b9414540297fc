"""The Watch tab: a prompt, and text that resolves out of noise, live."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import gradio as gr

from playground.canvas import pin_for
from playground.denoisers import zoo
from playground.engine import record
from playground.recipe import GENERATE_FIELDS, Recipe, RecipeError, bounds, format_pins
from playground.ui import knobs, plots, runs
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "continuous.json"
FIRST = ["prompt", "model", "sampler", "steps", "length", "temperature", "samples", "seed"]
EDITS = ["text", "strength"]  # knobs of the Edit tab alone
MORE = [name for name in knobs.FIELDS if name not in FIRST + EDITS]
NAMES = FIRST + MORE
FITTED = ["sampler", *(name for name in NAMES if name in knobs.heard_by_any())]
STARTERS = ["Once upon a time", "The little dragon was", "Tom and Lily went to the park", ""]
STARTER_LABELS = [text or "(no prompt)" for text in STARTERS]

START = runs.start("watch-canvas")
START_IF = f"(wanted) => wanted && ({START})()"
# Sets the knobs that a page opens with, but none that the visitor has changed while they were waited for.
UNTOUCHED = """(found, ...values) => values.map((value, i) =>
  JSON.stringify(value) === JSON.stringify(found[i][1]) ? found[i][0] : value)"""
KEEP_SEED = f"() => String({runs.host('watch-canvas')}.seed())"


@cache
def opening() -> Recipe:
    """What the page opens with."""
    return Recipe.parse({"prompt": STARTERS[0]})


def watch(*values) -> Iterator[tuple]:
    """The knobs' values -> for each step (message for the player, figure, link); figure and link at the end."""
    try:
        for trace in record(Recipe.parse(dict(zip(NAMES, values, strict=True)))):
            done = trace.end is not None
            figure = plots.run_figure(trace) if done and len(trace.frames) > 1 else gr.skip()
            known = done or len(trace.frames) == 1  # the link also of a run that will be stopped
            yield trace.message(), figure, trace.recipe.to_query() if known else gr.skip()
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def build(saved: gr.BrowserState, page: gr.Blocks) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs in the visitor's browser."""
    boxes = {}
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            canvas = TokenCanvas(EXAMPLE.read_text(encoding="utf-8"), elem_id="watch-canvas")
            with gr.Accordion("The run in numbers", open=False):
                figure = gr.Plot(show_label=False, elem_id="watch-figure")
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts = {"canvas": canvas, "figure": figure} | _desk(boxes)
    _connect_runs(page, saved, boxes, parts)
    _connect_knobs(saved, boxes, parts)


def _desk(boxes: dict) -> dict:
    """The knobs, into `boxes`, and what stands among them."""
    parts = {}
    family = zoo.catalogue()[opening().model]
    boxes["prompt"] = knobs.component(
        "prompt", opening(), info=None, max_lines=6, placeholder="No prompt: nothing is given."
    )
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Run", variant="primary", elem_id="run", min_width=100, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="stop", min_width=80, interactive=False)
    # Whether the page's address asks for a run, kept where JavaScript can read it.
    parts["asked"] = gr.Checkbox(visible="hidden")
    parts["kept"] = gr.Button("", elem_id="kept", size="sm", visible=False)
    parts["starters"] = gr.Examples(
        [[text] for text in STARTERS], boxes["prompt"], label="Try", example_labels=STARTER_LABELS
    )
    with gr.Row():
        boxes["model"] = knobs.component("model", opening(), info=None, min_width=180, scale=3)
        boxes["sampler"] = knobs.component("sampler", opening(), info=None, min_width=110, scale=2)
    parts["help"] = gr.Markdown(knobs.sampler_help(family, opening().sampler), elem_classes="sampler-help")
    for name in ("steps", "length", "temperature", "samples"):
        boxes[name] = knobs.component(name, opening(), info=None, visible=_is_heard(name, family))
    with gr.Row(elem_id="seed-row"):
        boxes["seed"] = knobs.component("seed", opening(), info="Empty: a new one each run.", min_width=120, scale=3)
        parts["dice"] = gr.Button("🎲", elem_id="dice", min_width=44, scale=1)
        parts["lock"] = gr.Button("Keep seed", elem_id="lock", min_width=90, scale=2)
    with gr.Accordion("More knobs", open=False):
        for name in MORE:
            boxes[name] = knobs.component(name, opening(), visible=_is_heard(name, family))
        parts["reset"] = gr.Button("Reset all knobs", size="sm", elem_id="reset")
    with gr.Accordion("Share this run", open=False):
        parts["link"] = gr.Textbox(
            label="Link", info="Opens with these knobs and this seed, and runs.", buttons=["copy"],
            interactive=False, elem_id="share-link",
        )  # fmt: skip
    return parts


def _is_heard(name: str, family: str) -> bool:
    return name not in FITTED or name in knobs.heard_by(family, opening().sampler)


def _connect_runs(page, saved, boxes, parts) -> None:
    """Everything that starts or ends a run. Starts and stops go through the canvas, which knows what runs."""
    inputs, canvas, link = [boxes[name] for name in NAMES], parts["canvas"], parts["link"]
    query, complaint = gr.State(""), gr.State("")
    run = runs.connect(canvas, watch, inputs, [canvas, parts["figure"], query], parts["run"], parts["stop"], name="Run")
    run.then(share_link, query, link, **QUIET)
    boxes["prompt"].submit(None, js=START, **QUIET)
    parts["starters"].load_input_event.then(None, js=START, **QUIET)
    for event, change in ((canvas.pin, add_pin), (canvas.unpin, drop_pin)):
        changed = event(change, [boxes["pins"], boxes["model"]], [boxes["pins"], boxes["seed"]], **QUIET)
        changed.success(None, js=START, **QUIET)
    found = gr.JSON(visible="hidden")  # [[value, value at first], ...], where JavaScript can read it
    opened = page.load(_paired(inputs), saved, [found, parts["asked"], complaint], **QUIET)
    opened = opened.then(None, [found, *inputs], inputs, js=UNTOUCHED, **QUIET)
    opened.then(None, parts["asked"], None, js=START_IF, **QUIET)
    opened.then(complain, complaint, None, **QUIET | {"queue": True})  # only queued events can warn
    opened.then(fit, *_fitting(boxes, parts), **QUIET)


def _connect_knobs(saved, boxes, parts) -> None:
    """What the knobs do to each other, and to what is kept in the browser."""
    inputs, seed, in_force = [boxes[name] for name in NAMES], boxes["seed"], [boxes["pins"], boxes["seed"]]
    gr.on([boxes["model"].input, boxes["sampler"].input], fit, *_fitting(boxes, parts), **QUIET)
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    gr.on([box.change for box in in_force], keeping, in_force, parts["kept"], **QUIET)
    parts["kept"].click(None, None, in_force, js="() => ['', '']", **QUIET)
    parts["dice"].click(None, None, seed, js="() => ''", **QUIET)
    parts["lock"].click(None, None, seed, js=KEEP_SEED, **QUIET)
    reset = parts["reset"].click(lambda: _values(opening()), None, inputs, **QUIET)
    reset.then(fit, *_fitting(boxes, parts), **QUIET)


def _fitting(boxes: dict, parts: dict) -> tuple[list, list]:
    """Inputs and outputs of `fit`."""
    return [boxes["model"], boxes["sampler"]], [*(boxes[name] for name in FITTED), parts["help"]]


def keeping(pins: str, seed: str | int) -> dict:
    """The line beside Run that says what holds from run to run; a click on it lets go."""
    try:
        count = len(Recipe.parse({"pins": pins}).pins)
        said = [f"{count} pinned word{'s' * (count > 1)}"] if count else []
    except RecipeError:
        said = ["pinned words that cannot be read"]
    said += ["seed kept"] if seed != -1 else []
    return gr.update(value=" · ".join([*said, "clear"]), visible=bool(said))


def _paired(boxes: list):
    """`restore`, with each of its values as the page knows it, beside the one that its box of `boxes` opened with."""

    def paired(saved, request: gr.Request):
        values, *rest = restore(saved, request)
        return [[[box.postprocess(value), box.value] for box, value in zip(boxes, values, strict=True)], *rest]

    return paired


def restore(saved: dict | None, request: gr.Request) -> list:
    """The knobs a page opens with, whether to run at once, and a complaint or "": those of a share link, else the
    ones last used here."""
    query = {name: value for name, value in dict(request.query_params).items() if name in knobs.FIELDS}
    kept = saved if isinstance(saved, dict) and saved else {"prompt": opening().prompt}  # a visitor can write anything
    try:
        values = {name: value for name, value in (query or kept).items() if (name, value) != ("seed", "")}
        return [_values(Recipe.parse(values)), bool(query), ""]
    except RecipeError as error:
        what = "This link" if query else "The saved settings"
        return [_values(opening()), False, f"{what} could not be used. {plain(error)}"]


def call(saved: dict) -> dict:
    """The fields of a call that runs what the saved knobs ask for. Raises RecipeError."""
    kept = saved or {"prompt": opening().prompt}
    recipe = Recipe.parse({name: value for name, value in kept.items() if (name, value) != ("seed", "")})
    return knobs.given(recipe, GENERATE_FIELDS)


def complain(complaint: str) -> None:
    """Show a complaint of `restore`, if there is one."""
    if complaint:
        gr.Warning(complaint)


def add_pin(pins: str, model: str, event: gr.EventData) -> tuple[str, int]:
    """Pin the clicked candidate and keep the seed, so that only the pin changes the run."""
    return _change_pins(pins, model, event, lambda cell, token, tokenizer: {cell: pin_for(cell, token, tokenizer)})


def drop_pin(pins: str, model: str, event: gr.EventData) -> tuple[str, int]:
    """Take back the pin that covers the clicked cell."""
    return _change_pins(pins, model, event, lambda cell, token, tokenizer: {})


def share_link(query: str, request: gr.Request) -> str:
    """The address that reproduces a run. On Spaces the page is inside a frame, so the Space's own address is used."""
    if not query:
        return ""
    space = os.environ.get("SPACE_ID")
    if space:
        return f"https://huggingface.co/spaces/{space}?{query}"
    page = urlsplit(request.headers.get("referer", ""))
    return f"{page.scheme}://{page.netloc}{page.path}?{query}"


def _change_pins(pins: str, model: str, event: gr.EventData, added) -> tuple[str, int]:
    data = event._data if isinstance(event._data, dict) else {}
    try:
        recipe = Recipe.parse({"pins": pins, "model": model, "seed": data.get("seed")})
        tokenizer = zoo.load(recipe.model).tokenizer
        cell = _whole("position", data.get("position"), bounds(knobs.FIELDS["length"])[1])
        token = _whole("token", data.get("token", 0), tokenizer.vocab_size)
        kept = {place: word for place, word in recipe.pins.items() if place != cell} | added(cell, token, tokenizer)
        return format_pins(dict(sorted(kept.items()))), recipe.seed
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def _whole(name: str, value, limit: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit:
        return value
    raise RecipeError("pins", f"{name} is {str(value)[:40]!r}; a whole number from 0 to {limit - 1} is needed.")


def fit(model: str, sampler: str) -> list:
    """Show the knobs this model and sampler listen to."""
    try:
        return knobs.for_model(model, sampler, FITTED)
    except RecipeError as error:
        raise gr.Error(plain(error), print_exception=False) from None


def _values(recipe: Recipe) -> list:
    values = {name: getattr(recipe, name) for name in NAMES} | {"pins": format_pins(recipe.pins)}
    return [values[name] for name in NAMES]
