"""The player as a Gradio component: one JSON message in, the whole row drawn; pins come back as events."""

import json
from functools import cache
from pathlib import Path

import gradio as gr

PLAYER = Path(__file__).resolve().parents[2] / "assets" / "player"

# The template is constant and never mentions the value: Gradio evaluates templates as code. The value is
# read with watch() and drawn by the player with textContent.
TEMPLATE = '<div class="dlm-host"></div>'
GLUE = """
const source = SOURCE;
const host = element.querySelector('.dlm-host');
const player = new Function(source.js + '\\nreturn createPlayer;')()(host, {
  css: source.css, source, live: true, autoplay: true,
  onPin: (at) => trigger('pin', {...at, seed: host.seed()}),
  onUnpin: (at) => trigger('unpin', {...at, seed: host.seed()}),
});
host.player = player;
host.seed = () => { const head = player.trace().head; return head ? head.recipe.seed : -1; };
const show = () => {
  if (!props.value) return;
  const data = JSON.parse(props.value);
  if (data.format) player.load(data); else player.push(data);
};
watch('value', show);
show();
"""


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

    Events: `pin` and `unpin`, with {row, position, token, seed} as event data: any client can send
    any value there, so listeners check it.
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
