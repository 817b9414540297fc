"""The Compare tab, driven as a visitor would."""

import csv
import io
import json

import pytest

import playground
from playground.recipe import Recipe
from playground.ui.compare import MORE, NAMES, call, suggest

DEFAULTS = Recipe().to_dict()
HOST = "document.querySelector('#compare-canvas .dlm-host')"
HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{x}} 🎈"
QUICK = {"length": 48, "steps": [2, 3], "seeds": 2, "seed": 7}


def open_tab(page):
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_selector("#compare-canvas .dlm-grid-text:visible")
    page.wait_for_function("document.querySelector('#compare-estimate').innerText.includes('texts in')")
    return page


@pytest.fixture
def compare(page):
    return open_tab(page)


def fill(page, **values):
    for name, value in values.items():
        box = page.locator(f"#compare-{name} :is(input[type=number], textarea, input[type=text])").first
        box.fill(str(value))
        box.press("Tab")


def quick(page, prompt="Tom had"):
    fill(page, prompt=prompt, x_values="2, 3", seeds=2, length=48, seed=7)
    return page


def run(page):
    before = page.evaluate(f"{HOST}.player.study().id")
    page.click("#compare-run")
    page.wait_for_function(
        f"(id) => {HOST}.state() === 'idle' && {HOST}.player.study().id !== id && {HOST}.player.study().end",
        arg=before,
    )


def texts(page) -> list[str]:
    return page.locator("#compare-canvas .dlm-grid-text").all_text_contents()


