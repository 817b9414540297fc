"""Selecting in a real browser: by mouse, finger and keyboard, and what the list of holes does."""

import pytest
from runs import MOUNT, STORY, document, source, split, style

HARD = ["One", " 👩‍👩‍👧", "", "", " two", "\n", "  ", "three", " e\u0301", "", " 你", "", "好", "."]


def cell(page, position):
    return page.locator(f".dlm-document .dlm-cell[data-position='{position}']")


def middle(page, position, share=0.5):
    box = cell(page, position).bounding_box()
    return box["x"] + box["width"] * share, box["y"] + box["height"] / 2


def drag(page, start, end, drop=True):
    page.mouse.move(*middle(page, start))
    page.mouse.down()
    page.mouse.move(*middle(page, end), steps=6)
    if drop:
        page.mouse.up()


def holes(page):
    return page.evaluate("() => (editor.request() || { holes: [] }).holes")


def summary(page):
    return page.locator(".dlm-summary").inner_text()


def selected(page):
    return [
        int(node.get_attribute("data-position")) for node in page.locator(".dlm-document [aria-selected=true]").all()
    ]


def focused(page):
    return page.evaluate("() => document.activeElement.dataset.position")


def test_the_text_is_drawn_as_it_is(mount):
    page = mount(HARD)
    line = page.locator(".dlm-document .dlm-line")
    assert line.evaluate("(line) => line.textContent") == "".join(HARD)
    look = line.evaluate(
        "(line) => { const s = getComputedStyle(line); return [s.fontSize, s.lineHeight, s.whiteSpace]; }"
    )
    assert look == ["20px", "38px", "pre-wrap"]


def test_dragging_selects_the_tokens_it_passes(mount):
    page = mount(STORY)
    drag(page, 7, 10)
    assert holes(page) == [[7, 11, None]] and summary(page) == "4 tokens selected"
    drag(page, 20, 18)
    assert holes(page) == [[7, 11, None], [18, 21, None]]
    assert page.evaluate("() => changes.at(-1)") == {
        "spans": 2, "tokens": 7, "choosing": False, "changed_length": False,
    }  # fmt: skip


def test_dragging_snaps_visibly_and_gives_back_what_it_leaves(mount):
    page = mount(HARD)
    drag(page, 0, 1, drop=False)
    assert page.locator(".dlm-document .dlm-hole").count() == 4  # the three cells of the family are one
    page.mouse.move(*middle(page, 0))
    assert selected(page) == [0]
    page.mouse.move(*middle(page, 4))
    page.mouse.up()
    assert holes(page) == [[0, 5, None]]


def test_a_cluster_is_selected_from_either_side(mount):
    page = mount(HARD)
    cell(page, 1).click()
    cell(page, 8).click()
    cell(page, 10).click()
    assert holes(page) == [[1, 4, None], [8, 12, None]]
    page.evaluate("() => editor.select([[3, 4], [11, 12]])")
    assert holes(page) == [[1, 4, None], [10, 12, None]]


def test_clicking_toggles_and_neighbours_join(mount):
    page = mount(STORY)
    for position in (3, 5, 4):
        cell(page, position).click()
        page.wait_for_timeout(10)
    assert holes(page) == [[3, 6, None]]
    page.wait_for_timeout(600)
    cell(page, 4).click()
    assert holes(page) == [[3, 4, None], [5, 6, None]] and summary(page) == "2 selections, 2 tokens selected"


def test_double_click_takes_the_word_and_triple_click_the_sentence(mount):
    page = mount(["Once", ".", " Rum", "pel", "stilt", " came", ".", " The", " end", "."])
    cell(page, 3).dblclick()
    assert holes(page) == [[2, 5, None]]
    page.wait_for_timeout(600)
    cell(page, 3).dblclick()
    assert holes(page) == []
    page.wait_for_timeout(600)
    cell(page, 3).click(click_count=3)
    assert holes(page) == [[2, 7, None]]


