"""Lets the tests import runs.py beside them, and gives them a page with an editor on it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from runs import MOUNT, document, source, style

ORIGIN = "http://editor.test/"


@pytest.fixture
def blank(chromium):
    """A page with an origin of its own, hence with storage, and without a network."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.route("**/*", lambda route: route.fulfill(content_type="text/html", body="<!doctype html><body></body>"))
    page = context.new_page()
    page.set_default_timeout(5000)
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.goto(ORIGIN)
    yield page
    assert not problems
    context.close()


@pytest.fixture
def mount(blank):
    """Mounts an editor, with options, and returns the page."""

    def mount(pieces=None, **options):
        blank.evaluate(MOUNT, [source(), style(), options])
        if pieces is not None:
            blank.evaluate("(doc) => editor.open(doc, 'Typed')", document(pieces))
        return blank

    return mount
