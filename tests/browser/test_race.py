"""The Race tab, driven as a visitor would."""

import json
import re
from pathlib import Path

import pytest

from playground.engine import Run, RunError

RACE = "document.querySelector('#race-canvas .dlm-host').player"
IDLE = "document.querySelector('#race-canvas .dlm-host').state() === 'idle'"
HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} 🎈"
FLAGS = "#race-canvas .dlm-flag:visible"


@pytest.fixture
def race(page):
    """The tab, open, with the recorded race in it at its end."""
    page.get_by_role("tab", name="Race").click()
    page.wait_for_selector("#race-canvas .dlm-lane:visible")
    go_to(page, 1000)
    return page


def go_to(page, seconds):
    page.evaluate(f"{RACE}.goTo({seconds})")
    settle(page)


def settle(page):
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
    )


def fill(page, name, value):
    box = page.locator(f"#race-{name} :is(textarea, input[type=number], input[type=text])").first
    box.fill(str(value))
    box.press("Tab")


def run(page):
    page.click("#race-run")
    page.wait_for_function(f"{RACE}.trace().results?.length && {IDLE}", timeout=60_000)
    settle(page)


def lines(page) -> list[str]:
    return page.eval_on_selector_all("#race-canvas .dlm-line", "(lines) => lines.map((line) => line.textContent)")


def test_the_recorded_race_is_replayed_without_asking_the_server_and_fits_a_phone(race):
    asked = []
    race.on("request", lambda request: asked.append(request.url))
    trace = race.evaluate(f"{RACE}.trace()")
    texts = [lane["end"]["texts"][0] for lane in trace["lanes"]]
    assert lines(race) == texts and race.locator(FLAGS).count() == 4
    assert sorted(race.locator(FLAGS).all_inner_texts()) == ["1st", "2nd", "3rd", "4th"]
    assert race.locator("#race-canvas .dlm-scores:visible").count() == 4
    first = min(trace["results"], key=lambda result: result["seconds"])["seconds"]
    go_to(race, first)
    assert race.locator(FLAGS).all_inner_texts() == ["1st"] and race.locator(".dlm-first").count() == 1
    for lane, shown in zip(trace["lanes"], lines(race), strict=True):
        newest = [frame for frame in lane["frames"] if frame["t"] <= first][-1]["rows"][0]["p"]
        newest = newest[: newest.index(2)] if 2 in newest else newest
        assert shown.startswith("".join(piece for piece in newest if isinstance(piece, str)).rstrip())
    race.locator("#race-canvas .dlm-race").focus()
    race.keyboard.press("Home")
    settle(race)
    assert race.evaluate(f"{RACE}.time()") == 0 and race.locator(FLAGS).count() == 0
    race.keyboard.press("ArrowRight")
    moments = sorted({frame["t"] for lane in trace["lanes"] for frame in lane["frames"]})
    assert race.evaluate(f"{RACE}.time()") == moments[1]
    race.keyboard.press("Space")
    race.wait_for_function(f"{RACE}.time() > {moments[1]}")
    race.keyboard.press("Space")
    still = race.evaluate(f"{RACE}.time()")
    race.wait_for_timeout(200)
    assert race.evaluate(f"{RACE}.time()") == still
    race.get_by_label("Compute time").focus()
    race.keyboard.press("End")
    settle(race)
    assert race.get_by_label("Compute time").get_attribute("aria-valuetext").startswith(f"{moments[-1]:.2f} s of ")
    with race.expect_download() as download:
        race.get_by_role("button", name="Download the race").click()
    file = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert file["results"] == trace["results"] and len(file["vocabulary"]) == 4096
    assert [len(lane["frames"]) for lane in file["lanes"]] == [len(lane["frames"]) for lane in trace["lanes"]]
    assert [url for url in asked if not url.startswith("blob:")] == []
    race.set_viewport_size({"width": 390, "height": 844})
    race.wait_for_timeout(300)
    assert race.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert len(set(race.eval_on_selector_all(".dlm-lane", "(l) => l.map((e) => e.getBoundingClientRect().left)"))) == 1
    for target in (race.locator("#race-run"), race.get_by_role("button", name="Play the race")):
        assert target.bounding_box()["height"] >= 34


def test_a_live_race_any_prompt_errors_as_sentences_and_a_reload(race):
    race.wait_for_timeout(300)
    go_to(race, 1000)  # the recorded race may have begun to play only now
    before = lines(race)
    fill(race, "prompt", "<b>word</b> " * 60)
    race.click("#race-run")
    race.locator(".toast-body", has_text="tokens; a row of length 48 holds a prompt of up to 46 tokens.").wait_for()
    race.wait_for_function(IDLE)
    assert lines(race) == before and race.locator("#race-run").inner_text() == "Race"
    for name, value in (("prompt", HOSTILE), ("steps", 3), ("seed", 7), ("length", 60)):
        fill(race, name, value)
    run(race)
    trace = race.evaluate(f"{RACE}.trace()")
    assert trace["race"]["prompt"] == HOSTILE and trace["race"]["seed"] == 7 and len(trace["lanes"]) == 4
    assert all(text.startswith(HOSTILE) for text in lines(race)) and race.locator("#race-canvas img").count() == 0
    for lane, result in zip(trace["lanes"], trace["results"], strict=True):
        assert [frame["s"] for frame in lane["frames"]] == list(range(len(lane["frames"])))  # no step was lost
        assert result["entropy"] > 0 and result["seconds"] == lane["frames"][-1]["t"]
    race.locator("#race-lanes input").click()
    race.locator("#race-lanes .token-remove").first.click()
    race.wait_for_timeout(500)
    race.reload()
    race.get_by_role("tab", name="Race").click()
    race.wait_for_function("document.querySelector('#race-steps input[type=number]')?.value === '3'")
    assert race.locator("#race-prompt textarea").input_value() == HOSTILE
    race.get_by_text("Your last race, kept while the page was loaded anew.").wait_for()
    assert race.evaluate(f"{RACE}.trace()") == trace and race.locator("#race-canvas img").count() == 0


def test_stop_keeps_what_has_come_and_a_lane_may_fail_beside_healthy_ones(race, monkeypatch):
    fill(race, "steps", 200)
    race.click("#race-run")
    race.wait_for_function(f"{RACE}.trace().race.steps === 200 && {RACE}.trace().lanes[0].frames.length > 3")
    race.click("#race-stop")
    race.wait_for_function(IDLE)
    stopped = race.evaluate(f"{RACE}.trace()")
    assert stopped["results"] is None and stopped["lanes"][0]["end"]["status"] == "stopped"
    race.get_by_text(re.compile("Stopped at step")).first.wait_for()
    healthy = Run.steps

    def steps(run):
        for step in healthy(run):
            if run.model.family == "masked" and step.index == 1:
                raise RunError("Step 2 gave numbers that are not finite.")
            yield step

    monkeypatch.setattr(Run, "steps", steps)
    fill(race, "steps", 4)
    fill(race, "length", 16)
    run(race)
    statuses = [lane["end"]["status"] for lane in race.evaluate(f"{RACE}.trace()")["lanes"]]
    assert statuses == ["finished", "error", "finished", "finished"]
    assert sorted(race.locator(FLAGS).all_inner_texts()) == ["1st", "2nd", "3rd", "out"]
    assert race.locator(".dlm-error:visible", has_text="Step 2 gave numbers that are not finite.").count() == 1
