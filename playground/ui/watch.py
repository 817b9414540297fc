"""The Watch tab: a prompt, and text that resolves out of noise, live."""

import html
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import gradio as gr

from playground.canvas import pin_for
from playground.denoisers import zoo
from playground.engine import record
from playground.recipe import Recipe, RecipeError, format_pins, parse_pins
from playground.samplers import knobs as heard_by
from playground.ui import knobs, plots
from playground.ui.token_canvas import TokenCanvas

EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "continuous.json"
FIRST = ["prompt", "model", "sampler", "steps", "length", "temperature", "samples", "seed"]
MORE = [name for name in knobs.FIELDS if name not in FIRST]
NAMES = FIRST + MORE
FITTED = [
    "sampler",
    "temperature",
    "guidance",
    "churn",
    "self_conditioning",
    "schedule",
    "rounding",
    "threshold",
    "eta",
]
STARTERS = ["Once upon a time", "The little dragon was", "Tom and Lily went to the park", ""]
STARTER_LABELS = [text or "(nothing: unconditional)" for text in STARTERS]
OPENING = Recipe.parse({"prompt": STARTERS[0]})

HOST = "document.querySelector('#watch-canvas .dlm-host')"
STOP = f"() => {{ {HOST}.player.stop(); }}"
KEEP_SEED = f"() => {HOST}.seed()"
SAVE = f"(...values) => [Object.fromEntries({NAMES}.map((name, i) => [name, values[i]]))]"


def watch(*values) -> Iterator[tuple]:
    """The knobs' values -> for each step (message for the player, figure, link); figure and link at the end."""
    try:
        for trace in record(Recipe.parse(dict(zip(NAMES, values, strict=True)))):
            done = trace.end is not None
            figure = plots.run_figure(trace) if done and len(trace.frames) > 1 else gr.skip()
            known = done or len(trace.frames) == 1  # the link also of a run that will be stopped
            yield trace.message(), figure, trace.recipe.to_query() if known else gr.skip()
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(_plain(error), print_exception=False) from None


def build(saved: gr.BrowserState, page: gr.Blocks) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs in the visitor's browser."""
    boxes = {}
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_id="stage"):
            canvas = TokenCanvas(EXAMPLE.read_text(encoding="utf-8"), elem_id="watch-canvas")
            with gr.Accordion("The run in numbers", open=False):
                figure = gr.Plot(show_label=False, elem_id="watch-figure")
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            boxes["prompt"] = knobs.component("prompt", OPENING, lines=2, max_lines=6)
            with gr.Row(elem_id="run-row"):
                run = gr.Button("Run", variant="primary", elem_id="run", min_width=100, scale=2)
                stop = gr.Button("Stop", elem_id="stop", min_width=80)
            gr.Examples([[text] for text in STARTERS], boxes["prompt"], label="Try", example_labels=STARTER_LABELS)
            with gr.Row():
                boxes["model"] = knobs.component("model", OPENING, info=None, min_width=180, scale=3)
                boxes["sampler"] = knobs.component("sampler", OPENING, info=None, min_width=110, scale=2)
            for name in ("steps", "length", "temperature", "samples"):
                boxes[name] = knobs.component(name, OPENING, info=None)
            with gr.Row(elem_id="seed-row"):
                boxes["seed"] = knobs.component("seed", OPENING, info="-1: a new one each run", min_width=120, scale=3)
                dice = gr.Button("🎲", elem_id="dice", min_width=44, scale=1)
                lock = gr.Button("Keep", elem_id="lock", min_width=60, scale=1)
            heard = heard_by(zoo.catalogue()[OPENING.model], OPENING.sampler)
            with gr.Accordion("More knobs", open=False):
                for name in MORE:
                    boxes[name] = knobs.component(name, OPENING, visible=name in heard or name not in FITTED)
                reset = gr.Button("Reset all knobs", size="sm", elem_id="reset")
            with gr.Accordion("Share this run", open=False):
                link = gr.Textbox(
                    label="Link", info="Opens with these knobs and this seed, and runs.", buttons=["copy"],
                    interactive=False, elem_id="share-link",
                )  # fmt: skip
    _connect(page, saved, boxes, canvas, figure, link, run, stop, dice, lock, reset)


