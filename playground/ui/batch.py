"""The API tab: many texts at once, from typed prompts or a file; and how to call all of this from a program."""

import json
import time
import uuid
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import gradio as gr

from playground import environment
from playground.batches import items, tables
from playground.batches.filters import Filters
from playground.batches.items import Item
from playground.batches.request import prepared
from playground.batches.runner import Batch, Result
from playground.denoisers.zoo import ModelError
from playground.recipe import Recipe, RecipeError
from playground.ui import knobs, programs, runs
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

CANVAS = "batch-canvas"
EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "batch.json"
FORMAT = "diffusion-lm-playground/batch"
KNOBS = ["model", "steps", "length", "temperature", "seed"]
MARKS = ["minimum_tokens", "highest_perplexity", "highest_repetition", "blacklist"]
NAMES = ["prompts", *KNOBS, *MARKS]
EVERY = 0.12  # seconds between two messages
PROMPTS = "Once upon a time\nThe little dragon was\nTom and Lily went to the park\nOne day, a cat"
PLACEHOLDER = "A prompt a line"
KINDS = """A line is a prompt, or in **.jsonl** and **.csv** a set of knobs, so that each text can have its own:
`{"prompt": "Tom ran", "length": 32}`, `{"text": "A [[dog]] sat.", "seed": 7}`. They win over the knobs below.
Text i without a seed of its own has seed + i."""


@cache
def opening() -> Recipe:
    """The knobs that the tab opens with."""
    return Recipe.parse({"length": 48, "steps": 24})


