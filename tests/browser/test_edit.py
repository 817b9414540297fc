"""The Edit tab, driven as a visitor would."""

import re

import httpx
import pytest
from gradio_client import Client

from playground.ui.edit import EXAMPLES, SELECTED

EDITOR = "document.querySelector('#edit-canvas .dlm-host').player"
ODD = "Tom  had a 🎈.\n\nHe said: 你好! <b>[[hi]]</b> ${x} e\u0301 end"


@pytest.fixture
def edit(page):
    """The tab, open, with the example in it."""
    page.get_by_role("tab", name="Edit").click()
    page.wait_for_selector("#edit-canvas .dlm-cell:visible")
    set_knob(page, "steps", 4)
    return page


def set_knob(page, name: str, value):
    box = page.locator(f"#edit-{name} :is(input[type=number], input[type=text], textarea)").first
    box.fill(str(value))
    box.press("Tab")


def text(page) -> str:
    return page.evaluate(f"{EDITOR}.text(0)")


def document(page) -> dict:
    return page.evaluate(f"{EDITOR}.document()")


def cell(page, position: int):
    """A cell of the document that is on show."""
    return page.locator(f"#edit-canvas .dlm-cell[data-position='{position}']:visible")


def open_text(page, value: str):
    if not page.locator("#edit-text textarea").is_visible():
        page.get_by_role("button", name="Another text").click()
    page.locator("#edit-text textarea").fill(value)
    page.click("#edit-open")
    page.wait_for_function(f"(text) => {EDITOR}.text(0) === text", arg=value)


def regenerate(page, finished="#edit-canvas .dlm-alternative"):
    page.click("#edit-run")
    page.wait_for_selector(finished)


def accept(page, number=1):
    before = document(page)
    page.locator("#edit-canvas .dlm-accept").nth(number - 1).click()
    page.wait_for_selector("#edit-canvas .dlm-alternative", state="hidden")
    return before, document(page)


def test_the_example_is_rewritten_at_the_first_click_and_undo_redo_branch_and_reload_lose_nothing(edit):
    assert text(edit) == EXAMPLES[0] and "12 tokens selected" in edit.locator("#edit-canvas").inner_text()
    regenerate(edit)
    said = edit.locator("#edit-canvas").inner_text()
    assert "2 alternatives to choose from." in said and "the 35 tokens outside the selection, checked in each" in said
    before, after = accept(edit)
    start, end = EXAMPLES[0].split(SELECTED)
    assert text(edit).startswith(start) and text(edit).endswith(end) and text(edit) != EXAMPLES[0]
    held = len(before["ids"]) - 12
    assert sum(a == b for a, b in zip(before["ids"], after["ids"], strict=True)) >= held

    second = text(edit)
    edit.get_by_role("button", name="Undo").click()
    assert text(edit) == EXAMPLES[0]
    edit.get_by_role("button", name="Redo").click()
    assert text(edit) == second
    edit.get_by_role("button", name="Undo").click()
    edit.evaluate(f"{EDITOR}.select([[22, 34]])")
    regenerate(edit)
    accept(edit)
    third = text(edit)
    assert len(edit.evaluate(f"{EDITOR}.history().nodes")) == 3
    edit.reload()
    edit.get_by_role("tab", name="Edit").click()
    edit.wait_for_selector("#edit-canvas .dlm-cell:visible")
    assert text(edit) == third and len(edit.evaluate(f"{EDITOR}.history().nodes")) == 3
    edit.wait_for_function("document.querySelector('#edit-steps input[type=number]').value === '4'")


def test_alternatives_are_put_away_and_brought_back_and_a_run_is_stopped_and_discarded(edit):
    cell(edit, 3).focus()
    edit.keyboard.press("Control+Enter")
    edit.wait_for_selector("#edit-canvas .dlm-alternative")
    edit.wait_for_function("document.activeElement.matches('.dlm-row-accept')")
    edit.keyboard.press("Control+z")
    assert "12 tokens selected" in edit.locator("#edit-canvas").inner_text()
    edit.keyboard.press("Control+y")
    assert edit.locator("#edit-canvas .dlm-alternative").count() == 2

    edit.click("#edit-canvas .dlm-discard")
    set_knob(edit, "steps", 256)
    edit.click("#edit-run")
    edit.wait_for_function(f"{EDITOR}.step() > 1")
    edit.click("#edit-stop")
    edit.wait_for_selector("#edit-canvas .dlm-alternatives:visible")
    edit.click("#edit-canvas .dlm-discard")
    assert text(edit) == EXAMPLES[0] and "12 tokens selected" in edit.locator("#edit-canvas").inner_text()
    edit.wait_for_function("document.querySelector('#edit-run').innerText === 'Regenerate'")

    edit.locator("#edit-model input").click()
    options = edit.locator("#edit-model .options")
    options.wait_for()
    edit.keyboard.press("Tab")
    options.wait_for(state="hidden")
    edit.locator("#edit-model input").click()
    edit.locator("#edit-model li").nth(1).click()
    assert edit.locator("#edit-model input").input_value() == "stories-masked"


