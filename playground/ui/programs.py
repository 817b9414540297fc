"""A section of the page: how to do from a program what a tab does, with the visitor's own knobs filled in."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from urllib.parse import urlsplit

import gradio as gr

from playground import environment
from playground.denoisers.zoo import ModelError
from playground.interfaces import snippets
from playground.recipe import RecipeError
from playground.ui.runs import QUIET

NAMES = {
    "generate": "Watch: a text", "stream": "Watch: a text, live", "infill": "Edit", "interpolate": "Blend",
    "compare": "Compare", "race": "Race", "batch": "Batch",
}  # fmt: skip
LANGUAGES = {"Python": "python", "curl": "shell", "JavaScript": "javascript", "Command line": "shell"}
ABOUT = """### Call it from a program
What you do on a tab as a call, with the knobs as you left them there. [The API page](?view=api), which needs a wide
screen, and the [OpenAPI description](gradio_api/openapi.json) have every endpoint and parameter. The same fields and
seed give the same text here, there and on the command line."""


def shown(name: str, call: Callable[[dict], dict], saved: dict | None, server: str) -> list[str]:
    """The texts of the code boxes: a call of an endpoint, with what `call` makes of a tab's saved knobs, or of none
    where they cannot be used."""
    try:
        fields = call(saved if isinstance(saved, dict) else {})
    except (RecipeError, ModelError, KeyError, TypeError, ValueError):  # a visitor can write anything there
        fields = call({})
    needs_key = bool(environment.text("PLAYGROUND_API_KEY"))
    made = [make(server, name, fields, needs_key) for make in (snippets.python, snippets.curl, snippets.javascript)]
    return [*made, snippets.command(name, fields)]


def address(request: gr.Request) -> str:
    """The page's own address, with a slash at its end, as a program would call it."""
    if os.environ.get("SPACE_HOST"):
        return f"https://{os.environ['SPACE_HOST']}/"
    page = urlsplit(request.headers.get("referer", "") or str(request.request.base_url))
    return f"{page.scheme}://{page.netloc}{page.path.rstrip('/')}/"


def build(calls: dict[str, tuple[gr.BrowserState, Callable[[dict], dict]]], tab: gr.Tab) -> None:
    """Lay out the section where it is called and connect it. `calls`: endpoint -> a tab's saved knobs, and what makes
    a call's fields of them."""
    gr.Markdown(ABOUT, elem_id="programs-about")
    names = [(NAMES[name], name) for name in calls]
    chosen = gr.Radio(names, value=names[0][1], label="What", elem_id="programs-what")
    boxes = []
    for title, language in LANGUAGES.items():
        with gr.Tab(title, elem_id=f"programs-{title.lower().replace(' ', '-')}"):
            boxes.append(gr.Code(language=language, interactive=False, show_label=False, lines=5, wrap_lines=True))
    tools = gr.Markdown(elem_id="programs-mcp", elem_classes="sampler-help")

    def fill(name: str, request: gr.Request, *saved) -> list[str]:
        if name not in calls:  # the Radio lets none through
            raise gr.Error(f"What: nothing is chosen; allowed: {', '.join(calls)}.", print_exception=False)
        at, server = list(calls).index(name), address(request)
        return [*shown(name, calls[name][1], saved[at], server), _tools(server)]

    inputs, outputs = [chosen, *(state for state, _ in calls.values())], [*boxes, tools]
    gr.on([tab.select, chosen.input], fill, inputs, outputs, **QUIET)


def _tools(server: str) -> str:
    if find_spec("mcp") is None:
        return "MCP is off here: this server runs without the package mcp (requirements-mcp.txt)."
    return f"For MCP clients the same endpoints are tools at `{server}gradio_api/mcp/`."
