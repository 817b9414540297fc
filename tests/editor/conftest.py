"""Lets the tests import runs.py beside them, and gives them a page with an editor on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from runs import MOUNT, document, source, style

ORIGIN = "http://editor.test/"


@pytest.fixture(scope="module")
def tab(chromium):
    """A tab with an origin of its own, hence with storage, and without a network."""
    context = chromium.new_context()
    context.route("**/*", lambda route: route.fulfill(content_type="text/html", body="<!doctype html><body></body>"))
    tab = context.new_page()
    tab.set_default_timeout(5000)
    tab.problems = []
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("dialog", lambda dialog: (tab.problems.append(dialog.message), dialog.dismiss()))
    yield tab
    context.close()


@pytest.fixture
def blank(tab):
    """An empty page in the tab: a new document, nothing stored."""
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.goto(ORIGIN)
    tab.evaluate("() => localStorage.clear()")
    tab.problems.clear()
    yield tab
    assert not tab.problems


@pytest.fixture
def mount(blank):
    """Mounts an editor, with options, and returns the page."""

    def mount(pieces=None, **options):
        blank.evaluate(MOUNT, [source(), style(), options])
        if pieces is not None:
            blank.evaluate("(doc) => editor.open(doc, 'Typed')", document(pieces))
        return blank

    return mount
