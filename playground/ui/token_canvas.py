"""The player, or what is around it on a tab, as a Gradio component: one JSON message in, the whole row drawn; what the
visitor asks for comes back as events."""

import json
from pathlib import Path

import gradio as gr

from playground.interfaces.player import source

# The template is constant and never mentions the value: Gradio evaluates templates as code. The value is
# read with watch() and drawn by the player with textContent.
TEMPLATE = '<div class="dlm-host"></div>'
CREATE = {
    "": "createPlayer", "editor": "createEditor", "blend": "createBlend", "compare": "createCompare",
    "race": "createRace", "batch": "createBatch",
}  # fmt: skip
GLUE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def head() -> str:
    """The sources of the player and of what is around it, once for all canvases: to be in the page's head."""
    sources = json.dumps({part: source(part) for part in ("player", *filter(None, CREATE))}).replace("<", "\\u003c")
    return f"<script>window.dlmSources = {sources};</script>"


class TokenCanvas(gr.HTML):
    """Draws a Trace, on a page that has `head()`: `value` is a trace file's JSON or one message of a live run
    (`Trace.message`). With `history_key`, the key of a history in the browser, an editor is around it: `value` may be
    {document: {ids, pieces}, label, select?, initial?} too. With `around` "blend" it shows a path, with "compare" a
    grid of runs, with "race" a Heat, with "batch" many texts.
    Events: `go` and `halt` when a run is to start or to be cancelled, `turn` when its state() changes; an editor's
    `go` has {ids, holes, pins, text} as event data. `pin` and `unpin` have {row, position, token, seed}. Any client can
    send any value there, so listeners check it.
    """

    def __init__(self, value: str = "", around: str = "", history_key: str = "", **kwargs):
        parts = [part for part in ("player", around) if part]
        given = {"parts": parts, "create": CREATE[around], "storage": history_key, "id": kwargs.get("elem_id", "")}
        kwargs.setdefault("html_template", TEMPLATE)
        kwargs.setdefault("js_on_load", GLUE.replace("GIVEN", json.dumps(given), 1))
        super().__init__(value, apply_default_css=False, padding=False, **kwargs)

    def api_info(self) -> dict:
        return {
            "type": "string",
            "description": "JSON: a trace, or one message of a live run (see playground/trace.py)",
        }
