"""Gradio's MCP server, kept to what this page offers: tools, and nobody computes for a client that has gone."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from gradio import Blocks
from gradio.route_utils import API_PREFIX
from gradio.server_messages import ProcessCompletedMessage

from playground import __version__
from playground.interfaces.callers import NOBODY

PATHS = re.compile(API_PREFIX + "/mcp(/|/http/?|/sse|/schema|/messages/?)?")
MESSAGES = "/messages"
LOOKS = 0.2  # seconds between looks whether a client is still there
NOT_OFFERED = ("Prompt", "Resource")


def settle(page: Blocks) -> None:
    """Set up the MCP server of a page that has one; nothing otherwise. A server says its program's version."""
    server = page.mcp_server_obj
    if server is None:
        return
    server.mcp_server.version = __version__
    handlers = server.mcp_server.request_handlers
    for kind in [kind for kind in handlers if any(name in kind.__name__ for name in NOT_OFFERED)]:
        del handlers[kind]  # Gradio's answer to a prompt of any name would call an endpoint
    for name in ("_execute_tool_without_progress", "_execute_tool_with_progress"):
        setattr(server, name, _awaited(page, getattr(server, name)))


def _awaited(page: Blocks, execute: Callable[..., Awaitable]) -> Callable[..., Awaitable]:
    """`execute`, whose job is stopped when the client that asked has gone."""
    server, stopping = page.mcp_server_obj.mcp_server, set()

    async def watch(job, request):
        await _gone(request)
        await _stop(page, job)

    async def executed(job, *rest):
        watching = asyncio.create_task(watch(job, server.request_context.request))
        try:
            return await execute(job, *rest)
        except BaseException:  # as where it tells a client that has gone how far it is
            task = asyncio.create_task(_stop(page, job))
            stopping.add(task)
            task.add_done_callback(stopping.discard)
            raise
        finally:
            watching.cancel()

    return executed


async def _stop(page: Blocks, job) -> None:
    """End this job alone. Its own cancel() would end all that its session has at the same endpoint, and all clients of
    the MCP server share one session."""
    while job.communicator.event_id is None and not job.done():
        await asyncio.sleep(LOOKS)
    queue = page._queue
    event = queue.event_ids_to_events.get(job.communicator.event_id)
    if event is None or not event.alive:
        return
    await queue.clean_events(event_id=event._id)
    messages = queue.pending_messages_per_session.get(event.session_hash)
    if messages is not None:  # else it would wait for its answer for good
        messages.put_nowait(ProcessCompletedMessage(output={"error": NOBODY}, success=False, event_id=event._id))


async def _gone(request) -> None:
    """Wait until whoever sent a request has gone."""
    if request is None or MESSAGES in request.scope["path"]:  # the answer comes in another request
        await asyncio.Event().wait()
    while not await request.is_disconnected():
        await asyncio.sleep(LOOKS)


def misread(call: dict) -> str | None:
    """What is wrong with a JSON-RPC message to an MCP server (JSON-RPC 2.0, section 4); None where it can be read."""
    params, number = call.get("params", {}), call.get("id", 0)
    if call.get("jsonrpc") != "2.0":
        return 'its jsonrpc is not "2.0"'
    if not isinstance(number, int | str) or isinstance(number, bool):
        return "its id is neither a whole number nor a text"
    if "method" not in call:  # a client's answer
        return None if ("result" in call) != ("error" in call) else "it has no method"
    if not (isinstance(call["method"], str) and re.fullmatch(r"[\w/$]{1,64}", call["method"], re.ASCII)):
        return "its method is not the name of one"
    if not isinstance(params, dict):
        return "its params are not an object"
    if call["method"] == "tools/call":
        if not (isinstance(params.get("name"), str) and re.fullmatch(r"\w{1,64}", params["name"], re.ASCII)):
            return "its params have no name of a tool"
        if not isinstance(params.get("arguments") or {}, dict):
            return "the arguments of its tool are not an object"
    return None
