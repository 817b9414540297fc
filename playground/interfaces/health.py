"""/health and /version, for whoever watches the server: JSON, answered before the page's own routes."""

import time

from starlette.responses import JSONResponse
from starlette.routing import Route

from playground import __version__
from playground.denoisers import zoo

STARTED = time.monotonic()


def routes() -> list[Route]:
    """Both routes; they answer GET and HEAD."""
    return [Route("/health", health), Route("/version", version)]


async def health(request) -> JSONResponse:
    """The server answers, and these are its models: name and family."""
    return JSONResponse(
        {
            "status": "ok", "version": __version__, "models": zoo.catalogue(),
            "uptime_seconds": round(time.monotonic() - STARTED, 1),
        }
    )  # fmt: skip


async def version(request) -> JSONResponse:
    """The version alone."""
    return JSONResponse({"version": __version__})
