"""Whoever leaves, frees the worker: a closed tab, Stop, and a program that hangs up, proved by the server's log."""

import json
import time
from datetime import datetime

import httpx
import pytest

LONG = {"steps": 256, "length": 256}


@pytest.fixture(scope="module")
def page(serve):
    """One run at a time, so that the next one has to wait."""
    return Page(serve(PLAYGROUND_CONCURRENCY="1"))


class Page:
    """What a browser knows of a server's page: its Watch event, and the values its knobs open with."""

    def __init__(self, server):
        self.server = server
        config = httpx.get(f"{server.url}/config", timeout=60).json()
        self.events = {event["api_name"]: event for event in config["dependencies"]}
        knobs = {part["id"]: part["props"] for part in config["components"]}
        self.shown = [knobs[name] for name in self.events["watch"]["inputs"]]

    def post(self, route: str, **body) -> dict:
        return httpx.post(f"{self.server.url}/gradio_api/{route}", json=body, timeout=60).raise_for_status().json()

    def run(self, session: str, **values) -> "Tab":
        """Press Run in a tab of its own, with some knobs changed."""
        data = [values.get(knob["elem_id"].removeprefix("knob-"), knob["value"]) for knob in self.shown]
        joined = self.post("queue/join", data=data, fn_index=self.events["watch"]["id"], session_hash=session)
        return Tab(self, session, joined["event_id"])

    def cancel(self, session: str, event: str, name: str) -> None:
        """What Stop sends, and gradio_client's `cancel`."""
        assert self.post("cancel", session_hash=session, fn_index=self.events[name]["id"], event_id=event)["success"]

    def told(self, event: str, **recipe) -> list[dict]:
        """The log's lines about an event of runs with such a recipe."""
        return [line for line in self.server.log(event) if line.items() >= recipe.items()]

    def runs(self, **recipe) -> list[tuple[dict, dict]]:
        """The log's lines about the beginning and the end of each run with such a recipe, once all have ended."""
        began, ended = [], {}

        def all_ended() -> bool:
            began[:] = self.told("run began", **recipe)
            ended.update((line["run"], line) for line in self.server.log("run ended"))
            return all(line["run"] in ended for line in began)

        self.server.wait_for(all_ended)
        return [(line, ended[line["run"]]) for line in began]


class Tab:
    """The event stream of a run."""

    def __init__(self, page: Page, session: str, event: str):
        self.page, self.session, self.event = page, session, event
        self.steps = -1  # the row comes once before the first step
        self.messages = self._messages()

    def _messages(self):
        address = f"{self.page.server.url}/gradio_api/queue/data"
        with httpx.stream("GET", address, params={"session_hash": self.session}, timeout=60) as answer:
            for line in answer.iter_lines():
                if line:
                    yield json.loads(line.removeprefix("data: "))

    def read(self, kind: str, times: int = 1) -> dict:
        """Read on until so many messages of a kind have come; returns the last one."""
        for message in self.messages:
            self.steps += message["msg"] == "process_generating"
            times -= message["msg"] == kind
            if not times:
                return message
        raise AssertionError(f"the stream ended before another {kind}")

    def close(self) -> float:
        """Close the tab; returns the time."""
        self.messages.close()
        return time.time()


def moment(line: dict) -> float:
    return datetime.fromisoformat(line["time"]).timestamp()


def check_stopped(ended: dict, left: float, seen: int = 0) -> None:
    """That a run ended in the step in which it was left, when `seen` were known. One more may have begun while the news
    was on its way, and a busy machine is slow to write its log."""
    assert ended["status"] == "stopped" and seen <= ended["step"] < ended["steps"]
    assert not seen or ended["step"] <= seen + 2
    assert moment(ended) - left < 2 * ended["seconds"] / max(1, ended["step"]) + 0.5


def test_a_closed_tab_ends_its_run_within_a_step_and_who_waits_is_next(page):
    tab = page.run("leaves", **LONG)
    tab.read("process_generating")
    impatient, patient = page.run("gives up", steps=7, length=16), page.run("waits", steps=5, length=16)
    impatient.read("estimation")
    patient.read("estimation")
    impatient.close()
    tab.read("process_generating", 12)
    left = tab.close()
    patient.read("process_completed")
    ((_, stopped),) = page.runs(**LONG)
    check_stopped(stopped, left, tab.steps)
    ((began, ended),) = page.runs(steps=5)
    assert 0 <= moment(began) - moment(stopped) < 0.5 and ended["status"] == "finished"
    assert page.runs(steps=7) == []  # it left the queue


def test_stop_ends_the_run_within_a_step(page):
    tab = page.run("stops", seed=2, **LONG)
    tab.read("process_generating", 6)
    left = time.time()
    page.cancel("stops", tab.event, "watch")
    tab.read("process_completed")
    *_, (_, stopped) = page.runs(**LONG)
    check_stopped(stopped, left, tab.steps)


@pytest.mark.parametrize(
    ("name", "fields", "cancels"),
    [
        ("generate", LONG, True),
        ("generate", LONG, False),
        ("race", LONG | {"lanes": ["stories-masked", "stories-uniform"]}, False),
        ("compare", {"length": 256, "sweep": {"steps": [256]}, "seeds": 1}, False),
    ],
)
def test_a_program_that_waits_for_one_answer_is_missed_too(page, name, fields, cancels):
    before = len(page.runs(**LONG))
    event = page.post(f"call/v2/{name}", **fields)["event_id"]
    with httpx.stream("GET", f"{page.server.url}/gradio_api/call/{name}/{event}", timeout=60):
        page.server.wait_for(lambda: len(page.told("run began", **LONG)) > before)
        left = time.time()
        if cancels:
            page.cancel(event, event, name)
    for _, stopped in page.runs(**LONG)[before:]:
        check_stopped(stopped, left)