def test_holes_differ_from_text_by_more_than_colour(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[3, 6]])")
    borders = """(node) => {
      const { borderBottomStyle, borderLeftStyle, borderRightStyle } = getComputedStyle(node);
      return [borderBottomStyle, borderLeftStyle, borderRightStyle];
    }"""
    assert cell(page, 3).evaluate(borders) == ["dotted", "dotted", "none"]
    assert cell(page, 5).evaluate(borders) == ["dotted", "none", "dotted"]
    assert cell(page, 2).evaluate(borders)[0] == "solid"


def test_selecting_by_keyboard_alone(mount):
    page = mount(STORY)
    page.keyboard.press("Tab")
    assert focused(page) == "0" and page.locator(".dlm-document [tabindex='0']").count() == 1
    for key in ("ArrowRight", "ArrowRight", "Space", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert selected(page) == [2]
    for key in ("Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    assert selected(page) == [2, 4, 5, 6] and focused(page) == "6"
    assert holes(page) == [[2, 3, None], [4, 7, None]]
    page.keyboard.press("Delete")
    assert selected(page) == [2]
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    assert selected(page) == [0, 2] and focused(page) == str(len(split(STORY)) - 1)
    page.keyboard.press("Control+a")
    assert len(selected(page)) == len(split(STORY))
    page.keyboard.press("Escape")
    assert selected(page) == [] and summary(page) == "Nothing selected"
    before = int(focused(page))
    page.keyboard.press("ArrowUp")
    assert int(focused(page)) < before - 3


def test_a_selection_by_shift_begins_anew_after_a_change(mount):
    page = mount(STORY)
    cell(page, 3).focus()
    page.keyboard.press("Shift+ArrowRight")
    page.locator(".dlm-clear").click()
    assert focused(page) == "4"
    page.keyboard.press("Shift+ArrowRight")
    assert holes(page) == [[4, 6, None]]


def test_copying_gives_exactly_the_text(mount):
    page = mount(HARD)
    page.locator(".dlm-bar .dlm-copy-text").click()  # this page may not use the clipboard
    assert page.locator(".dlm-bar .dlm-copy-fallback textarea").input_value() == "".join(HARD)


def test_a_press_let_go_outside_selects_nothing_more(mount):
    page = mount(STORY)
    page.mouse.move(*middle(page, 30))
    page.mouse.down()
    page.mouse.move(1000, 700)
    page.mouse.up()
    page.mouse.move(*middle(page, 2), steps=4)
    assert page.evaluate("() => editor.request()") is None


def test_arrows_pass_over_cells_that_are_part_of_another(mount):
    page = mount(HARD)
    page.keyboard.press("Tab")
    passed = []
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        passed.append(focused(page))
    assert passed == ["1", "4", "5", "6", "7"]


def test_what_a_screen_reader_is_told(mount):
    page = mount(HARD)
    listbox = page.get_by_role("listbox")
    assert listbox.get_attribute("aria-multiselectable") == "true"
    assert listbox.get_by_role("option").count() == len([piece for piece in HARD if piece != ""])
    assert cell(page, 5).get_attribute("aria-label") == "↵" and cell(page, 2).get_attribute("aria-hidden") == "true"
    cell(page, 4).click()
    assert (
        cell(page, 4).get_attribute("aria-selected") == "true"
        and cell(page, 5).get_attribute("aria-selected") == "false"
    )
    status = page.get_by_role("status").filter(has_text="1 token selected")
    assert status.count() == 1
    assert page.get_by_role("group", name="Selection 1: two").count() == 1


def test_alt_click_makes_room_between_two_tokens(mount):
    page = mount(STORY)
    page.keyboard.down("Alt")
    page.mouse.click(*middle(page, 4, 0.9))
    page.keyboard.up("Alt")
    assert holes(page) == [[5, 5, 3]] and summary(page) == "1 insertion"
    slot = page.locator(".dlm-slot")
    assert slot.evaluate("(slot) => getComputedStyle(slot, '::before').content") == '"+3"'
    assert page.locator(".dlm-chip-words").inner_text() == "after “there”"
    assert page.locator(".dlm-document .dlm-line").evaluate("(line) => line.textContent") == STORY
    page.locator(".dlm-longer").click()
    assert holes(page) == [[5, 5, 4]]
    slot.click()
    assert holes(page) == []


def test_alt_click_never_parts_a_character(mount):
    page = mount(HARD)
    page.keyboard.down("Alt")
    page.mouse.click(*middle(page, 1, 0.9))
    page.keyboard.up("Alt")
    assert holes(page) == [[4, 4, 3]]


def test_insert_here_follows_the_focused_token(mount):
    page = mount(STORY)
    insert = page.locator(".dlm-insert")
    cell(page, 4).click()
    assert insert.get_attribute("aria-label") == "Insert new words after “there”"
    assert insert.inner_text() == "Insert after “there”"
    insert.click()
    assert holes(page) == [[5, 5, 3]]
    page.evaluate("() => editor.select([])")
    drag(page, 8, 10)
    assert insert.inner_text() == "Insert after “Lily”"
    insert.click()
    assert holes(page) == [[8, 11, 6]]
    page.evaluate("() => editor.select([])")
    cell(page, 0).focus()
    page.keyboard.press("Shift+Insert")
    assert holes(page) == [[0, 0, 3]]


def test_lengths_by_their_buttons(mount):
    page = mount(STORY, maxCells=45)
    page.evaluate("() => editor.select([[7, 9]])")
    count = page.locator(".dlm-chip-count")
    page.locator(".dlm-longer").click()
    assert holes(page) == [[7, 9, 3]] and count.inner_text() == "2 → 3 tokens"
    assert cell(page, 8).get_attribute("data-length") == "→ 3"
    page.locator(".dlm-longer").click()
    assert page.locator(".dlm-longer").is_disabled()  # 43 tokens and 2 more are all there may be
    for _ in range(3):
        page.locator(".dlm-shorter").click()
    assert holes(page) == [[7, 9, 1]] and page.locator(".dlm-shorter").is_disabled()
    page.locator(".dlm-same").click()
    assert holes(page) == [[7, 9, None]] and page.locator(".dlm-same").get_attribute("aria-pressed") == "true"
    page.locator(".dlm-free").click()
    assert holes(page) == [[7, 9, "?"]] and page.evaluate("() => changes.at(-1).choosing") is True
    page.locator(".dlm-free").click()
    assert holes(page) == [[7, 9, None]]


def test_a_hole_over_the_limit_is_refused_in_a_sentence(mount):
    page = mount(STORY, maxCells=44)
    assert page.evaluate("() => editor.select([[7, 9, 10]])") is False
    assert "44 tokens at most; this one would have 51" in page.locator(".dlm-said").inner_text()
    assert holes(page) == []


def test_words_a_hole_must_contain(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4], [7, 11]])")
    where = page.locator(".dlm-pin-where")
    assert where.nth(1).is_hidden()
    page.locator(".dlm-pin-word").nth(1).fill("brave")
    assert page.evaluate("() => editor.request().pins") == [[1, "middle", "brave"]]
    where.nth(1).select_option("end")
    page.locator(".dlm-pin-word").nth(1).press("Control+z")
    assert page.evaluate("() => editor.history().nodes.length") == 1
    page.locator(".dlm-pin-word").nth(1).fill("bold")
    page.locator(".dlm-chip-remove").first.click()
    assert page.evaluate("() => editor.request().pins") == [[0, "end", "bold"]]
    assert page.locator(".dlm-pin-word").first.input_value() == "bold"


