"""The built page on a free port, and a real Chromium to drive it."""

import os
import shutil

import pytest

from playground.ui.page import build, launch

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def url():
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


@pytest.fixture
def visitor(chromium):
    """A new visitor's browser: nothing stored. Any script error or dialog fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    errors = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield context
    context.close()
    assert errors == []


@pytest.fixture
def page(visitor, url):
    tab = visitor.new_page()
    tab.goto(url)
    tab.wait_for_selector("#watch-canvas .dlm-line")
    return tab
