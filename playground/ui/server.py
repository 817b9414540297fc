"""The web server around the page: what is handed to the application below Gradio, and two things that Gradio's own
code for queues and values does not survive, or not well."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import gradio as gr
from fastapi.exceptions import RequestValidationError
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from playground import log
from playground.interfaces import health, mcp_server
from playground.interfaces.guard import Guard

UNREADABLE = "The request cannot be read: it has fewer values than this event takes, or one of another kind."


def app_kwargs(page: gr.Blocks) -> dict:
    """Arguments of the FastAPI application: its routes come before Gradio's, and a guard before all routes."""
    _outlive_visitors(page)
    _name_the_fault(page)

    @asynccontextmanager
    async def lifespan(app) -> AsyncIterator[None]:
        mcp_server.settle(page)  # by now it is there
        yield

    return {
        "routes": health.routes(), "middleware": [Middleware(Guard)], "lifespan": lifespan, "openapi_url": None,
        "exception_handlers": {RequestValidationError: _of_another_kind},
    }  # fmt: skip


async def _of_another_kind(_: Request, error: RequestValidationError) -> JSONResponse:
    """The fields that are missing or of another kind, without sending back what they were."""
    fields = {".".join(map(str, fault["loc"][1:]))[:100] for fault in error.errors()}
    return JSONResponse({"detail": f"{UNREADABLE} See {', '.join(sorted(fields)[:8]) or 'its body'}."}, 422)


def _outlive_visitors(page: gr.Blocks) -> None:
    """A message to a session that is gone is dropped. Gradio's queue raises then, and all its work ends for good."""
    send = page._queue.send_message

    def send_message(event, message) -> None:
        if event.session_hash in page._queue.pending_messages_per_session:
            send(event, message)

    page._queue.send_message = send_message


def _name_the_fault(page: gr.Blocks) -> None:
    """Values that a component cannot take are the request's fault and are answered with a sentence. No event here is
    given files by their addresses, which Gradio would fetch."""
    preprocess = page.preprocess_data

    async def preprocess_data(block_fn, inputs, *rest, **named):
        examples = [value for box, value in zip(block_fn.inputs, inputs, strict=False) if isinstance(box, gr.Dataset)]
        try:
            if any(map(_has_address, inputs)) or not all(isinstance(example, int) for example in examples):
                raise ValueError
            return await preprocess(block_fn, inputs, *rest, **named)
        except gr.Error as error:
            error.print_exception = False  # a sentence of the component's own
            raise
        except Exception as error:
            log.event("values refused", endpoint=block_fn.api_name, error=type(error).__name__)
            raise gr.Error(UNREADABLE, print_exception=False) from None

    page.preprocess_data = preprocess_data


def _has_address(value) -> bool:
    """Whether a file is named by an address, anywhere in a JSON value."""
    if isinstance(value, dict):
        path = str(value.get("path") or "").lower()  # a file that was uploaded has a url too, which nobody fetches
        return path.startswith(("http:", "https:")) or any(map(_has_address, value.values()))
    return isinstance(value, list) and any(map(_has_address, value))
