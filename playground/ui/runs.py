"""Runs on the page: started and stopped through their canvas, which knows what runs (see token_canvas.js)."""

import html
import re

import gradio as gr

from playground.interfaces import access, zerogpu

QUIET = {"show_progress": "hidden", "api_visibility": "private", "queue": False}


def host(elem_id: str) -> str:
    """JavaScript for the element that holds the canvas's player and starts and stops its runs."""
    return f"document.querySelector('#{elem_id} .dlm-host')"


def start(elem_id: str) -> str:
    """JavaScript that starts a run; one that a link asks for may be wanted before the canvas has loaded."""
    return f"""() => {{
  const start = () => ({host(elem_id)}?.start ? {host(elem_id)}.start() : setTimeout(start, 50));
  start();
}}"""


def reveal(elem_id: str) -> str:
    """JavaScript that brings the canvas into view."""
    return f"() => {host(elem_id)}.player.reveal()"


def connect(
    canvas, function, inputs: list, outputs: list, run: gr.Button, stop: gr.Button, name: str, line=None, timed=False
):
    """Run `function` whenever the canvas asks for it, and let `run`, which is called `name` while nothing runs, and
    `stop` follow. On the component `line`, if there is one, the place in the queue is shown. One that is `timed` waits
    until nothing else is. Returns the event of the run."""
    js = host(canvas.elem_id)
    shown = {"show_progress": "minimal", "show_progress_on": [line]} if line else {"show_progress": "hidden"}
    queue = access.TIMED if timed else access.together()
    event = canvas.go(
        access.admitted(zerogpu.on_gpu(function)),
        inputs,
        outputs,
        api_visibility="private",
        trigger_mode="multiple",
        **queue | shown,
    )
    event.success(None, js=f"() => {js}.completed()", **QUIET)
    event.failure(None, js=f"() => {js}.gone()", **QUIET)
    canvas.halt(None, cancels=[event], **QUIET)
    canvas.turn(None, None, [run, stop], js=_buttons(js, name), **QUIET)
    run.click(None, js=start(canvas.elem_id), **QUIET)
    stop.click(None, js=f"() => {js}.stop()", **QUIET)
    return event


def plain(error: Exception | str) -> str:
    """A sentence for a toast, which Gradio renders as HTML: what a visitor or a link put in it stays text."""
    return html.escape(str(error), quote=False)


def keep(names: list[str]) -> str:
    """JavaScript that makes one object of the values of the named components."""
    return f"(...values) => [Object.fromEntries({names}.map((name, i) => [name, values[i]]))]"


def _buttons(js: str, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z ]+", name):
        raise ValueError(f"the name of a button is {name!r}; letters and spaces are allowed.")
    return f"""() => {{
  const state = {js}.state();
  const names = {{idle: "{name}", waiting: "Waiting in line", running: "Running · restart"}};
  return [
    {{__type__: "update", value: names[state]}},
    {{__type__: "update", interactive: state !== "idle"}},
  ];
}}"""
