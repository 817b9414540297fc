"""The Watch tab, driven as a visitor would."""

import re
import time

import pytest

import playground
from playground import engine

PLAYER = "document.querySelector('#watch-canvas .dlm-host').player"
HOSTILE = [
    "${alert(1)}", "{{x}}", "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "`${1}`", "C:\\users",
    "👩‍👩‍👧 👍🏽 🇫🇷", "你好，世界", "مرحبا", "   ", "e\u0301 <eos> <pad>", "a\\nb \\x",
]  # fmt: skip


def knob(page, name):
    return page.locator(f"#knob-{name} :is(input[type=number], input[type=text], textarea)").first


def set_knob(page, name, value):
    knob(page, name).fill(str(value))
    knob(page, name).press("Tab")


def state(page):
    return page.evaluate(f"""() => {{ const t = {PLAYER}.trace(); return {{
        end: t.end && t.end.status, steps: t.frames.map((f) => f.s), seed: t.head && t.head.recipe.seed,
        text: {PLAYER}.text(0), step: {PLAYER}.step(), prompt: t.head && t.head.recipe.prompt}}; }}""")


def mark(page):
    """Remember the run on show, to know the next one from it."""
    page.evaluate(f"() => {{ window.before = {PLAYER}.trace().head; }}")


def wait_for_end(page, status="finished"):
    """Until a run other than the marked one has ended and its last frame is on screen."""
    page.wait_for_function(
        f"""(status) => {{ const t = {PLAYER}.trace(); return t.head && t.head !== window.before && t.end &&
        t.end.status === status && {PLAYER}.step() === t.frames.at(-1).s; }}""",
        arg=status,
    )
    wait_for_drawing(page)
    return state(page)