def _connect(page, saved, boxes, canvas, figure, link, run, stop, dice, lock, reset) -> None:
    inputs, fitted = [boxes[name] for name in NAMES], [boxes[name] for name in FITTED]
    model_and_sampler = [boxes["model"], boxes["sampler"]]
    query, autorun, complaint = gr.State(""), gr.State(False), gr.State("")
    quiet = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
    live = {"show_progress": "hidden", "api_visibility": "private", "concurrency_id": "model"}
    outputs = [canvas, figure, query]

    runs = [gr.on([run.click, boxes["prompt"].submit], watch, inputs, outputs, **live)]
    for event, change in ((canvas.pin, add_pin), (canvas.unpin, drop_pin)):
        changed = event(change, [boxes["pins"], boxes["model"]], [boxes["pins"], boxes["seed"]], **quiet)
        runs.append(changed.success(watch, inputs, outputs, **live))
    opened = page.load(restore, saved, [*inputs, autorun, complaint], **quiet)
    opened.then(complain, complaint, None, **quiet | {"queue": True})  # only queued events can warn
    opened = opened.then(fit, model_and_sampler, fitted, **quiet)
    runs.append(opened.then(watch_if, [autorun, *inputs], outputs, **live))
    for event in runs:
        event.then(share_link, query, link, **quiet)
    stop.click(None, js=STOP, cancels=runs, **quiet).then(share_link, query, link, **quiet)

    gr.on([box.input for box in model_and_sampler], fit, model_and_sampler, fitted, **quiet)
    gr.on([box.change for box in inputs], None, inputs, saved, js=SAVE, **quiet)
    dice.click(None, None, boxes["seed"], js="() => -1", **quiet)
    lock.click(None, None, boxes["seed"], js=KEEP_SEED, **quiet)
    reset.click(lambda: _values(OPENING), None, inputs, **quiet).then(fit, model_and_sampler, fitted, **quiet)


def watch_if(wanted: bool, *values) -> Iterator[tuple]:
    """`watch` when a share link was opened, else nothing."""
    if wanted:
        yield from watch(*values)
    else:
        yield gr.skip(), gr.skip(), gr.skip()


def restore(saved: dict | None, request: gr.Request) -> list:
    """The knobs a page opens with, whether to run at once, and a complaint or "": those of a share link, else the
    ones last used here."""
    query = {name: value for name, value in dict(request.query_params).items() if name in knobs.FIELDS}
    kept = (
        saved if isinstance(saved, dict) and saved else {"prompt": OPENING.prompt}
    )  # a visitor can write any value there
    try:
        return [*_values(Recipe.parse(query or kept)), bool(query), ""]
    except RecipeError as error:
        what = "This link" if query else "The saved settings"
        return [*_values(OPENING), False, f"{what} could not be used. {_plain(error)}"]


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
        values = {name: data.get(name) for name in ("position", "token", "seed")}
        for name, value in values.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise RecipeError("pins", f"{name} is {str(value)[:40]!r}; a whole number is needed.")
        tokenizer = zoo.load(model).tokenizer
        if values["token"] >= tokenizer.vocab_size:
            raise RecipeError("pins", f"there is no token {values['token']}.")
        kept = {cell: word for cell, word in parse_pins(pins).items() if cell != values["position"]}
        kept |= added(values["position"], values["token"], tokenizer)
        return format_pins(dict(sorted(kept.items()))), Recipe.parse({"seed": values["seed"]}).seed
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(_plain(error), print_exception=False) from None


def fit(model: str, sampler: str) -> list:
    """Show the knobs this model and sampler listen to."""
    try:
        return knobs.for_model(model, sampler, FITTED)
    except RecipeError as error:
        raise gr.Error(_plain(error), print_exception=False) from None


def _plain(error: Exception) -> str:
    """A sentence for a toast, which Gradio renders as HTML: what a visitor or a link put in it stays text."""
    return html.escape(str(error), quote=False)


def _values(recipe: Recipe) -> list:
    values = {name: getattr(recipe, name) for name in NAMES} | {"pins": format_pins(recipe.pins)}
    return [values[name] for name in NAMES]
