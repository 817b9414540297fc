"""A visitor at the built page."""

import pytest

STORED = "cookies,local_storage,indexeddb"


@pytest.fixture(scope="session")
def profile(chromium):
    """What keeps the page's scripts from test to test, as a browser does, so that they are not loaded anew."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture
def visitor(profile, url):
    """A new visitor's browser: nothing stored. Any script error or dialog fails the test."""
    errors = []

    def failed(error):
        errors.append(str(error.error))

    def opened(dialog):
        errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    profile.on("weberror", failed)
    profile.on("dialog", opened)
    yield profile
    profile.remove_listener("weberror", failed)
    profile.remove_listener("dialog", opened)
    profile.clear_cookies()
    profile.clear_permissions()
    cleaner = profile.new_page()
    profile.new_cdp_session(cleaner).send(
        "Storage.clearDataForOrigin", {"origin": url.rstrip("/"), "storageTypes": STORED}
    )
    for page in profile.pages:
        page.close()
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
