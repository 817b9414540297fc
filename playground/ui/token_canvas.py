"""The player as a Gradio component: one JSON message in, the whole row drawn; pins come back as events."""

import json
from functools import cache
from pathlib import Path

import gradio as gr

PLAYER = Path(__file__).resolve().parents[2] / "assets" / "player"

# The template is constant and never mentions the value: Gradio evaluates templates as code. The value is
# read with watch() and drawn by the player with textContent.
TEMPLATE = '<div class="dlm-host"></div>'
GLUE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@cache
def player_source() -> dict[str, str]:
    """The player's JavaScript, its files joined in order.txt's order, and its CSS."""
    order = (PLAYER / "order.txt").read_text(encoding="utf-8").split()
    return {
        "js": "\n".join((PLAYER / name).read_text(encoding="utf-8") for name in order),
        "css": (PLAYER / "player.css").read_text(encoding="utf-8"),
    }


class TokenCanvas(gr.HTML):
    """Draws a Trace: `value` is a trace file's JSON or one message of a live run (`Trace.message`).

    Events: `go` and `halt` when a run is to start or to be cancelled, `turn` when its state() changes;
    `pin` and `unpin`, with {row, position, token, seed} as event data: any client can send any value there, so
    listeners check it.
    """

    def __init__(self, value: str = "", **kwargs):
        kwargs.setdefault("html_template", TEMPLATE)
        kwargs.setdefault("js_on_load", GLUE.replace("SOURCE", json.dumps(player_source()), 1))
        super().__init__(value, apply_default_css=False, padding=False, **kwargs)

    def api_info(self) -> dict:
        return {
            "type": "string",
            "description": "JSON: a trace, or one message of a live run (see playground/trace.py)",
        }
