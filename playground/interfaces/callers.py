"""Whether whoever called an endpoint still waits for its answer. Gradio closes a generator whose caller has left or
cancelled; a function that answers once, at its end, has to look for itself."""

from collections.abc import Iterator
from typing import TypeVar

import gradio as gr
from gradio.context import LocalContext

Item = TypeVar("Item")
NOBODY = "Stopped: nobody waits for it any more."


def have_left() -> bool:
    """Whether who called what runs here has left or cancelled. A call that came through no queue has nobody to ask."""
    called, page = LocalContext.event_id.get(None), LocalContext.blocks.get(None)
    if not called or page is None:
        return False
    event = page._queue.event_ids_to_events.get(called)
    return event is None or not event.alive


def awaited(running: Iterator[Item]) -> Iterator[Item]:
    """What `running` gives, one by one, for as long as it is awaited. Raises gr.Error."""
    for item in running:
        if have_left():
            running.close()
            raise gr.Error(NOBODY, print_exception=False)
        yield item
