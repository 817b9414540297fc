"""The Edit tab: select the words to rewrite, and take the alternative that pleases."""

import json
import uuid
from collections.abc import Iterator
from functools import cache

import gradio as gr

from playground.denoisers import zoo
from playground.engine import record
from playground.marks import MOST
from playground.recipe import EDIT_FIELDS, MAX_PROMPT_CHARACTERS, Recipe, RecipeError
from playground.selection import NoRoom, asked, suited
from playground.ui import knobs, runs
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

CANVAS = "edit-canvas"
FIRST = ["model", "sampler", "strength", "steps", "temperature", "samples", "seed"]
HIDDEN = ["prompt", "text", "length", "pins", "block"]  # the canvas gives them, or an edit has none
MORE = [name for name in knobs.FIELDS if name not in FIRST + HIDDEN]
NAMES = FIRST + MORE
FITTED = ["sampler", *(name for name in NAMES if name in knobs.heard_by_any())]
LABELS = {"samples": "Alternatives", "strength": "Strength"}
HELP = {
    "strength": "1 forgets the selected words; less starts from them, for a lighter touch.",
    "seed": "Empty: a new one each run.",
}
EXAMPLES = [
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day, the ball rolled into the river "
    "and Lily was very sad. Then a big dog jumped into the water and brought it back.",
    "Tom and his mom went to the park. They saw a big slide. Tom was scared to go down. His mom held his hand and "
    'said, "You can do it!" Tom smiled and went down the slide.',
    "The ___ ran to the ___ and found a ___ under the tree.",
    "The dragon was lonely. Nobody wanted to play with him. At the end of the day, the dragon had a new friend.",
]  # fmt: skip
SELECTED = " the ball rolled into the river and Lily was very sad."
CALLED = "The dog ran to the [[park]] and was happy."  # the text of a call; the visitor's own stays in the browser
STORAGE = "diffusion-lm-playground-history"
ASK_WATCH = """() => {
  const [watched, editor] = ["#watch-canvas", "#edit-canvas"].map((id) => document.querySelector(id + " .dlm-host"));
  editor.take(watched.player.trace());
}"""


@cache
def opening() -> Recipe:
    """The knobs the tab opens with."""
    return Recipe.parse({"samples": 2, "steps": 32})


