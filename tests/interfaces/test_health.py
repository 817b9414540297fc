"""/health and /version, on the page's own server."""

import httpx

from playground import __version__
from playground.denoisers import zoo


def test_health_says_what_serves(url):
    answer = httpx.get(f"{url}health", timeout=60)
    found = answer.json()
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    assert (found["status"], found["version"], found["models"]) == ("ok", __version__, zoo.catalogue())
    assert found["uptime_seconds"] > 0 and len(found) == 4


def test_version_is_that_of_the_package(url):
    assert httpx.get(f"{url}version", timeout=60).json() == {"version": __version__}


def test_both_answer_head_and_the_page_is_still_there(url):
    for path in ("health", "version"):
        answer = httpx.head(f"{url}{path}", timeout=60)
        assert answer.status_code == 200 and answer.content == b""
        assert httpx.post(f"{url}{path}", timeout=60).status_code == 405
    assert b"Diffusion LM Playground" in httpx.get(url, timeout=60).content
