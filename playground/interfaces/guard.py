"""What stands before Gradio's routes: a request that cannot be read is answered with a sentence, as JSON, and never
reaches them; what fails behind it is written to the log, and its insides are not told."""

import json
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playground import log
from playground.interfaces.readable import INFO, UPLOAD, Gone, Refused, check_head, checked

HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}  # of every answer
FAILED = "The server failed at this request; its log says where."


class Guard:
    """ASGI middleware. Answers pass through it as they come, and so do uploads."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        answer = Answer(scope, receive, send)
        try:
            check_head(scope)
            if scope["path"] == INFO:
                scope["app"].api_info = None  # else everyone would be told the address at which the first asked
            await self.app(scope, await checked(scope, receive), answer.send)
        except Refused as refused:
            await answer.end(refused.status, refused.sentence)
        except Gone:
            pass
        except Exception as error:
            if not isinstance(error.__cause__, HTTPException):  # as of a stream which is about nothing
                _log(scope, type(error).__name__, _where(error))
            if scope["path"].startswith(UPLOAD) and not isinstance(error, OSError | MemoryError):
                await answer.end(400, "The request cannot be read: these are not files of a form.")
            else:
                await answer.end(500, FAILED)


class Answer:
    """An answer on its way out, with two more headers. What an event of ours refuses with a sentence in a direct call
    is a fault of the request, which Gradio takes for one of the server."""

    def __init__(self, scope: Scope, receive: Receive, send: Send):
        self.scope, self.receive, self.out = scope, receive, send
        self.started = self.is_stream = False
        self.failure: Message | None = None  # held back until its body is there
        self.over = False

    async def send(self, message: Message) -> None:
        self.over |= self.started and message["type"] == "http.response.start"
        if self.over:  # the MCP server answers once more when a listener has gone
            return
        if message["type"] == "http.response.start":
            given = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = message | {"headers": [*message.get("headers", []), *given]}
            self.started = True
            self.is_stream = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
            if message["status"] == 500:
                self.failure = message
                return
        elif self.failure:
            if _is_sentence(message.get("body", b"")):
                self.failure["status"] = 400
            else:
                _log(self.scope, "", "an event")
            await self.out(self.failure)
            self.failure = None
        await self.out(message)

    async def end(self, status: int, sentence: str) -> None:
        """Answer with a sentence; a stream that has begun is closed."""
        if not self.started:
            await JSONResponse({"detail": sentence}, status, HEADERS)(self.scope, self.receive, self.out)
        elif self.is_stream:
            await self.out({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            raise ConnectionError("An answer broke off.") from None  # so that nobody takes what was sent for all of it


def _is_sentence(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body)["error"], str)
    except (ValueError, KeyError, TypeError):
        return False


def _log(scope: Scope, error: str, where: str) -> None:
    log.event("request failed", method=scope["method"], path=scope["path"][:100], error=error, where=where)


def _where(error: Exception) -> str:
    """The last places an error went through; not its message, which may have what a visitor wrote."""
    places, at = [], error.__traceback__
    while at:
        code = at.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{at.tb_lineno} {code.co_name}")
        at = at.tb_next
    return " > ".join(places[-3:])