@pytest.mark.parametrize(("free", "sentence"), [
    (1, "To have “brave” here, the length must be known: switch off “model chooses”, or clear the word."),
    (0, "every length must be known: switch off “model chooses” at there was, or clear the word."),
])  # fmt: skip
def test_a_word_where_the_model_chooses_is_refused_at_its_hole(mount, free, sentence):
    page = mount(STORY)
    page.evaluate("() => editor.select([[4, 6], [7, 11]])")
    page.locator(".dlm-pin-word").nth(1).fill("brave")
    page.locator(".dlm-free").nth(free).click()
    assert page.evaluate("() => editor.request()") is None
    why = page.locator(".dlm-chip").nth(1).locator(".dlm-chip-why[role=alert]")
    assert sentence in why.inner_text() and page.locator(".dlm-chip-why:visible").count() == 1
    page.locator(".dlm-free").nth(free).click()
    assert page.locator(".dlm-chip-why:visible").count() == 0
    assert page.evaluate("() => editor.request().pins") == [[1, "middle", "brave"]]


def test_a_hole_without_room_for_its_word_grows_and_says_so(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4], [7, 11]])")
    sentence = "“<b>hippopotamus</b>” takes 5 tokens."
    page.evaluate("(sentence) => editor.push({ refused: { hole: 1, cells: 7, sentence } })", sentence)
    assert holes(page) == [[2, 4, None], [7, 11, 7]]
    assert page.locator(".dlm-chip").nth(1).locator(".dlm-chip-why").inner_text() == sentence
    for bad in ({}, {"hole": 9, "cells": 7, "sentence": "x"}, {"hole": 0, "cells": "7", "sentence": "x"}, 7):
        page.evaluate("(refused) => editor.push({ refused })", bad)
    assert holes(page) == [[2, 4, None], [7, 11, 7]]


