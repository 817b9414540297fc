"""Many calls by several programs at once to a server of its own: what fails, and whether its memory grows."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from playground import memory
from playground.denoisers import zoo
from playground.engine import RunError
from playground.interfaces.bench_calls import ROUND, Call, calls

ROOT = Path(__file__).parents[2]
PROGRAMS = 4  # that call at once
WARM_UP = 4 * len(ROUND)  # calls, every form of every kind among them
RESTS = 2.5  # seconds before a reading, in which the server hands back what it does not need
READINGS = 10  # of the memory, after the one that ends the warm-up
UP, ANSWERED = 180, 120  # seconds that the server may take to come up, and a call to be answered
LAST = Call("/generate", {"prompt": "Once upon a time", "length": 32, "steps": 8, "seed": 7})
SHOWN = 5  # failures whose sentences are told
OWN = {"PLAYGROUND_LOG": "off", "PLAYGROUND_RATE": "0", "PLAYGROUND_API_KEY": ""}  # so that nothing else is refused


def soak(count: int, progress: Callable[[str], None] = lambda line: None, warm_up: int = WARM_UP) -> dict:
    """`count` calls after a warm-up, by PROGRAMS programs at once. `answered`, `refused` (as they had to be) and
    `failed` add up to all of them, those of the warm-up too. `rss_mb`: the server's resident memory (2**20 bytes) after
    the warm-up and then READINGS times, while nothing runs; `growth_percent`: from the first to the last; None where
    the system does not tell. Then what the server still does: see _after. Once nothing is answered any more, it ends
    early. Raises RunError where the server does not come up."""
    outcomes, rss, todo = [], [], calls(warm_up + count)
    with _server() as (process, url), ExitStack() as stack, ThreadPoolExecutor(PROGRAMS) as pool:
        programs = [stack.enter_context(closing(_program(url))) for _ in range(PROGRAMS)]
        first, started = _answer(programs[0], LAST), time.perf_counter()
        for part in range(READINGS + 1):
            upto = warm_up + count * part // READINGS
            shares = [todo[len(outcomes) + i : upto : PROGRAMS] for i in range(PROGRAMS)]
            found = [outcome for share in pool.map(_outcomes, programs, shares) for outcome in share]
            outcomes += found
            time.sleep(RESTS)
            rss.append(memory.resident(process.pid))
            progress(f"soak: {upto} of {len(todo)} calls")
            if found and all(map(_is_failure, found)):
                break  # as all others would, each after as long as it may take
        seconds = round(time.perf_counter() - started, 1)
        after = _after(programs[0], url, first)
    is_read = None not in rss
    failures = list(filter(_is_failure, outcomes))
    return {
        "calls": count, "warm_up": warm_up, "seconds": seconds, "answered": outcomes.count("answered"),
        "refused": outcomes.count("refused"), "failed": len(failures), "failures": failures[:SHOWN],
        "rss_mb": [round(mb) for mb in rss] if is_read else None,
        "growth_percent": round(100 * (rss[-1] / rss[0] - 1), 1) if is_read else None,
    } | after  # fmt: skip


def _outcomes(client, share: list[Call]) -> list[str]:
    """For each call "answered", "refused", as it had to be, or what went wrong."""
    return [_outcome(call, _answer(client, call)) for call in share]


def _outcome(call: Call, answer) -> str:
    if isinstance(answer, str):
        return "refused" if call.refusal and call.refusal in answer else f"{call.endpoint} {call.fields}: {answer}"
    return f"{call.endpoint} {call.fields}: was answered" if call.refusal else "answered"


def _is_failure(outcome: str) -> bool:
    return outcome not in ("answered", "refused")


def _answer(client, call: Call) -> dict | list | str:
    """A call's answer, or what went wrong in a sentence."""
    try:
        return client.submit(**call.fields, api_name=call.endpoint).result(timeout=ANSWERED)
    except Exception as error:  # whatever it is, a soak counts it and goes on
        return str(error) or type(error).__name__


def _after(client, url: str, first) -> dict:
    """Whether /models and /health still answer, the seconds LAST takes now, and whether its text is that of `first`,
    its answer before all calls."""
    models, started = _answer(client, Call("/models", {})), time.perf_counter()
    again = _answer(client, LAST)
    seconds = round(time.perf_counter() - started, 2)
    both = isinstance(first, dict) and isinstance(again, dict)
    return {
        "models_answers": isinstance(models, list) and len(models) == len(zoo.catalogue()),
        "health_answers": _is_healthy(url), "last_call_seconds": seconds,
        "same_text": both and first["text"] == again["text"],
    }  # fmt: skip


def _program(url: str):
    """A program that calls, with a connection of its own. Raises RunError."""
    import httpx
    from gradio_client import Client  # here, as it takes long to import

    try:
        return Client(url, verbose=False, analytics_enabled=False, httpx_kwargs={"timeout": ANSWERED})
    except httpx.HTTPError as error:
        raise RunError(f"The server came up and then let no program in: {error}") from None


@contextmanager
def _server() -> Iterator[tuple[subprocess.Popen, str]]:
    """`python app.py` on a free port and its address; it is ended whatever happens."""
    port = _free_port()
    command = [sys.executable, "app.py", "--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | OWN, stdout=said, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}/"
            if not _is_up(process, url):
                said.seek(0)
                raise RunError(f"The server did not come up: {said.read().strip()[-200:] or 'it says nothing.'}")
            yield process, url
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _is_up(process: subprocess.Popen, url: str) -> bool:
    ends = time.monotonic() + UP
    while process.poll() is None and time.monotonic() < ends:
        if _is_healthy(url):
            return True
        time.sleep(0.2)
    return False


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}health", timeout=10) as answer:
            return json.load(answer)["status"] == "ok"
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