def write_all(file: str | None, prompts: str, *values) -> Iterator[str]:
    """An uploaded file or typed prompts, and the knobs' values -> messages for the view."""
    try:
        read = _reading(file, prompts)
        yield json.dumps({"timing": uuid.uuid4().hex[:12]})  # a canvas only hears of changes
        given = dict(zip(NAMES[1:], values, strict=True))
        running = prepared(read, given, environment.number("PLAYGROUND_BATCH_LIMIT"))
        yield from _messages(running, uuid.uuid4().hex[:12])
    except (RecipeError, ModelError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def _reading(file: str | None, prompts: str):
    """How the items are read. Raises RecipeError."""
    typed = isinstance(prompts, str) and prompts.strip()
    if file and typed and prompts != PROMPTS:  # which the page wrote there itself
        raise RecipeError("prompts", "are in the box, and there is a file too; remove one of the two.")
    if not file and not typed:
        raise RecipeError("prompts", "are empty; type some, a line each, or upload a file.")
    if file:
        return partial(items.read_file, file)
    return partial(items.read, "prompts.txt", prompts.encode("utf-8", "replace"))


def _messages(running: Batch, name: str) -> Iterator[str]:
    def message(**fields) -> str:
        return json.dumps({"batch": name} | fields, ensure_ascii=False, separators=(",", ":"))

    yield message(head=described(running))
    started = told = time.monotonic()
    results = []
    for result in running.live():
        results += [result] if result else []
        if time.monotonic() - told > EVERY:
            yield message(results=[told_of(r) for r in results], **_progress(running))
            told, results = time.monotonic(), []
    end = {"status": "finished", "seconds": round(time.monotonic() - started, 2)}
    yield message(results=[told_of(r) for r in results], end=end)


def _progress(running: Batch) -> dict:
    working = [item.index for attempt in running.running for item in attempt.items]
    left = running.left if running.left is None else round(running.left, 2)
    return {"working": working, "share": round(running.share, 3), "left": left}


def described(running: Batch) -> dict:
    """What the view is told first: of each item its place and what is asked for; the head of the table as a file."""
    about = [{"place": item.id or item.place, "asked": _asked(item), "link": _link(item)} for item in running.items]
    return {"items": about, "seconds": round(running.expected, 2), "csv": tables.csv_text([])}


def _asked(item: Item) -> str:
    if item.recipe is None:
        return item.given if isinstance(item.given, str) else json.dumps(item.given, ensure_ascii=False)
    return item.recipe.text or item.recipe.prompt


def _link(item: Item) -> str | None:
    """The address that shows this run in Watch, which edits nothing."""
    return None if item.recipe is None or item.recipe.text else item.recipe.to_query()


def told_of(result: Result) -> dict:
    """A result for the view, with its own lines of the files."""
    found = result.to_dict()
    names = ("index", "text", "tokens", "perplexity", "repetition", "marks", "error")
    recipe = found["recipe"] if isinstance(found["recipe"], dict) else {}
    more = {"more": max(0, len(found.get("texts") or ()) - 1), "seed": recipe.get("seed")}
    files = {"jsonl": tables.line(found), "csv": tables.csv_lines([found])}
    return {name: found[name] for name in names} | more | files


def recorded(running: Batch) -> dict:
    """A batch, run here, as the tab shows it at first."""
    head, found = described(running), sorted(running.run(), key=lambda result: result.index)
    end = {"status": "finished", "seconds": round(sum(result.seconds or 0 for result in found), 2)}
    return {"format": FORMAT, "head": head, "results": [told_of(result) for result in found], "end": end}


def build(saved: gr.BrowserState, page: gr.Blocks, tab: gr.Tab, calls: dict) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs in the visitor's browser; `calls` are those of the other
    tabs from a program (see programs.build)."""
    boxes = {}
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            canvas = TokenCanvas(EXAMPLE.read_text(encoding="utf-8"), "batch", elem_id=CANVAS)
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts = _desk(boxes)
    programs.build(calls | {"batch": (saved, call)}, tab)
    inputs = [boxes[name] for name in NAMES]
    runs.connect(canvas, write_all, [parts["file"], *inputs], [canvas], parts["run"], parts["stop"], name="Write all")
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    page.load(restore, saved, inputs, **QUIET)


def _desk(boxes: dict) -> dict:
    parts = {}
    boxes["prompts"] = gr.Textbox(
        PROMPTS, label="Prompts", lines=5, max_lines=10, placeholder=PLACEHOLDER, elem_id="batch-prompts"
    )
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Write all", variant="primary", elem_id="batch-run", min_width=120, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="batch-stop", min_width=80, interactive=False)
    with gr.Accordion("A file instead", open=False, elem_id="batch-upload"):
        gr.Markdown(KINDS, elem_classes="sampler-help")
        parts["file"] = gr.File(label="File", file_types=list(items.KINDS), height=110, elem_id="batch-file")
    for name in KNOBS:
        boxes[name] = _knob(name)
    with gr.Accordion("Mark texts", open=False):
        gr.Markdown("Nothing is left out: a text is marked, and says why.", elem_classes="sampler-help")
        for name in MARKS:
            boxes[name] = _mark(name)
    return parts


def _knob(name: str):
    info = "Of the first text. Empty: a new one each time." if name == "seed" else None
    return knobs.component(name, opening(), info=info, elem_id=f"batch-{name}")


def _mark(name: str):
    f, value = Filters.__dataclass_fields__[name], getattr(Filters(), name)
    about = {"label": f.metadata["label"], "info": f.metadata["help"], "elem_id": f"batch-{name}"}
    return gr.Textbox(value, **about) if f.type is str else knobs.Number(value, **about)


def restore(saved: dict | None) -> list:
    """The prompts and knobs last used in this browser."""
    try:
        kept = [saved[name] for name in NAMES]
        values = dict(zip(NAMES, kept, strict=True))
        items.checked({name: values[name] for name in KNOBS if (name, values[name]) != ("seed", "")})
        Filters.parse({name: values[name] for name in MARKS})
    except (RecipeError, TypeError, KeyError, AttributeError):  # a visitor can write anything there
        return [gr.skip()] * len(NAMES)
    return kept if isinstance(kept[0], str) else [gr.skip()] * len(NAMES)


def call(saved: dict) -> dict:
    """The fields of a call that writes what the saved prompts and knobs ask for. Raises RecipeError."""
    prompts = [line for line in str(saved.get("prompts") or PROMPTS).splitlines() if line.strip()]
    given = {name: saved[name] for name in KNOBS if name in saved and (name, saved[name]) != ("seed", "")}
    base = items.checked({name: getattr(opening(), name) for name in KNOBS} | given)
    filters = Filters.parse({name: saved.get(name) for name in MARKS}).to_dict()
    marked = {name: value for name, value in filters.items() if value != getattr(Filters(), name)}
    return {"items": prompts} | {name: value for name, value in base.items() if (name, value) != ("seed", -1)} | marked