def test_every_control_of_a_hole_names_its_hole(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4], [7, 11]])")
    page.get_by_role("textbox", name="Must contain, selection 2: little girl named Lily").fill("brave")
    where = page.get_by_role("combobox", name="Where the word stands, selection 2: little girl named Lily")
    where.select_option("end")
    assert page.evaluate("() => editor.request().pins") == [[1, "end", "brave"]]


def test_a_text_with_blanks_opens_with_its_blanks_selected(mount):
    pieces = ["The", " ", "_", "_", "_", " ran", " to", " the", " ", "_", "_", "_", "."]
    page = mount(pieces)
    assert holes(page) == [[1, 5, 1], [8, 12, 1]]
    assert page.locator(".dlm-chip-words").all_inner_texts() == ["___ after “The”", "___ after “the”"]
    assert page.locator(".dlm-chip-count").first.inner_text() == "1 token"
    page.locator(".dlm-free").first.click()
    page.locator(".dlm-free").first.click()
    assert holes(page) == [[1, 5, 1], [8, 12, 1]] and page.locator(".dlm-same:not(.dlm-unused)").count() == 0
    page.locator(".dlm-clear").click()
    cell(page, 3).click()
    assert holes(page) == [[1, 5, 1]]
    page.wait_for_timeout(600)
    cell(page, 2).click()
    assert page.locator(".dlm-summary").inner_text() == "Nothing selected"
    page.wait_for_timeout(600)
    cell(page, 10).dblclick()
    assert holes(page) == [[8, 12, 1]]
    page.locator(".dlm-clear").click()
    drag(page, 5, 10)
    assert holes(page) == [[5, 11, None]]


def test_what_the_tab_does_is_said_over_the_text(mount):
    page = mount(STORY)
    lead = page.locator(".dlm-lead")
    place = "(node) => node.getBoundingClientRect().y"
    before = page.locator(".dlm-document").evaluate(place)
    assert lead.inner_text().startswith("Drag over words or click them to have them rewritten;")
    page.evaluate("() => editor.request()")
    assert page.locator(".dlm-said").inner_text() == "First select the words to rewrite." and lead.is_hidden()
    assert page.locator(".dlm-document").evaluate(place) == before
    page.evaluate("() => editor.select([[2, 4]])")
    assert lead.inner_text().startswith("Grey words will be rewritten; everything else stays, token for token.")
    assert page.locator(".dlm-document").evaluate(place) == before


def test_control_and_enter_runs_and_the_keys_are_listed(mount):
    page = mount(STORY)
    page.evaluate("() => (window.runs = 0)")
    page.evaluate(MOUNT.replace("...options", "...options, onRun: () => (window.runs += 1)"), [source(), style(), {}])
    page.evaluate("(doc) => editor.open(doc, 'Typed')", document(STORY))
    cell(page, 3).focus()
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Enter")
    assert holes(page) == [[3, 4, None]]
    page.locator(".dlm-pin-word").focus()
    page.keyboard.press("Meta+Enter")
    assert page.evaluate("() => runs") == 2
    page.locator(".dlm-keys summary").click()
    assert "Ctrl + Enter\nRegenerate" in page.locator(".dlm-keys").inner_text()