def edit(event: gr.EventData, *values) -> Iterator[str]:
    """What the canvas asks for and the knobs' values -> for each step, a message for the editor's player; or one that
    says which hole has no room for its word."""
    try:
        fields = dict(zip(NAMES, values, strict=True))
        tokenizer = zoo.load(Recipe.parse({"model": fields["model"]}).model).tokenizer
        wanted = asked(event._data, tokenizer)
        for trace in record(Recipe.parse(suited(fields, event._data, tokenizer) | wanted)):
            yield trace.message()
    except NoRoom as error:
        refused = {"hole": error.hole, "cells": error.cells, "sentence": error.sentence}
        yield json.dumps({"refused": refused, "nonce": _nonce()}, ensure_ascii=False)
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def opened(text: str, model: str) -> str:
    """A text as the editor takes it: {document: {ids, pieces}, label}."""
    try:
        label = "Example" if text in EXAMPLES else "Typed"
        return _document(text, Recipe.parse({"model": model}).model, label)
    except (RecipeError, zoo.ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def build(saved: gr.BrowserState, page: gr.Blocks) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs in the visitor's browser, where the texts and their
    history are kept as well."""
    boxes = {}
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            canvas = TokenCanvas(_first(), "editor", history_key=STORAGE, elem_id=CANVAS)
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts = {"canvas": canvas} | _desk(boxes)
    _connect(page, saved, boxes, parts)


def _desk(boxes: dict) -> dict:
    parts = {}
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Regenerate", variant="primary", elem_id="edit-run", min_width=120, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="edit-stop", min_width=80, interactive=False)
    with gr.Accordion("Another text", open=False):
        parts["text"] = gr.Textbox(
            label="Text", lines=4, max_lines=10, elem_id="edit-text", placeholder="Type or paste a text of your own.",
        )  # fmt: skip
        with gr.Row():
            parts["open"] = gr.Button("Edit this text", size="sm", elem_id="edit-open", min_width=120)
            parts["watch"] = gr.Button("Take the text from Watch", size="sm", elem_id="edit-watch", min_width=150)
        parts["examples"] = gr.Examples([[text] for text in EXAMPLES], parts["text"], label="Examples")
    with gr.Row():
        boxes["model"] = _knob("model", min_width=180, scale=3)
        boxes["sampler"] = _knob("sampler", min_width=110, scale=2)
    parts["help"] = gr.Markdown(knobs.sampler_help(*_sampler()), elem_classes="sampler-help")
    for name in FIRST[2:]:
        boxes[name] = _knob(name)
    with gr.Accordion("More knobs", open=False):
        for name in MORE:
            boxes[name] = _knob(name, info=knobs.FIELDS[name].metadata["help"])
    return parts


def _knob(name: str, **kwargs):
    heard = name not in FITTED[1:] or name in knobs.heard_by(*_sampler())
    label = LABELS.get(name, knobs.FIELDS[name].metadata["label"])
    about = {"info": HELP.get(name), "label": label, "elem_id": f"edit-{name}", "visible": heard} | kwargs
    return knobs.component(name, opening(), **about)


def _sampler() -> tuple[str, str]:
    return zoo.catalogue()[opening().model], opening().sampler


def _connect(page, saved, boxes, parts) -> None:
    inputs, canvas, text = [boxes[name] for name in NAMES], parts["canvas"], parts["text"]
    runs.connect(canvas, edit, inputs, canvas, parts["run"], parts["stop"], name="Regenerate")
    for event in (parts["open"].click, parts["examples"].load_input_event.then):
        new = event(opened, [text, boxes["model"]], canvas, **QUIET | {"queue": True})  # only queued events complain
        new.success(None, js=runs.reveal(CANVAS), **QUIET)
    parts["watch"].click(None, js=ASK_WATCH, **QUIET)
    fitting = {"inputs": [boxes["model"], boxes["sampler"]], "outputs": [*(boxes[n] for n in FITTED), parts["help"]]}
    gr.on([boxes["model"].input, boxes["sampler"].input], fit, **fitting, **QUIET)
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    page.load(restore, saved, inputs, **QUIET).then(fit, **fitting, **QUIET)


def fit(model: str, sampler: str) -> list:
    """Show the knobs this model and sampler listen to."""
    try:
        return knobs.for_model(model, sampler, FITTED)
    except RecipeError as error:
        raise gr.Error(plain(error), print_exception=False) from None


def restore(saved: dict | None) -> list:
    """The knobs last used in this browser."""
    try:
        kept = {name: value for name, value in saved.items() if name in NAMES and (name, value) != ("seed", "")}
        strength = kept.pop("strength", 1.0)  # an edit's alone: checked with a text
        recipe = Recipe.parse(kept)
        strength = Recipe.parse({"text": "[[a]] b", "strength": strength}).strength
    except (RecipeError, AttributeError):  # a visitor can write anything there
        recipe, strength = opening(), opening().strength
    return [strength if name == "strength" else getattr(recipe, name) for name in NAMES]


def call(saved: dict) -> dict:
    """The fields of a call that edits a text with the saved knobs. Raises RecipeError."""
    recipe = Recipe.parse(dict(zip(NAMES, restore(saved), strict=True)) | {"text": CALLED})
    return knobs.given(recipe, EDIT_FIELDS)


def _nonce() -> str:
    """Makes a message differ from the one before, since a canvas only hears of changes."""
    return uuid.uuid4().hex[:8]


def _first() -> str:
    text = EXAMPLES[0]
    start = text.index(SELECTED)
    return _document(text, opening().model, "Example", (start, start + len(SELECTED)))


def _document(text: str, model: str, label: str, selected: tuple[int, int] | None = None) -> str:
    """`selected`: the first example only, which the editor shows where it has no text yet, with these characters
    selected."""
    if not text:
        raise RecipeError("text", "is empty; type or paste one.")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise RecipeError("text", f"has {len(text):,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}.")
    tokenizer = zoo.load(model).tokenizer
    try:
        ids = tokenizer.encode(text)
    except ValueError as error:
        raise RecipeError("text", f"{error}.") from None
    if len(ids) > MOST - 2:
        raise RecipeError("text", f"is {len(ids):,} tokens; allowed: {MOST - 2}. Shorten it.")
    pieces = tokenizer.pieces(ids)
    sent = {"document": {"ids": ids, "pieces": pieces}, "label": label, "nonce": _nonce()}
    if selected:
        edges = [0]
        for piece in pieces:
            edges.append(edges[-1] + len(piece))
        sent |= {"initial": True, "select": [[edges.index(selected[0]), edges.index(selected[1])]]}
    return json.dumps(sent, ensure_ascii=False)