def test_a_question_is_asked_run_looked_into_and_taken_home(compare):
    assert texts(compare)[0].startswith("Once upon a time") and len(texts(compare)) == 18  # the recorded one
    compare.locator("#compare-figure .js-plotly-plot").wait_for()
    compare.locator(".dlm-grid-text").first.click()
    assert "were not recorded" in compare.locator(".dlm-compare-plain").inner_text()
    quick(compare, HOSTILE)
    compare.wait_for_function("document.querySelector('#compare-estimate').innerText.startsWith('6 texts in 3 cells')")
    run(compare)
    study = playground.compare(prompt=HOSTILE, **QUICK)
    assert texts(compare) == [row["text"] for row in study.rows + study.distinct_baselines[0].rows]
    assert compare.locator("#compare-canvas img, #compare-figure img, #compare-said img").count() == 0
    assert "From 2 to 3 steps perplexity" in compare.locator("#compare-said").inner_text()
    figures = compare.locator(".dlm-grid-figures").all_inner_texts()
    assert all("perplexity" in said and "entropy" in said for said in figures)

    compare.get_by_role("button", name="Show the steps of: 3 steps, seed 8").click()
    assert compare.locator(".dlm-compare-opened h3").inner_text() == "3 steps, seed 8"
    assert compare.evaluate(f"{HOST}.player.player.trace().frames.length") == 4
    compare.wait_for_function(f"{HOST}.player.player.text(1) === {json.dumps(study.rows[3]['text'])}")
    link = compare.locator(".dlm-compare-watch").get_attribute("href")
    assert playground.recipe.Recipe.from_query(link[1:]).seed == 8
    with compare.expect_download() as taken:
        compare.get_by_role("button", name="Table (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(taken.value.path().read_text(encoding="utf-8"), newline="")))
    assert [row["text"] for row in rows] == texts(compare) and float(rows[0]["perplexity"]) > 1
    with compare.expect_download() as taken:
        compare.get_by_role("button", name="All traces (JSON)").click()
    assert len(json.loads(taken.value.path().read_text(encoding="utf-8"))) == 3
    with compare.expect_download() as taken:
        compare.get_by_role("button", name="Figures (PNG)").click()
    assert taken.value.path().read_bytes().startswith(b"\x89PNG")
    assert taken.value.suggested_filename == "comparison.png"

    fewer = nodes_kept(compare)
    run(compare)
    run(compare)
    assert nodes_kept(compare) - fewer < 1500  # two figures that are not let go have 6,800


def nodes_kept(page) -> int:
    """DOM nodes that the browser holds, shown or not, after a collection of what nothing refers to."""
    page.wait_for_timeout(500)
    browser = page.context.new_cdp_session(page)
    browser.send("HeapProfiler.enable")
    browser.send("HeapProfiler.collectGarbage")
    return browser.send("Memory.getDOMCounters")["nodes"]


def test_what_cannot_be_compared_is_a_sentence_and_nothing_is_lost(compare):
    before = texts(compare)
    for values, sentence in (
        ("4, 4", "steps: 4 is given twice."), ("", "steps: has no value to sweep"), ("0", "steps: 0 is out of range"),
        ("4, <b>x</b>", "steps: '<b>x</b>' is not allowed"),
    ):  # fmt: skip
        fill(compare, x_values=values)
        compare.wait_for_function(
            "(said) => document.querySelector('#compare-estimate').innerText.includes(said)", arg=sentence
        )
        compare.click("#compare-run")
        compare.locator(".toast-body", has_text=sentence).first.wait_for()
        compare.wait_for_function(f"{HOST}.state() === 'idle'")
        assert texts(compare) == before
    assert compare.locator("#compare-run").inner_text() == "Compare"

    compare.get_by_text("Which sampler?").click()
    compare.wait_for_function("document.querySelector('#compare-y_values textarea')?.value.startsWith('random, ')")
    assert not compare.locator("#compare-sampler").is_visible() and not compare.locator("#compare-churn").is_visible()
    compare.locator("#compare-y input").click()
    compare.get_by_role("option", name="steps", exact=True).click()
    compare.wait_for_function("document.querySelector('#compare-estimate').innerText.includes('steps: is swept twice')")


def test_stop_keeps_what_is_done_and_a_reload_keeps_the_knobs(compare):
    quick(compare)
    fill(compare, x_values="1, 250")
    compare.click("#compare-run")
    compare.wait_for_function(f"{HOST}.player.study().cells[0].rows && !{HOST}.player.study().cells[1].rows")
    compare.wait_for_selector(".dlm-grid-draft")
    compare.click("#compare-stop")
    compare.wait_for_function(f"{HOST}.state() === 'idle'")
    assert compare.locator(".dlm-compare-status").inner_text() == "Stopped. 1 of 3 cells are done and kept."
    compare.get_by_role("button", name="Show the steps of: 1 step, seed 7").click()
    assert compare.locator(".dlm-compare-opened .dlm-line").first.inner_text()

    compare.set_viewport_size({"width": 390, "height": 844})
    compare.wait_for_timeout(300)
    assert compare.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert compare.locator("#compare-run").bounding_box()["height"] >= 44
    fill(compare, seed="")
    compare.reload()
    compare.wait_for_selector("#compare-run:visible")  # a tab has an address
    compare.get_by_text("Your last comparison, kept while the page was loaded anew.").wait_for()
    assert texts(compare)[0].startswith("Tom had") and not compare.locator("#compare-figure").is_visible()
    compare.get_by_role("button", name="Show the steps of: 1 step, seed 7").click()
    assert compare.locator(".dlm-compare-opened .dlm-line").first.inner_text()
    compare.wait_for_function("document.querySelector('#compare-x_values textarea')?.value === '1, 250'")
    assert compare.locator("#compare-prompt textarea").input_value() == "Tom had"
    compare.go_back()
    compare.wait_for_selector("#watch-canvas .dlm-line:visible")
    compare.go_forward()
    compare.wait_for_selector("#compare-run:visible")


def test_a_sweep_of_families_as_a_call_is_one_that_the_api_takes():
    saved = dict.fromkeys(NAMES, "") | {"x": "steps", "x_values": "1, 2", "y": "model", "seeds": 1, "length": 16}
    saved |= {"y_values": suggest("model", "stories-continuous"), "prompt": "Tom", "model": "stories-continuous"}
    fields = call(saved | {"temperature": 0.7, "judge": "bundled"} | {name: DEFAULTS[name] for name in MORE[:-2]})
    assert fields["sweep"]["model"] == ["stories-continuous", "stories-masked", "stories-uniform"]
    assert "sampler" not in fields and "seed" not in fields and fields["prompt"] == "Tom"
    assert len(playground.compare(**fields.pop("sweep"), **fields).cells) == 6


def test_two_visitors_see_their_own_cells_and_their_place_in_the_queue(compare, chromium, arrive):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    try:
        other = open_tab(arrive(context))
        quick(other, "The dragon")
        quick(compare)
        fill(compare, x_values="2, 250")
        compare.click("#compare-run")
        compare.wait_for_function(f"{HOST}.player.study().cells[0].rows && {HOST}.player.study().id !== 'recorded'")
        other.click("#compare-run")
        other.locator("#compare-estimate .progress-text", has_text="queue: 1/1").wait_for()
        assert other.locator("#compare-run").inner_text() in ("Waiting in line", "Running · restart")
        compare.click("#compare-stop")
        other.wait_for_function(f"{HOST}.player.study().id !== 'recorded' && {HOST}.player.study().end")
        own = playground.compare(prompt="The dragon", **QUICK)
        assert texts(other)[:4] == [row["text"] for row in own.rows]
        assert all(text.startswith("Tom had") for text in texts(compare)[:2])
    finally:
        context.close()