def test_removing_a_hole_keeps_the_focus_in_the_list(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4], [7, 11]])")
    page.locator(".dlm-chip-remove").first.click()
    assert page.evaluate("() => document.activeElement.matches('.dlm-chip-remove')")
    page.locator(".dlm-chip-remove").first.click()
    assert page.evaluate("() => document.activeElement.matches('.dlm-document .dlm-cell')")


def test_presets(mount):
    page = mount("I saw ___ and then _____ came. The end.")
    page.locator(".dlm-blanks").click()
    pieces = page.evaluate("() => editor.document().pieces")
    assert [pieces[start] for start, _, _ in holes(page)] == [" ___", " _____"]
    page.evaluate("(doc) => editor.open(doc, 'Typed')", document(STORY))
    assert page.locator(".dlm-blanks").is_hidden()
    page.locator(".dlm-middle").click()
    [[start, end, _]] = holes(page)
    words = split(STORY)
    assert words[start - 1] == "." and words[start] == " She" and words[end] == " A"
    page.locator(".dlm-clear").click()
    assert holes(page) == [] and page.locator(".dlm-clear").is_hidden()


@pytest.mark.parametrize(
    ("pieces", "spans", "sentence"),
    [
        (STORY, [], "First select the words to rewrite."),
        (["One", " two"], [[0, 2]], "Everything is selected"),
        ([], [], "There is no text to edit yet."),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_in_words(mount, pieces, spans, sentence):
    page = mount(pieces)
    page.evaluate("(spans) => editor.select(spans)", spans)
    assert page.evaluate("() => editor.request()") is None
    assert page.locator(".dlm-said[role=status]").inner_text().startswith(sentence)


def test_a_host_may_select_and_ask_for_nonsense(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[40, 99], [-1, 2], [5, 3], [1.5, 3], [2, 4, '?'], [9, 9]])")
    assert holes(page) == [[2, 4, "?"], [9, 9, 3]]
    for bad in (None, {"ids": [1]}, {"ids": [1], "pieces": []}, {"ids": ["x"], "pieces": ["x"]}, 7):
        assert page.evaluate("(doc) => editor.open(doc, 'x')", bad) is False
    assert page.evaluate("() => editor.text(0)") == STORY


def swipe(page, start, way, steps=6, rest=0):
    """A finger that rests for a moment and then moves from `start` by `way`."""
    session = page.context.new_cdp_session(page)
    send = lambda kind, points: session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})  # noqa: E731
    send("touchStart", [{"x": start[0], "y": start[1]}])
    page.wait_for_timeout(rest)
    for part in range(1, steps + 1):
        send("touchMove", [{"x": start[0] + way[0] * part / steps, "y": start[1] + way[1] * part / steps}])
    send("touchEnd", [])


def test_a_finger_taps_and_swipes_sideways_and_still_scrolls(chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    body = "<!doctype html><meta name=viewport content='width=device-width,initial-scale=1'><body></body>"
    context.route("**/*", lambda route: route.fulfill(content_type="text/html", body=body))
    page = context.new_page()
    page.goto("http://editor.test/")
    page.evaluate(MOUNT, [source(), style(), {}])
    page.evaluate("() => (document.body.style.paddingBottom = '2000px')")
    page.evaluate("(doc) => editor.open(doc, 'Typed')", document(STORY))
    page.touchscreen.tap(*middle(page, 2))
    assert holes(page) == [[2, 3, None]]
    swipe(page, middle(page, 12), (60, 0))
    kept = holes(page)
    assert len(kept) == 2 and kept[1][0] == 12 and kept[1][1] > 13
    swipe(page, middle(page, 24), (0, 38), rest=450)
    assert len(holes(page)) == 3 and holes(page)[2][0] == 24 and page.evaluate("() => scrollY") == 0
    kept = holes(page)
    swipe(page, middle(page, 20), (0, -200))
    page.wait_for_function("() => scrollY > 40")
    assert holes(page) == kept
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    context.close()