def test_a_pinned_word_stands_in_its_hole_and_one_too_long_for_it_makes_it_longer(edit):
    edit.get_by_placeholder(re.compile("must contain")).first.fill("dragon")
    regenerate(edit)
    for n in range(2):
        assert " dragon" in edit.evaluate(f"{EDITOR}.trace().end.texts[{n}]")
    edit.click("#edit-canvas .dlm-discard")

    edit.evaluate(f"{EDITOR}.select([[22, 26]])")
    edit.get_by_role("textbox", name="Must contain, selection 1").fill("hippopotamus")
    edit.locator("#edit-canvas .dlm-free").click()
    edit.click("#edit-run")
    assert "switch off “model chooses”" in edit.locator("#edit-canvas .dlm-chip-why").inner_text()
    edit.locator("#edit-canvas .dlm-free").click()
    edit.click("#edit-run")
    edit.wait_for_selector("#edit-canvas .dlm-chip-why:visible")
    assert "4 → 7 tokens. Press Regenerate again." in edit.locator("#edit-canvas .dlm-chip-why").inner_text()
    edit.wait_for_function("document.querySelector('#edit-run').innerText === 'Regenerate'")
    regenerate(edit)
    assert edit.locator(".toast-body").count() == 0
    for words in edit.evaluate(f"{EDITOR}.trace().end.texts"):
        assert re.search(r" hippopotamus(?![A-Za-z0-9])", words)


def test_what_cannot_be_edited_or_run_is_said_and_the_keyboard_alone_is_enough(edit):
    edit.get_by_role("button", name="Another text").click()
    for value, sentence in (
        ("", "text: is empty; type or paste one."),
        ("word " * 600, "Shorten it."),
        ("x" * 3_000_000, "allowed: 20,000."),
    ):
        edit.locator("#edit-text textarea").fill(value)
        edit.click("#edit-open")
        edit.locator(".toast-body", has_text=sentence).wait_for()
        assert edit.locator("#edit-text textarea").input_value() == value
        assert text(edit) == EXAMPLES[0]

    open_text(edit, "The dog ran home.")
    edit.click("#edit-run")
    assert "First select the words to rewrite." in edit.locator("#edit-canvas").inner_text()
    cell(edit, 0).focus()
    edit.keyboard.press("Control+a")
    edit.click("#edit-run")
    assert "Everything is selected" in edit.locator("#edit-canvas").inner_text()
    assert edit.locator("#edit-run").inner_text() == "Regenerate"

    edit.keyboard.press("Escape")
    edit.evaluate(f"{EDITOR}.select([])")
    cell(edit, 0).focus()
    edit.keyboard.press("ArrowRight")
    edit.keyboard.press("Shift+ArrowRight")
    assert cell(edit, 1).get_attribute("aria-selected") == "true"
    spans = edit.evaluate(f"{EDITOR}.request().holes")
    assert spans and spans[0][0] >= 1
    edit.locator("#edit-run").focus()
    edit.keyboard.press("Enter")
    edit.wait_for_selector("#edit-canvas .dlm-alternative")
    edit.locator("#edit-canvas .dlm-accept").first.focus()
    edit.keyboard.press("Enter")
    edit.wait_for_function(f"{EDITOR}.history().nodes.length === 3")
    assert text(edit).startswith("The") and text(edit).endswith(".")


