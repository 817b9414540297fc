"""A visitor at the built page."""

import pytest


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
def arrive(url):
    """Open the page in a tab of a context and wait until its knobs are the visitor's to change."""

    def open_page(context):
        tab = context.new_page()
        with tab.expect_response(lambda response: "/gradio_api/run/" in response.url):  # the knobs are restored
            tab.goto(url)
        tab.wait_for_selector("#watch-canvas .dlm-line")
        tab.wait_for_timeout(200)
        return tab

    return open_page


@pytest.fixture
def page(visitor, arrive):
    return arrive(visitor)
