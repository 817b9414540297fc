"""The Blend tab, driven as a visitor would."""

import pytest

from playground.ui.blend import EXAMPLES

BLEND = "document.querySelector('#blend-canvas .dlm-host').player"
HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} [[x]] 🎈"


@pytest.fixture
def blend(page):
    """The tab, open, with the recorded path in it."""
    page.get_by_role("tab", name="Blend").click()
    page.wait_for_selector("#blend-canvas .dlm-path tbody tr:visible")
    page.evaluate(f"{BLEND}.goTo(1000)")
    return page


@pytest.fixture
def quick(blend):
    """With so few points and steps that a run is short."""
    for name, value in (("points", 5), ("steps", 3), ("seed", 7)):
        box = blend.locator(f"#blend-{name} :is(input[type=number], textarea, input[type=text])").first
        box.fill(str(value))
        box.press("Tab")
    return blend


def run(page):
    before = page.evaluate(f"{BLEND}.trace().head && {BLEND}.trace().end && {BLEND}.trace().end.texts.join()")
    page.click("#blend-run")
    page.wait_for_function(
        f"(before) => {{ const {{end}} = {BLEND}.trace(); return end && end.texts.join() !== before; }}", arg=before
    )
    page.wait_for_function("document.querySelector('#blend-canvas .dlm-host').state() === 'idle'")


def slider(page):
    return page.get_by_role("slider", name="Place on the way from A to B")


def shown(page) -> str:
    """The text at the slider, once it is drawn."""
    page.wait_for_function(
        f"[...document.querySelectorAll('#blend-canvas .dlm-line')].find((line) => line.offsetParent)"
        f".textContent === {BLEND}.newest({BLEND}.point())"
    )
    return page.evaluate(f"{BLEND}.newest({BLEND}.point())")


def rows(page) -> list[str]:
    return page.locator("#blend-canvas .dlm-path td.dlm-text").all_inner_texts()


def test_the_recorded_path_is_walked_without_asking_the_server_and_a_phone_has_reachable_targets(blend):
    asked = []
    blend.on("request", lambda request: asked.append(request.url))
    seen = []
    slider(blend).focus()
    blend.keyboard.press("Home")
    for _ in range(9):
        seen.append(shown(blend))
        blend.keyboard.press("ArrowRight")
    assert seen[0] == EXAMPLES[0][0] and seen[-1] == EXAMPLES[0][1] and len(set(seen)) > 5
    blend.keyboard.press("ArrowLeft")
    assert shown(blend) == seen[-2]
    assert slider(blend).get_attribute("aria-valuetext") == "88% of the way from A to B"
    assert asked == []

    blend.get_by_role("button", name="Text A").click()
    assert shown(blend) == EXAMPLES[0][0]
    assert "this is A, token for token" in blend.locator(".dlm-way-said").inner_text()
    blend.get_by_role("button", name="Text B").click()
    assert shown(blend) == EXAMPLES[0][1]
    row = blend.locator("#blend-canvas .dlm-path tbody tr").nth(2)
    row.locator("td.dlm-text").click()
    assert shown(blend) == rows(blend)[2] and row.get_attribute("class") == "dlm-here"
    blend.locator("#blend-canvas .dlm-way-point").nth(4).press("Enter")
    assert slider(blend).input_value() == "4"

    blend.set_viewport_size({"width": 390, "height": 844})
    blend.wait_for_timeout(300)
    assert blend.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for target in (slider(blend), blend.get_by_role("button", name="Text A"), blend.locator("#blend-run")):
        assert target.bounding_box()["height"] >= 44
    slider(blend).click(position={"x": 5, "y": 20})
    assert slider(blend).input_value() == "0"