def test_several_spans_change_and_nothing_else_and_holes_grow_shrink_or_have_any_length(edit):
    open_text(edit, ODD)
    before = document(edit)["ids"]
    first, last = cell(edit, 1).bounding_box(), cell(edit, 3).bounding_box()
    edit.mouse.move(first["x"] + 2, first["y"] + 5)
    edit.mouse.down()
    edit.mouse.move(last["x"] + last["width"] - 2, last["y"] + 5, steps=5)
    edit.mouse.up()
    cell(edit, len(before) - 1).click()
    asked = edit.evaluate(f"{EDITOR}.request()")
    assert [hole[:2] for hole in asked["holes"]] == [[1, 4], [len(before) - 1, len(before)]]
    regenerate(edit)
    accept(edit)
    after = document(edit)["ids"]
    assert after[0] == before[0] and after[4:-1] == before[4:-1]
    assert ODD[ODD.index("said") : -len(" end")] in text(edit)

    open_text(edit, "Tom was sad. He ran. Then Tom was happy.")
    position = document(edit)["pieces"].index(" He")
    cell(edit, position).click()
    cell(edit, position + 1).click()
    edit.click("#edit-canvas .dlm-longer")
    assert edit.evaluate(f"{EDITOR}.request().holes") == [[position, position + 2, 3]]
    regenerate(edit)
    before, after = accept(edit)
    assert len(after["ids"]) == len(before["ids"]) + 1
    edit.keyboard.press("Control+z")
    edit.wait_for_function(f"{EDITOR}.document().ids.length === {len(before['ids'])}")
    edit.evaluate(f"{EDITOR}.select([[{position}, {position + 2}]])")
    edit.click("#edit-canvas .dlm-free")
    set_knob(edit, "samples", 4)
    regenerate(edit)
    lengths = edit.evaluate(f"{EDITOR}.trace().end.scores.map((score) => score.tokens)")
    assert lengths == [1, 2, 3, 4]
    assert edit.locator("#edit-canvas .dlm-best").count() == 1


def test_the_text_of_watch_is_taken_token_for_token_and_a_phone_runs_without_sideways_scroll(page):
    page.wait_for_function("document.querySelector('#watch-canvas .dlm-host').player.step() === 32")
    watched = page.evaluate("document.querySelector('#watch-canvas .dlm-host').player.text(0)")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("tab", name="Edit").click()
    page.wait_for_selector("#edit-canvas .dlm-cell:visible")
    regenerate(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    first = page.locator("#edit-canvas .dlm-row-accept").first.bounding_box()
    assert first["y"] + first["height"] < page.locator("#edit-run").bounding_box()["y"]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Another text").click()
    page.click("#edit-watch")
    page.wait_for_function(f"(text) => {EDITOR}.text(0) === text", arg=watched)


WORDS = r"The [A-Za-z]+ ran to the [a-z]+ and found a [a-z]+ under the tree\."


def test_blanks_are_filled_with_words_at_once(edit):
    edit.get_by_role("button", name="Another text").click()
    edit.get_by_text("The ___ ran to the ___").first.click()
    edit.wait_for_function(f"(text) => {EDITOR}.text(0) === text", arg=EXAMPLES[2])
    assert "3 selections" in edit.locator("#edit-canvas").inner_text()
    assert [cells for *_, cells in edit.evaluate(f"{EDITOR}.request().holes")] == [1, 1, 1]
    history = edit.evaluate(f"{EDITOR}.history().nodes.map((node) => node.label)")
    assert history == ["Example", "Example"]
    for name, value in (("steps", 32), ("strength", 0.4), ("samples", 4), ("temperature", 0.7), ("seed", 11)):
        set_knob(edit, name, value)
    for model in ("stories-continuous", "stories-masked"):
        edit.locator("#edit-model input").fill(model)
        edit.locator("#edit-model input").press("Enter")
        edit.wait_for_timeout(500)
        regenerate(edit)
        trace = edit.evaluate(f"(({{head, end}}) => [head.model.name, end.texts])({EDITOR}.trace())")
        assert trace[0] == model and all(re.fullmatch(WORDS, text) for text in trace[1]), trace
        edit.click("#edit-canvas .dlm-discard")


def test_what_a_stranger_sends_by_hand_is_refused(url):
    config = httpx.get(f"{url}config").json()
    number = next(
        d["id"] for d in config["dependencies"] if d["targets"] and d["targets"][0][1] == "go" and len(d["inputs"]) > 10
    )
    names = len(config["dependencies"][number]["inputs"])
    for data in ({"ids": [1]}, {"ids": "x"}, None, {"ids": [5], "holes": [[0, 1, None]], "pins": [], "text": "<b>"}):
        httpx.post(
            f"{url}gradio_api/queue/join",
            json={"data": [None] * names, "fn_index": number, "event_data": data, "session_hash": "stranger"},
        )
    answer = Client(url, verbose=False, httpx_kwargs={"timeout": 60}).predict(
        text="a [[b]]", steps=1, api_name="/infill"
    )
    assert answer["unchanged"]
