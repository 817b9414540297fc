"""`python app.py`: loads every model, then serves the page, or tries out whether it could."""

import argparse
import contextlib
import json
import socket
import sys
import urllib.request
from collections.abc import Iterator
from itertools import chain

import gradio as gr

from playground import __version__, environment, log, memory
from playground.denoisers import zoo
from playground.denoisers.together import PASSES
from playground.engine import record
from playground.environment import SettingError
from playground.recipe import Recipe, RecipeError
from playground.ui.page import build, launch

TRIED = {"prompt": "Once upon a time", "length": 24, "steps": 4, "seed": 1}


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for, with its host and port checked; --selftest and --version end here."""
    found = _parser().parse_args(arguments)
    if found.selftest:
        raise SystemExit(_selftest())
    try:
        environment.check()
        found.host = found.host or environment.text("GRADIO_SERVER_NAME")
        found.port = checked_port(found.port or environment.text("GRADIO_SERVER_PORT"), found.host)
    except (RecipeError, SettingError) as error:
        raise SystemExit(f"app: {error}") from None
    return found


def ready() -> gr.Blocks:
    """The page, with every model loaded before the first visitor comes. From now on there is a log."""
    try:
        environment.check()
        log.start()
        memory.steady(lambda: PASSES.made)
        for name in zoo.catalogue():
            zoo.load(name)
        return build()
    except (zoo.ModelError, SettingError) as error:
        raise SystemExit(f"app: {error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python app.py", description="Serve the Diffusion LM Playground.")
    parser.add_argument("--port", help="1 to 65535, or auto: the next free one from 7860 on.")
    parser.add_argument("--host", help="Address to listen on; 0.0.0.0 is all of this machine's. Default 127.0.0.1.")
    parser.add_argument("--selftest", action="store_true", help="Try every model and the page, and say what works.")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def checked_port(port: str | int, host: str) -> int | None:
    """A port that is free on a host; None for auto, where Gradio takes the next free one. Raises RecipeError."""
    if port == "auto":
        return None
    try:
        number = int(port)
    except ValueError:
        number = 0
    if not 1 <= number <= 65535:
        raise RecipeError("port", f"{port!r} is not allowed; allowed: whole numbers from 1 to 65535, or auto.")
    try:
        found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise RecipeError("host", f"{host!r} is unknown here ({error.strerror}).") from None
    with socket.socket(found[0], socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just left is free
        try:
            probe.bind(found[4])
        except OSError as error:
            raise RecipeError(
                "port", f"{number} cannot be used on {host} ({error.strerror}); "
                "stop what uses it, name another, or take --port auto.",
            ) from None  # fmt: skip
    return number


def _selftest() -> int:
    """A line for each thing that was tried; 0 where all work."""
    works = True
    for what, problem in chain(_models(), _page()):
        print(f"{'FAILED' if problem else 'ok':<7}{what}{f': {problem}' if problem else ''}", flush=True)
        works = works and not problem
    return 0 if works else 1


def _models() -> Iterator[tuple[str, str]]:
    """(what was tried, what is wrong or "") of the first model of each family, and of loading the others."""
    if not zoo.catalogue():
        yield "models", f"there is none in {zoo.models_folder()}"
    tried = set()
    for name, family in zoo.catalogue().items():
        try:
            model = zoo.load(name)
            about = f"{name}, {model.dtype} on {model.device}"
            yield about, "" if family in tried else _twice(name)
        except Exception as error:
            yield name, str(error) or type(error).__name__
        tried.add(family)


def _twice(model: str) -> str:
    """What is wrong with a model's text, made twice; "" where nothing is. A run checks that its numbers are finite."""
    texts = []
    for _ in range(2):
        *_, trace = record(Recipe.parse(TRIED | {"model": model}))
        if trace.end["status"] != "finished":
            return trace.end["message"]
        texts.append(trace.text)
    return "" if texts[0] == texts[1] else f"two texts of one seed differ: {texts[0]!r} and {texts[1]!r}"


def _page() -> Iterator[tuple[str, str]]:
    """As `_models`, of the page and its health, on a free port of this machine."""
    try:
        page = build()
        with contextlib.redirect_stdout(sys.stderr):  # what Gradio says of its MCP server, even if it is to be quiet
            _, url, _ = launch(page, _free_port(), host="127.0.0.1", quiet=True, prevent_thread_lock=True)
    except Exception as error:
        yield "server", str(error) or type(error).__name__
        return
    try:
        for path, is_right in (("", lambda body: b"Diffusion LM Playground" in body), ("health", _is_healthy)):
            try:
                with urllib.request.urlopen(f"{url}{path}", timeout=60) as answer:
                    problem = "" if is_right(answer.read()) else "the answer is another"
            except OSError as error:
                problem = str(error)
            yield f"/{path}", problem
    finally:
        page.close(verbose=False)


def _is_healthy(body: bytes) -> bool:
    found = json.loads(body)
    return found["status"] == "ok" and found["models"] == zoo.catalogue()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