def wait_for_drawing(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def run(page, **knobs):
    for name, value in knobs.items():
        set_knob(page, name, value)
    mark(page)
    page.click("#run")
    return wait_for_end(page)


def test_a_recorded_example_is_there_first_and_a_live_run_shows_every_step_and_the_text_python_gives(page):
    assert "A recorded example" in page.locator("#watch-canvas").inner_text()
    page.wait_for_function(f"{PLAYER}.step() > 3")
    assert page.locator(".dlm-line .dlm-cell").count() == 64
    shown = run(page, seed=7, steps=12)
    assert shown["steps"] == list(range(13))
    assert shown["text"] == playground.generate(prompt="Once upon a time", seed=7, steps=12).text
    meter = page.locator(".dlm-meter").inner_text()
    assert "seed 7" in meter and "12 evaluations" in meter and "tokens/s" in meter


def test_what_is_typed_while_the_page_still_waits_for_its_settings_is_kept(page):
    set_knob(page, "length", 72)
    set_knob(page, "seed", 1)
    page.wait_for_timeout(500)
    held = []
    page.route("**/gradio_api/run/*", lambda route: held.append(route))
    page.reload()
    page.wait_for_selector("#watch-canvas .dlm-line")
    set_knob(page, "seed", 7)
    set_knob(page, "prompt", "The cat")
    page.wait_for_timeout(200)
    assert len(held) >= 6  # the settings of each tab
    for _ in range(10):  # they are answered, and what they lead to
        while held:
            held.pop().continue_()
        page.wait_for_timeout(100)
    values = [knob(page, name).input_value() for name in ("length", "seed", "prompt")]
    assert values == ["72", "7", "The cat"]  # what was kept, but for what has been changed since


def test_a_run_can_be_looked_into(page):
    shown = run(page, seed=7, steps=16)
    page.evaluate(f"{PLAYER}.goTo(2)")
    wait_for_drawing(page)
    assert page.locator(".dlm-count").inner_text() == "step 2 / 16"
    assert state(page)["text"] != shown["text"]
    page.locator(".dlm-go-end").click()
    assert state(page)["text"] == shown["text"]

    page.locator(".dlm-line .dlm-cell").nth(20).hover()
    page.wait_for_selector(".dlm-card:visible")
    assert page.locator(".dlm-card .dlm-candidate").count() == 5
    assert "position 20" in page.locator(".dlm-card").inner_text()

    page.get_by_text("The run in numbers").click()
    page.wait_for_selector("#watch-figure .js-plotly-plot")
    legend = page.locator("#watch-figure .legendtext").all_text_contents()
    assert legend == ["mean confidence", "mean entropy / ln V", "noise level u"]


def pin(page, position: int, candidate: int):
    """Pin a candidate of a cell; the run that follows is over when this returns."""
    page.locator(".dlm-line .dlm-cell").nth(position).click()
    mark(page)
    page.locator(".dlm-card button.dlm-candidate").nth(candidate).click()
    return wait_for_end(page)


def test_a_drawn_seed_and_a_pinned_word_are_kept_and_said_until_they_are_cleared(page):
    shown = run(page, steps=6)
    assert shown["seed"] >= 0 and page.locator("#kept").count() == 0
    page.click("#lock")
    page.wait_for_function(
        "(seed) => document.querySelector('#knob-seed input').value === seed", arg=str(shown["seed"])
    )
    assert run(page)["text"] == shown["text"]
    assert page.locator("#kept").inner_text() == "seed kept · clear"
    page.click("#dice")
    page.wait_for_function("document.querySelector('#knob-seed input').value === ''")
    assert knob(page, "seed").get_attribute("placeholder") == "random"

    run(page, seed=7, steps=8)
    page.evaluate(f"{PLAYER}.goTo(3)")
    wait_for_drawing(page)
    assert pin(page, 20, 2)["seed"] == 7
    page.get_by_text("More knobs").click()
    assert re.match(r'20:("|\w)', page.locator("#knob-pins textarea, #knob-pins input").first.input_value())
    assert page.evaluate(f"{PLAYER}.trace().frames.every((f) => f.rows[0].st[20] === 'p')")
    assert page.evaluate(f"new Set({PLAYER}.trace().frames.map((f) => f.rows[0].id[20])).size") == 1
    assert page.locator("#kept").inner_text() == "1 pinned word · seed kept · clear"
    assert "Your pin changed" in page.locator(".dlm-note").inner_text()

    page.locator(".dlm-line .dlm-cell").nth(20).click()
    mark(page)
    page.locator(".dlm-pin").click()
    wait_for_end(page)
    assert page.locator("#kept").inner_text() == "seed kept · clear"
    page.click("#kept")
    page.wait_for_selector("#kept", state="detached")
    assert knob(page, "seed").input_value() == ""


@pytest.fixture
def closed(monkeypatch):
    """The times at which runs were closed, by finishing or otherwise."""
    times = []
    steps = engine.Run.steps

    def watched(self):
        try:
            yield from steps(self)
        finally:
            times.append(time.monotonic())

    monkeypatch.setattr(engine.Run, "steps", watched)
    return times


def start_a_long_run(page):
    set_knob(page, "length", 256)
    set_knob(page, "steps", 256)
    mark(page)
    page.click("#run")
    page.wait_for_function(f"{PLAYER}.trace().head !== window.before && {PLAYER}.step() >= 5")
    return time.monotonic()


def test_stop_keeps_the_partial_run_and_its_link_and_ends_the_work(page, closed):
    set_knob(page, "seed", 12)
    asked = start_a_long_run(page)
    page.click("#stop")
    shown = wait_for_end(page, "stopped")
    assert 5 <= shown["step"] < 256
    assert f"Stopped at step {shown['step']} of 256" in page.locator("#watch-canvas").inner_text()
    while not closed and time.monotonic() < asked + 5:
        page.wait_for_timeout(50)
    assert closed and closed[0] - asked < 5  # to its end it would take several times as long
    page.get_by_text("Share this run").click()
    link = "document.querySelector('#share-link textarea, #share-link input')?.value"
    page.wait_for_function(f"{link}?.includes('seed=12') && {link}.includes('steps=256')")
    assert run(page, steps=4, length=32)["steps"] == [0, 1, 2, 3, 4]
    page.wait_for_function(f"{link}?.includes('seed=12') && {link}.includes('steps=4')")


def test_visitors_see_their_own_runs_at_the_same_time_and_a_third_waits(page, visitor, chromium, arrive, closed):
    other = arrive(chromium.new_context())
    for tab, seed in ((page, 101), (other, 202)):
        set_knob(tab, "seed", seed)
        mark(tab)
    page.click("#run")
    other.click("#run")
    for tab, seed in ((page, 101), (other, 202)):
        shown = wait_for_end(tab)
        assert shown["text"] == playground.generate(prompt="Once upon a time", seed=seed).text
        assert shown["steps"] == list(range(33))

    closed.clear()
    third = arrive(visitor)
    start_a_long_run(page)
    start_a_long_run(third)
    set_knob(other, "steps", 5)
    mark(other)
    other.click("#run")
    other.wait_for_function("document.querySelector('#run').innerText === 'Waiting in line'")
    other.click("#stop")
    other.wait_for_function("document.querySelector('#run').innerText === 'Run'")
    page.click("#stop")
    wait_for_end(page, "stopped")
    page.wait_for_timeout(1000)
    assert len(closed) == 1  # the run that was given up in the line never began
    other.click("#run")  # beside the one that still goes on
    assert wait_for_end(other)["steps"] == list(range(6))
    third.click("#stop")
    wait_for_end(third, "stopped")
    other.context.close()

    closed.clear()
    asked = start_a_long_run(page)
    page.close()
    while not closed and time.monotonic() < asked + 10:
        time.sleep(0.05)
    assert closed and closed[0] - asked < 3  # closing the tab ends the work


def is_busy(page):
    return page.locator("#stop").is_enabled()


def test_a_run_or_a_pin_during_a_run_starts_again_and_many_presses_leave_one_run(page, closed):
    assert not is_busy(page)
    set_knob(page, "seed", 7)
    start_a_long_run(page)
    assert is_busy(page) and "restart" in page.locator("#run").inner_text()
    for steps in (90, 6):  # one is cancelled in its turn: the page must not lose track of it
        set_knob(page, "steps", steps)
        mark(page)
        page.click("#run")
        page.wait_for_function(
            f"(steps) => {PLAYER}.trace().head !== window.before && {PLAYER}.trace().head.recipe.steps === steps",
            arg=steps,
        )
    page.wait_for_function(f"{PLAYER}.trace().end && {PLAYER}.step() === 6")
    page.wait_for_function("document.querySelector('#stop').disabled")
    assert page.locator("#run").inner_text() == "Run"
    assert len(closed) == 3

    closed.clear()
    start_a_long_run(page)
    page.locator(".dlm-line .dlm-cell").nth(20).dispatch_event("click")  # words move while they are still written
    mark(page)
    page.locator(".dlm-card button.dlm-candidate").first.click()
    page.wait_for_function(
        f"{PLAYER}.trace().head !== window.before && {PLAYER}.trace().head.recipe.pins[20] && {PLAYER}.step() > 2"
    )
    assert len(closed) == 1
    page.click("#stop")
    page.wait_for_function("document.querySelector('#stop').disabled")

    closed.clear()
    set_knob(page, "length", 64)
    set_knob(page, "steps", 32)
    mark(page)
    page.evaluate("() => { for (let press = 0; press < 10; press++) document.querySelector('#run').click(); }")
    assert wait_for_end(page)["end"] == "finished"
    page.wait_for_timeout(1500)
    assert len(closed) < 10  # those pressed while another was being stopped never began
    assert not is_busy(page)


def test_prompts_starters_samplers_and_samples_are_said_and_a_reload_keeps_the_knobs(page):
    set_knob(page, "steps", 4)
    mark(page)
    knob(page, "prompt").fill("Tom had a red ball")
    knob(page, "prompt").press("Enter")
    assert wait_for_end(page)["prompt"] == "Tom had a red ball"
    mark(page)
    page.get_by_role("button", name="(no prompt)").click()
    assert wait_for_end(page)["prompt"] == ""
    assert "Unconditional: nothing is given." in page.locator("#watch-canvas").inner_text()

    run(page, seed=7, samples=4)
    assert page.locator(".dlm-line").count() == 4
    assert "seeds 7, 8, 9, 10" in page.locator(".dlm-meter").inner_text()

    assert "fresh noise at each step" in page.locator(".prose.sampler-help").inner_text()
    page.locator("#knob-sampler input").click()
    page.get_by_role("option", name="ode").click()
    page.wait_for_function("document.querySelector('.prose.sampler-help').innerText.startsWith('The deterministic')")

    set_knob(page, "steps", 11)
    set_knob(page, "prompt", "The little dragon was")
    page.wait_for_timeout(500)
    page.reload()
    page.wait_for_selector("#watch-canvas .dlm-line")
    page.wait_for_function("document.querySelector('#knob-prompt textarea').value === 'The little dragon was'")
    assert knob(page, "steps").input_value() == "11"


def test_a_run_outlives_a_reload_until_there_is_another(page):
    shown = run(page, seed=7, steps=6, samples=2)
    page.reload()
    page.get_by_text("Your last run, kept while the page was loaded anew.").wait_for()
    kept = state(page)
    assert (kept["text"], kept["steps"], kept["end"]) == (shown["text"], list(range(7)), "finished")
    assert page.locator(".dlm-line").count() == 2 and not is_busy(page)
    page.evaluate(f"{PLAYER}.goTo(2)")
    wait_for_drawing(page)
    page.reload()  # also what was kept before
    page.get_by_text("Your last run, kept while the page was loaded anew.").wait_for()
    assert state(page)["text"] == shown["text"]

    start_a_long_run(page)
    page.wait_for_function(f"{PLAYER}.step() > 2")
    page.reload()
    page.locator(".dlm-status", has_text="Stopped at step").wait_for()
    kept = state(page)
    assert kept["end"] == "stopped" and 2 < kept["step"] == kept["steps"][-1]
    assert run(page, seed=8, steps=4)["end"] == "finished"
    assert page.get_by_text("kept while the page").count() == 0

    page.evaluate(f"() => {{ {PLAYER}.kept = () => ({{format: 'x'}}); }}")
    page.reload()  # what cannot be read is not shown
    page.get_by_text("A recorded example").wait_for()


def test_a_share_link_opens_and_runs_the_same(page, chromium):
    shown = run(page, seed=21, steps=9, prompt="Tom & Lily <3 = 100% #fun")
    page.get_by_text("Share this run").click()
    page.wait_for_function(
        "document.querySelector('#share-link textarea, #share-link input')?.value.includes('seed=21')"
    )
    link = page.locator("#share-link textarea, #share-link input").first.input_value()
    other = chromium.new_context().new_page()
    other.goto(link)
    other.wait_for_selector("#watch-canvas .dlm-line")
    other.wait_for_function(
        f"{PLAYER}.trace().end && {PLAYER}.trace().head.recipe.seed === 21 && {PLAYER}.step() === 9"
    )
    assert state(other)["text"] == shown["text"]
    assert knob(other, "prompt").input_value() == "Tom & Lily <3 = 100% #fun"
    other.context.close()


def test_a_link_that_cannot_be_used_says_why_and_opens_the_page(visitor, url):
    tab = visitor.new_page()
    tab.goto(f"{url}?steps=0&prompt=Hello")
    tab.wait_for_selector(".toast-body")
    assert "This link could not be used. steps: 0 is out of range; allowed: whole numbers from 1 to 256." in (
        tab.locator(".toast-body").first.inner_text()
    )
    assert knob(tab, "prompt").input_value() == "Once upon a time"
    for field in ("model", "sampler", "pins", "seed"):  # markup stays text
        tab.goto(f"{url}?{field}=%3Cimg%20src=//x/p%3E%3Ca%20href=//x%3Eclick")
        tab.wait_for_selector(".toast-body")
        assert "<img src=//x/p><a href=//x>click" in tab.locator(".toast-body").first.inner_text()
        assert tab.locator(".toast-body img, .toast-body a").count() == 0


def test_hostile_and_wrong_values_are_shown_or_refused_and_the_page_goes_on_working(page):
    for prompt in HOSTILE:
        shown = run(page, seed=1, steps=2, prompt=prompt)
        assert shown["text"].startswith(prompt)
        drawn = page.locator(".dlm-line").first.evaluate("(line) => line.textContent")
        assert drawn.startswith(prompt)
    counts = [
        run(page, seed=seed, steps=5) and page.evaluate("document.querySelectorAll('*').length") for seed in range(5)
    ]
    assert max(counts[1:]) - min(counts[1:]) <= 10  # nodes do not grow from run to run
    for name, value, sentence in (
        ("seed", -5, "seed: -5 is out of range; allowed: whole numbers from -1 to 2147483647."),
        ("prompt", "word " * 2000, "is 2,002 tokens; a row of length 64 holds a prompt of up to 62 tokens."),
    ):
        set_knob(page, name, value)
        page.click("#run")
        page.locator(".toast-body", has_text=sentence).wait_for()
        shown = run(page, prompt="Once upon a time", seed=1, steps=3)
        assert shown["end"] == "finished" and shown["steps"] == [0, 1, 2, 3]


def test_each_model_brings_its_samplers_and_knobs_and_gives_the_text_python_gives(page):
    for model, steps in (("stories-uniform", None), ("stories-autoregressive", None), ("stories-masked", 8)):
        page.locator("#knob-model input").click()
        page.get_by_role("option", name=model).click()
        page.locator("#knob-steps").wait_for(state="hidden" if model == "stories-autoregressive" else "visible")
        if model == "stories-masked":
            page.wait_for_function("document.querySelector('#knob-sampler input').value === 'random'")
            page.get_by_text("More knobs").click()
            page.wait_for_selector("#knob-guidance:visible")
            assert page.locator("#knob-churn:visible").count() == 0
        given = {"steps": steps} if steps else {}
        shown = run(page, seed=7, **given)
        python = playground.generate(model=model, prompt="Once upon a time", seed=7, **given)
        assert shown["text"] == python.text and shown["steps"] == [frame["s"] for frame in python.frames]
        assert page.evaluate(f"{PLAYER}.trace().head.model.name") == model


def test_a_phone_sees_text_first_and_run_moves_nothing(chromium, url):
    phone = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page()
    phone.goto(url)
    phone.wait_for_selector("#watch-canvas .dlm-line")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    box = phone.locator("#run").bounding_box()
    assert box["height"] >= 44 and box["y"] + box["height"] <= 844
    phone.wait_for_function(f"{PLAYER}.step() === {PLAYER}.trace().frames.at(-1).s")
    set_knob(phone, "seed", 7)
    knob(phone, "seed").scroll_into_view_if_needed()
    mark(phone)
    phone.click("#run")
    assert wait_for_end(phone)["steps"] == list(range(33))
    places = "() => ['.dlm-line', '.dlm-timeline'].map((s) => document.querySelector(s).getBoundingClientRect().top)"
    line, timeline = phone.evaluate(places)
    assert 0 <= line < 400 and timeline - line < 400
    mark(phone)
    phone.click("#run")
    phone.wait_for_function(f"{PLAYER}.trace().head !== window.before && {PLAYER}.step() > 0")
    assert phone.evaluate(places)[0] == line
    wait_for_end(phone)
    assert phone.evaluate(places) == [line, timeline]
    phone.context.close()


CONTRAST = """(selectors) => {
  const channel = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => channel(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isOpaque = (colour) => (colour.match(/[\\d.]+/g).map(Number)[3] ?? 1) > 0.9;
  const ground = (node) => {
    while (node && !isOpaque(getComputedStyle(node).backgroundColor)) node = node.parentElement;
    return node ? getComputedStyle(node).backgroundColor : "rgb(255, 255, 255)";
  };
  return selectors.map((selector) => {
    const node = document.querySelector(selector);
    const [a, b] = [getComputedStyle(node).color, ground(node)].map(luminance).sort((x, y) => y - x);
    return [selector, (a + 0.05) / (b + 0.05)];
  });
}"""
READ = ["#title p", "[role=tab]", "#knob-prompt span", "#run", "#stop", ".dlm-meter", ".dlm-note", ".dlm-line",
        "#knob-seed input", ".gallery-item"]  # fmt: skip


def test_text_stands_out_from_its_ground_in_the_middle_of_a_wide_screen(visitor, url):
    tab = visitor.new_page()
    for theme in ("dark", "light"):
        tab.goto(f"{url}?__theme={theme}")
        tab.wait_for_selector(".dlm-note:visible")
        tab.wait_for_timeout(300)
        for selector, ratio in tab.evaluate(CONTRAST, READ):
            assert ratio >= 4.5, (theme, selector, ratio)
    for width in (1280, 1600, 1920):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_timeout(200)
        box = tab.evaluate("(({left, right}) => [left, right])(document.querySelector('main').getBoundingClientRect())")
        assert abs(box[0] - (tab.evaluate("document.documentElement.clientWidth") - box[1])) <= 2
