"""Whether a request can be read at all: its address and headers, the JSON in its body, and the event that it names."""

import json
import re
from functools import cache

from gradio import Blocks
from gradio.route_utils import API_PREFIX
from starlette.datastructures import Headers, QueryParams
from starlette.types import Message, Receive, Scope

from playground.interfaces import mcp_server

LARGEST = 10_000_000  # bytes of a body; of a file among several in an upload PLAYGROUND_UPLOAD_BYTES
LARGEST_NUMBER = 2**63  # the writer of answers knows no larger whole ones
DEEPEST = 32  # brackets in brackets
MOST_VALUES = 100_000  # of a body, as its commas and opening brackets tell: taking apart more would keep others waiting
LONGEST_PATH, LONGEST_NAME, LONGEST_QUERY, LONGEST_SESSION = 1000, 255, 60_000, 128
# Routes that this page has no use for: they fetch addresses for others, write files or call a component's methods.
CLOSED = re.compile(
    API_PREFIX + "/+(proxy=|file[=/]+https?:|component_server|custom_component|process_recording|deep_link|stream/|"
    "vibe|undo-vibe)", re.I,
)  # fmt: skip
UPLOAD, MCP, FILES, INFO = (f"{API_PREFIX}/{name}" for name in ("upload", "mcp", "file", "info"))
NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
EVENT = re.compile(API_PREFIX + "/(run|api|call/v2|call|queue/join)(?:/([^/]*))?/?")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]*)(:\d{1,5})?", re.ASCII)


class Refused(Exception):
    """A request that is not let through: the status and the sentence of the answer."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Gone(Exception):
    """Whoever sent a request has left before it was there."""


def unreadable(why: str) -> Refused:
    """A request that is malformed."""
    return Refused(400, f"The request cannot be read: {why}.")


def check_head(scope: Scope) -> None:
    """Path, query and the headers from which Gradio makes this page's own address. Raises Refused."""
    path = scope["path"]
    if CLOSED.match(path) or (path.startswith(MCP) and not mcp_server.PATHS.fullmatch(path)):
        raise Refused(404, "There is nothing at this address.")
    if len(path) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_QUERY:
        raise Refused(414, "The request cannot be read: its address is too long.")
    if CONTROL.search(path) or any(len(name.encode()) > LONGEST_NAME for name in path.split("/")):
        raise unreadable("its path has a name that no file can have")
    _check_query(path, QueryParams(scope["query_string"]))
    headers = Headers(scope=scope)
    if any(part.strip() not in ("", "http", "https") for part in headers.get("x-forwarded-proto", "").split(",")):
        raise unreadable("the header x-forwarded-proto is neither http nor https")
    for name in ("host", "x-forwarded-host"):
        if not HOST.fullmatch(headers.get(name, "").split(",")[0].strip()):
            raise unreadable(f"the header {name} is not the name of a host")
    # From the first Gradio would take this page's address; it is for a proxy of Gradio's own, which is not used here.
    # Its answer to the second, for a visitor's file, has the headers of the request in it.
    ignored = [b"x-gradio-server"] + [b"range"] * path.startswith(FILES)
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in ignored]


def _check_query(path: str, query: QueryParams) -> None:
    if query.get("page"):
        raise Refused(404, "There is no page of this name.")
    if path == f"{UPLOAD}_progress" and not NAME.fullmatch(query.get("upload_id", "")):
        raise unreadable("upload_id is not the name of an upload")


async def checked(scope: Scope, receive: Receive) -> Receive:
    """What gives the same body: JSON for Gradio, read and found in order, and anything else as it comes, up to a
    limit. Raises Refused, for what comes piece by piece while it is read, and Gone."""
    path, kind = scope["path"], Headers(scope=scope).get("content-type", "").split(";")[0].strip().lower()
    so_far = 0

    async def limited() -> Message:
        nonlocal so_far
        message = await receive()
        so_far += len(message.get("body", b""))
        if so_far > LARGEST:
            raise Refused(413, f"The request is too large: up to {LARGEST // 1_000_000} MB are allowed.")
        return message

    if scope["method"] != "POST" or not path.startswith(f"{API_PREFIX}/") or path.startswith(UPLOAD):
        return limited
    if kind != "application/json":
        raise Refused(415, "The request cannot be read: its content type has to be application/json.")
    parts, message = [], {"more_body": True}
    while message.get("more_body"):
        message = await limited()
        parts.append(message.get("body", b""))
    if message["type"] != "http.request":
        raise Gone
    body = b"".join(parts)
    call = parsed(body)
    if not path.startswith(MCP):
        check_event(path, call, scope["app"].get_blocks())
    elif why := mcp_server.misread(call):
        raise unreadable(why)
    parts[:] = [body]

    async def replayed() -> Message:
        return {"type": "http.request", "body": parts.pop()} if len(parts) == 1 else await receive()

    return replayed


def parsed(body: bytes) -> dict:
    """The JSON object in a body; what JSON has no word for, or what cannot be sent back, is refused. Raises Refused."""
    if sum(body.count(sign) for sign in (b",", b"[", b"{")) > MOST_VALUES:
        raise Refused(413, f"The request has too many values: up to {MOST_VALUES:,} are allowed.")
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise unreadable("its body is not JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise unreadable("its body is not a JSON object")
    level = [found]
    for _ in range(DEEPEST):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return found
    raise unreadable(f"it has more than {DEEPEST} brackets in brackets")


def _no_number(name: str) -> None:
    raise ValueError(name)


def _parts(value) -> list:
    """What a JSON value has in it. Raises Refused."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list):
        return value
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise unreadable("a text has half a character (a lone surrogate)")
    if isinstance(value, int | float) and not -LARGEST_NUMBER < value < LARGEST_NUMBER:
        raise unreadable("a number is too large")
    return []


def check_event(path: str, body: dict, page: Blocks) -> None:
    """That a call names an event of the page and a session that can be one. Raises Refused."""
    session = body.get("session_hash")
    if isinstance(session, str) and not (session.isprintable() and 0 < len(session) <= LONGEST_SESSION):
        raise unreadable("session_hash is not the name of a session")
    call = EVENT.fullmatch(path)
    if not call:
        return
    kind, name = call.groups()
    if kind == "call/v2":
        if name not in (known := _endpoints(page)):
            raise Refused(404, "There is no endpoint of this name.")
        if unknown := next((key for key in body if key not in known[name]), None):
            raise unreadable(f"{unknown[:40]!r} is no field of this endpoint")
        return
    index = None if kind == "call" else body.get("fn_index")
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise unreadable("fn_index is not a whole number")
    named = (event for event in page.fns.values() if event.api_name == name)
    event = next(named, None) if index is None else page.fns.get(index)
    if event is None or event.fn is None:
        raise Refused(404, "There is no endpoint of this name.")


@cache
def _endpoints(page: Blocks) -> dict[str, set[str]]:
    """Public endpoint -> names of its fields."""
    described = page.get_api_info()["named_endpoints"]
    return {name.strip("/"): {field["parameter_name"] for field in of["parameters"]} for name, of in described.items()}
