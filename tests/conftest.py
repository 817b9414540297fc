"""What the tests share: the tokenizer of the models that come with the app, the built page and a real Chromium."""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from absl import logging

# Read when torch is first imported: its threads sleep while they wait, so that a busy machine slows the tests a
# little and not tenfold.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a core for each worker

# rouge-score brings a log handler that closes the stream it was made with once another stands in its place and logging
# is set up anew, as a web server does; under pytest that is where the output of all tests goes.
logging.get_absl_handler().python_handler.stream = sys.__stderr__

ROOT = Path(__file__).parents[1]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def tokenizer():
    from playground.text import Tokenizer

    return Tokenizer(ROOT / "assets" / "models" / "stories-masked" / "tokenizer.json")


@pytest.fixture(scope="session")
def url():
    """The built page on a free port, one for all tests. Two runs go on at the same time."""
    from playground.ui.page import build, launch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYGROUND_CONCURRENCY", "2")
        page = build()
        _, address, _ = launch(page, quiet=True, prevent_thread_lock=True)
    yield address
    page.close()


@pytest.fixture(scope="session")
def chromium():
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program:
        pytest.skip("Chromium is not installed; set CHROMIUM or install the package.")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def in_a_loop():
    """Run a coroutine function to its end in a thread of its own: where Chromium is driven, this one has a loop."""

    def run(function, *args):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(anyio.run, function, *args).result()

    return run
