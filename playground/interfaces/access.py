"""Who may compute, and how often: how runs queue, a rate for each visitor, a key for the API. The rate and the key are
off unless the environment sets them."""

import hmac
import inspect
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import gradio as gr

from playground import environment

MOST_VISITORS = 10_000  # remembered at once
TIMED = {"concurrency_id": "timed", "concurrency_limit": 1}  # how what measures time queues: one after another


def together() -> dict:
    """How runs queue: so many go on at the same time, sharing their forward passes."""
    return {"concurrency_id": "model", "concurrency_limit": environment.count("PLAYGROUND_CONCURRENCY")}


@dataclass
class Buckets:
    """A bucket of tokens for each visitor: it holds as many as a minute brings, and a run takes one."""

    clock: Callable[[], float] = time.monotonic
    found: dict[str, tuple[float, float]] = field(default_factory=dict)  # visitor -> (tokens, when)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, visitor: str, rate: float) -> float:
        """Take a token and return 0, or return the seconds until there is one. `rate` is tokens a minute."""
        with self.lock:
            now = self.clock()
            tokens, since = self.found.pop(visitor, (rate, now))
            tokens = min(rate, tokens + (now - since) * rate / 60)
            taken = tokens >= 1
            self.found[visitor] = (tokens - taken, now)  # the one who came last is at the end
            while len(self.found) > MOST_VISITORS:
                del self.found[next(iter(self.found))]
            return 0.0 if taken else (1 - tokens) * 60 / rate


BUCKETS = Buckets()


def visitor(request: gr.Request) -> str:
    """The address of whoever sent a request. PLAYGROUND_PROXIES says how many proxies in front of this server each add
    the address they were called from to X-Forwarded-For; what stands before those anybody can make up. On Spaces it is
    1, elsewhere 0."""
    proxies = environment.count("PLAYGROUND_PROXIES", 1 if os.environ.get("SPACE_ID") else 0)
    hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",")]
    if proxies and len(hops) >= proxies and hops[-proxies]:
        return hops[-proxies][:64]
    return request.client.host if request.client else ""


def admit(request: gr.Request | None, by_program: bool) -> None:
    """Raises gr.Error for a program without the API's key, PLAYGROUND_API_KEY, and for a visitor who starts more runs
    than PLAYGROUND_RATE a minute. Calls from this process have no request and are let in."""
    if request is None:
        return
    key, given = environment.text("PLAYGROUND_API_KEY"), _key(request)
    if by_program and key and not hmac.compare_digest(given.encode(), key.encode()):
        said = "is wrong" if given else "is missing"
        raise gr.Error(f"X-API-Key: {said}; this server's API needs its key in that header.", print_exception=False)
    rate = environment.number("PLAYGROUND_RATE")
    wait = BUCKETS.wait(visitor(request), max(1.0, rate)) if rate else 0
    if wait:
        raise gr.Error(
            f"rate: more than {rate:g} runs a minute; allowed again in {math.ceil(wait)} s.", print_exception=False
        )


def _key(request: gr.Request) -> str:
    bearer = request.headers.get("authorization", "")
    return request.headers.get("x-api-key", "") or bearer.removeprefix("Bearer ") * bearer.startswith("Bearer ")


def admitted(function: Callable, by_program: bool = False) -> Callable:
    """An event's function, or an endpoint's if it is called `by_program`, that first asks whether it may run."""
    if inspect.isgeneratorfunction(function):

        def gate(request, *values):
            admit(request, by_program)
            yield from function(*values)

    else:

        def gate(request, *values):
            admit(request, by_program)
            return function(*values)

    parameters = inspect.signature(function).parameters
    own = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    gate.__signature__ = inspect.signature(function).replace(parameters=[own, *parameters.values()])
    gate.__annotations__ = {"request": gr.Request} | function.__annotations__
    gate.__name__, gate.__doc__ = function.__name__, function.__doc__
    return gate