def test_a_run_leads_from_one_text_to_the_other_by_its_seed_and_a_reload_keeps_texts_and_knobs(quick):
    run(quick)
    once = rows(quick)
    quick.locator("#blend-a textarea").fill("The dog ran to the park.")
    quick.locator("#blend-b textarea").fill(HOSTILE)
    run(quick)
    assert rows(quick)[0] == "The dog ran to the park." and rows(quick)[-1] == HOSTILE and len(rows(quick)) == 5
    head = quick.evaluate(f"{BLEND}.trace().head")
    assert head["blend"]["seed"] == 7 and head["blend"]["steps"] == 3
    figures = quick.locator("#blend-canvas .dlm-path tbody td.dlm-to_b").all_inner_texts()
    assert figures[-1] == "1.00" and float(figures[0]) < 0.9
    quick.get_by_role("button", name="The path in numbers").click()
    quick.wait_for_selector("#blend-figure .js-plotly-plot")
    quick.wait_for_selector("#blend-map .js-plotly-plot .scatterlayer")
    assert quick.locator("#blend-canvas img, #blend-map img, #blend-figure img").count() == 0

    for name, text in zip("ab", EXAMPLES[0][:2], strict=True):
        quick.locator(f"#blend-{name} textarea").fill(text)
    run(quick)
    assert rows(quick) == once  # the same seed gives the same path

    quick.locator("#blend-a textarea").fill(HOSTILE)
    quick.locator("#blend-a textarea").press("Tab")
    quick.wait_for_timeout(400)
    quick.reload()
    quick.get_by_role("tab", name="Blend").click()
    quick.wait_for_function("document.querySelector('#blend-points input[type=number]')?.value === '5'")
    assert quick.locator("#blend-a textarea").input_value() == HOSTILE
    assert rows(quick) == once and quick.get_by_text("Your last path, kept while the page").is_visible()
    quick.get_by_role("button", name="The path in numbers").click()
    assert not quick.locator("#blend-map").is_visible()  # the example's, not of this path


def test_what_cannot_be_blended_is_a_sentence_and_nothing_is_lost_and_stop_keeps_what_has_come(blend):
    before = rows(blend)
    for a, b, sentence in (
        ("", "x", "a: is empty; a path needs two texts."), ("Same.", "Same.", "b: is the same text as a"),
        ("word " * 300, "x", "a: is 302 tokens; allowed: 254. Shorten it."),
        ("Tom", "<b>" * 7000, "b: has 21,000 characters; allowed: 20,000."),
    ):  # fmt: skip
        blend.locator("#blend-a textarea").fill(a)
        blend.locator("#blend-b textarea").fill(b)
        blend.click("#blend-run")
        blend.locator(".toast-body", has_text=sentence).wait_for()
        assert rows(blend) == before and blend.locator("#blend-b textarea").input_value() == b
        blend.wait_for_function("document.querySelector('#blend-canvas .dlm-host').state() === 'idle'")
    assert blend.locator("#blend-run").inner_text() == "Blend"

    blend.locator("#blend-b textarea").fill("Lily sat.")
    blend.locator("#blend-steps input[type=number]").fill("200")
    blend.locator("#blend-steps input[type=number]").press("Tab")
    blend.click("#blend-run")
    blend.wait_for_function(f"{BLEND}.trace().frames.length > 2 && {BLEND}.trace().frames[0].n === 200")
    blend.click("#blend-stop")
    blend.wait_for_function("document.querySelector('#blend-canvas .dlm-host').state() === 'idle'")
    assert blend.evaluate(f"{BLEND}.trace().end.status") == "stopped" and len(rows(blend)) == 9
    blend.get_by_role("button", name="Text A").click()
    assert shown(blend)


def test_methods_and_examples_bring_their_words_and_knobs_and_arithmetic_asks_for_a_third_text(blend):
    assert blend.locator("#blend-level").is_visible() and not blend.locator("#blend-c").is_visible()
    assert "adds the same noise" in blend.locator("#blend-help").inner_text()
    blend.locator("#blend-method input").click()
    blend.get_by_role("option", name="noise-slerp").click()
    blend.wait_for_function("document.querySelector('#blend-level input[type=number]').value === '0.7'")
    blend.locator("#blend-method input").click()
    blend.get_by_role("option", name="naive").click()
    blend.wait_for_selector("#blend-level", state="hidden")
    assert "without the denoiser" in blend.locator("#blend-help").inner_text()

    blend.get_by_text("bird − tree + fish + water").click()
    blend.wait_for_selector("#blend-c textarea:visible")
    blend.wait_for_function(f"{BLEND}.trace().head.blend?.method === 'arithmetic' && {BLEND}.trace().end?.path")
    assert blend.locator("#blend-c textarea").input_value() == "fish. water."
    blend.get_by_role("button", name="A − B + C").click()
    assert "100% of the way from A to A − B + C" in blend.locator(".dlm-way-said").inner_text()
    blend.locator("#blend-c textarea").fill(" ")
    blend.click("#blend-run")
    blend.get_by_text("c: is empty; arithmetic needs three texts.").wait_for()
