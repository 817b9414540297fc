"""Runs in the editor: how they take the place of the text, what the alternatives say, and what accepting one does."""

import json

import pytest
from runs import MASK, STORY, document, make_run, messages, split

HARD = [
    "One",
    " 👩‍👩‍👧",
    "",
    "",
    " two",
    "\n",
    "  ",
    "three",
    " e\u0301",
    "",
    " 你",
    "",
    "好",
    " <img src=x onerror=alert(1)>",
    ".",
]
HOSTILE = ["<img src=x onerror=alert(1)>", " ${alert(1)}", " [[x]]", " {{x}}", "</script>", "\u202e", "\0", "<!--"]
PLAIN = """(node) => {
  const copy = node.cloneNode(true);
  copy.querySelectorAll(".dlm-spoken").forEach((spoken) => spoken.remove());
  return copy.textContent;
}"""


def push(page, trace, run="a", only=None):
    sent = list(messages(trace, run))[only or slice(None)]
    page.evaluate("(messages) => messages.forEach((message) => editor.push(message))", sent)


def finish(page, trace, run="a"):
    push(page, trace, run)
    page.locator(".dlm-alternatives").wait_for()


def text(page):
    return page.evaluate("() => editor.text(0)")


def edit(mount, pieces=STORY, spans=((7, 11),), **run):
    """An editor whose run over the holes is over."""
    page = mount(pieces)
    page.evaluate("(spans) => editor.select(spans)", [list(span) for span in spans])
    request = page.evaluate("() => editor.request()")
    finish(page, make_run(document(pieces), request["holes"], **run))
    return page


def test_a_run_takes_the_place_of_the_text(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 11]])")
    place = "(node) => { const { x, y } = node.getBoundingClientRect(); return [x, y]; }"
    before = [page.locator(f".dlm-document [data-position='{position}']").evaluate(place) for position in (0, 6)]
    trace = make_run(document(STORY), [[7, 11, None]])
    push(page, trace, only=slice(0, 3))
    page.wait_for_function("() => window.live === true")
    after = [page.locator(f".dlm-run [data-position='{position + 1}']").evaluate(place) for position in (0, 6)]
    assert after == before  # the run stands where the text stood
    assert page.locator(".dlm-document").is_hidden() and page.locator(".dlm-bar").is_hidden()
    assert page.locator(".dlm-alternatives").is_hidden() and page.locator(".dlm-undo").is_disabled()
    push(page, trace, only=slice(3, None))
    page.locator(".dlm-alternatives").wait_for()
    assert page.evaluate("() => live") is False and text(page) == trace["end"]["texts"][0]


def test_the_alternatives_wait_for_the_last_step_on_screen(mount):
    page = mount(STORY)
    trace = make_run(document(STORY), [[7, 11, None]])
    push(page, trace, only=slice(0, 5))
    page.evaluate("() => editor.goTo(1)")
    push(page, trace, only=slice(5, None))
    page.wait_for_timeout(200)
    assert page.locator(".dlm-alternatives").is_hidden() and page.evaluate("() => editor.step()") == 1
    page.evaluate("() => editor.goTo(99)")
    page.locator(".dlm-alternatives").wait_for()
    page.evaluate("() => editor.goTo(2)")
    page.wait_for_timeout(100)
    assert page.locator(".dlm-alternatives").is_visible()


def test_rows_stand_side_by_side_where_there_is_room(mount):
    page = edit(mount, rows=3)
    for part in (".dlm-run .dlm-row", ".dlm-alternative"):
        boxes = [node.bounding_box() for node in page.locator(part).all()]
        assert (
            boxes[0]["y"] == boxes[1]["y"]
            and boxes[1]["x"] > boxes[0]["x"] + boxes[0]["width"]
            and boxes[2]["y"] > boxes[0]["y"]
        )
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [node.bounding_box() for node in page.locator(".dlm-alternative").all()]
    assert boxes[0]["x"] == boxes[1]["x"] and page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_cards_say_what_changed_and_how_well_it_fits(mount):
    page = edit(mount, rows=2, unchanged=True, checked=82)
    card = page.locator(".dlm-alternative").first
    assert card.locator("del").all_inner_texts() == ["little girl named Lily"]
    assert card.locator("ins").all_inner_texts() == ["a brave small boy"]
    marks = "(node) => getComputedStyle(node).textDecorationLine"
    assert [card.locator(kind).evaluate(marks) for kind in ("ins", "del")] == ["underline", "line-through"]
    assert "deleted:" in card.inner_text() and "inserted:" in card.inner_text()
    facts = page.locator(".dlm-facts").all_inner_texts()
    assert facts[0] == "Alternative 1 · seed 7 · fit −1.23 nats/token"
    assert facts[1] == "Alternative 2 · seed 8 · fit −1.13 nats/token"
    assert page.locator(".dlm-best").count() == 1
    assert page.locator(".dlm-alternative").nth(1).locator(".dlm-best").inner_text() == "best fit"
    assert "nearer to 0 is better" in page.locator(".dlm-fit").first.get_attribute("title")
    sentence = (
        "Everything else is identical, token for token: the 39 tokens outside the selection, checked in each "
        "alternative."
    )
    assert page.locator(".dlm-outside").inner_text() == sentence
    assert page.locator(".dlm-alternatives-title[role=status]").inner_text() == "2 alternatives to choose from."


def test_nothing_is_claimed_that_the_run_does_not_say(mount):
    page = edit(mount, scores=False)
    assert page.locator(".dlm-outside").is_hidden() and page.locator(".dlm-best").count() == 0
    assert page.locator(".dlm-facts").inner_text() == "Alternative 1 · seed 7"


def test_one_alone_is_not_called_the_best(mount):
    page = edit(mount, rows=1)
    assert "nats/token" in page.locator(".dlm-facts").inner_text() and page.locator(".dlm-best").count() == 0


def test_a_run_that_changed_more_says_so(mount):
    page = edit(mount, unchanged=False, checked=39)
    assert "should not happen" in page.locator(".dlm-outside").inner_text()


@pytest.mark.parametrize("spans", [[[4, 5]], [[1, 4], [7, 8, 2]], [[1, 4, 2]], [[6, 6, 2]], [[0, 1, 3], [14, 15]]])
def test_accepting_keeps_all_outside_the_holes(mount, spans):
    page = edit(mount, HARD, spans, rows=2)
    shown = page.locator(".dlm-difference").nth(1).evaluate(PLAIN)
    page.locator(".dlm-accept").nth(1).click()
    old, new = document(HARD), page.evaluate("() => editor.document()")
    at, before = 0, 0
    for start, end, *cells in spans:
        kept = start - before
        assert new["ids"][at : at + kept] == old["ids"][before:start]
        assert new["pieces"][at : at + kept] == old["pieces"][before:start]
        at, before = at + kept + (cells[0] if cells else end - start), end
    assert new["ids"][at:] == old["ids"][before:] and new["pieces"][at:] == old["pieces"][before:]
    line = page.locator(".dlm-document .dlm-line").evaluate("(line) => line.textContent")
    assert line == text(page) == "".join(new["pieces"])
    assert "alert(1)" in shown and page.locator("#root img").count() == 0


def test_real_tokens_stay_what_they_are(mount, tokenizer):
    typed = "Lily  saw 👩‍👩‍👧 and 你好, e\u0301t cetera.\n\nThe end 🇫🇷!  "
    ids = tokenizer.encode(typed)
    doc = {"ids": ids, "pieces": tokenizer.pieces(ids)}
    page = mount(doc["pieces"])
    page.evaluate("(doc) => editor.open(doc, 'Typed')", doc)
    assert text(page) == typed
    for cell in range(len(ids)):
        page.evaluate("(cell) => editor.select([[cell, cell + 1]])", cell)
        [[start, end, _]] = page.evaluate("() => editor.request().holes")
        rest = "".join(tokenizer.decode(part) for part in (ids[:start], ids[start:end], ids[end:]))
        assert start <= cell < end and rest == typed  # each part is whole text of its own
    finish(page, make_run(doc, [[start, end, None]], fills=["fin"]))
    page.locator(".dlm-accept").click()
    new = page.evaluate("() => editor.document()")
    assert new["ids"][:start] == ids[:start] and tokenizer.decode(new["ids"][:start]) == "".join(new["pieces"][:start])


def test_an_accepted_text_is_new_marked_and_a_version(mount):
    page = edit(mount, rows=2)
    page.locator(".dlm-accept").nth(1).click()
    fresh = page.locator(".dlm-document .dlm-fresh").all_inner_texts()
    assert "".join(fresh).split() == ["my", "old", "blue", "cat"]
    assert page.locator(".dlm-run").is_hidden() and page.locator(".dlm-summary").inner_text() == "Nothing selected"
    assert page.evaluate("() => document.activeElement.matches('.dlm-fresh')")
    history = page.evaluate("() => editor.history()")
    assert [node["label"] for node in history["nodes"]] == ["Typed", "Regenerated 4 tokens"]
    assert history["nodes"][1]["seed"] == 8 and history["nodes"][1]["parent"] == history["nodes"][0]["id"]
    assert page.evaluate("() => documents.at(-1).ids") == page.evaluate("() => editor.document().ids")
    push(page, make_run(document(STORY), [[7, 11, None]]))
    assert page.locator(".dlm-run").is_hidden()  # what comes late of a run that is settled


def test_discarding_keeps_text_and_selection(mount):
    page = edit(mount, spans=[(7, 11), (17, 18)])
    page.locator(".dlm-discard").click()
    assert text(page) == STORY and page.locator(".dlm-chip").count() == 2
    assert page.evaluate("() => editor.request().holes") == [[7, 11, None], [17, 18, None]]
    assert page.evaluate("() => document.activeElement.dataset.position") == "7"
    finish(page, make_run(document(STORY), [[7, 11, None]]), run="b")
    assert page.locator(".dlm-alternative").count() == 1


def test_undo_takes_the_alternatives_back_before_anything_else(mount):
    page = mount("Before.")
    page.evaluate("(doc) => { editor.open({ ...doc, ids: doc.ids.map((id) => id + 1) }, 'Typed'); }", document(STORY))
    page.evaluate("() => editor.select([[7, 11]])")
    finish(page, make_run(page.evaluate("() => editor.document()"), [[7, 11, None]]))
    page.locator(".dlm-accept").focus()
    page.keyboard.press("Control+z")
    assert text(page) == STORY and page.locator(".dlm-chip").count() == 1
    page.keyboard.press("Control+z")
    assert text(page) == "Before."


def test_what_undo_put_away_redo_brings_back(mount):
    page = edit(mount, rows=2)
    page.locator(".dlm-undo").click()
    assert text(page) == STORY and page.locator(".dlm-alternatives").is_hidden()
    assert page.locator(".dlm-redo").is_enabled() and page.locator(".dlm-again").is_visible()
    page.evaluate("() => editor.select([[1, 2]])")
    page.locator(".dlm-redo").click()
    assert page.locator(".dlm-alternative").count() == 2 and page.locator(".dlm-redo").is_disabled()
    assert page.evaluate("() => document.activeElement.matches('.dlm-row-accept')")
    page.locator(".dlm-discard").click()
    page.locator(".dlm-document .dlm-cell").first.focus()
    page.keyboard.press("Control+y")
    page.locator(".dlm-accept").nth(1).click()
    assert "my old blue cat" in text(page)
    assert page.evaluate("() => editor.history().nodes.length") == 2


def test_undoing_an_accepted_alternative_brings_back_its_selection_and_the_others(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4], [7, 11, 6]])")
    page.locator(".dlm-pin-word").nth(1).fill("brave")
    asked = page.evaluate("() => editor.request()")
    finish(page, make_run(document(STORY), asked["holes"], rows=2))
    page.locator(".dlm-row-accept").first.click()
    accepted = text(page)
    assert page.locator(".dlm-again").is_hidden()
    page.locator(".dlm-undo").click()
    assert text(page) == STORY and page.evaluate("() => editor.request()") == asked
    page.locator(".dlm-redo").click()
    assert text(page) == accepted and page.locator(".dlm-summary").inner_text() == "Nothing selected"
    page.locator(".dlm-undo").click()
    page.locator(".dlm-again").click()
    page.locator(".dlm-accept").nth(1).click()
    assert text(page) != accepted and page.evaluate("() => editor.history().nodes.length") == 3


def test_alternatives_do_not_come_back_to_another_text(mount):
    page = edit(mount)
    page.locator(".dlm-undo").click()
    page.evaluate("(doc) => editor.open({ ...doc, ids: doc.ids.map((id) => id + 1) }, 'Typed')", document(STORY))
    assert page.locator(".dlm-redo").is_disabled() and page.locator(".dlm-again").is_hidden()
    page.locator(".dlm-undo").click()
    assert page.locator(".dlm-again").is_visible()
    finish(page, make_run(document(STORY), [[7, 11, None]]), run="b")
    assert page.locator(".dlm-again").is_hidden()


def test_the_decision_is_where_the_text_is(mount):
    page = edit(mount, rows=2)
    titles = page.locator(".dlm-row-title").all()
    accepts = page.locator(".dlm-row-accept").all()
    assert [accept.get_attribute("aria-label") for accept in accepts] == [
        "Make alternative 1 the text", "Make alternative 2 the text",
    ]  # fmt: skip
    assert all(
        abs(title.bounding_box()["y"] - accept.bounding_box()["y"]) < 8
        for title, accept in zip(titles, accepts, strict=True)
    )
    accepts[1].click()
    assert "my old blue cat" in text(page) and page.locator(".dlm-row-accept").count() == 0


def test_the_keyboard_goes_on_at_the_alternatives(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 11]])")
    page.locator(".dlm-document [data-position='3']").focus()
    finish(page, make_run(document(STORY), [[7, 11, None]], rows=2))
    page.wait_for_function("() => document.activeElement.matches('.dlm-row-accept')")
    page.keyboard.press("Enter")
    assert "a brave small boy" in text(page)


@pytest.mark.parametrize(("nats", "best"), [([-1.2341, -1.2339], None), ([-1.5, -1.1], 1), ([-1.1, -1.1], None)])
def test_only_a_fit_that_is_seen_to_be_better_is_the_best(mount, nats, best):
    scores = [{"nats": n, "tokens": 4, "best": n == max(nats)} for n in nats]
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 11]])")
    trace = make_run(document(STORY), [[7, 11, None]], rows=2)
    trace["end"]["scores"] = scores
    finish(page, trace)
    found = [card.locator(".dlm-best").count() for card in page.locator(".dlm-alternative").all()]
    assert found == [int(row == best) for row in range(2)]


def test_a_row_that_changed_nothing_is_neither_best_nor_accepted(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 8]])")
    trace = make_run(document(STORY), [[7, 8, None]], rows=2)
    doc = document(STORY)
    row = trace["frames"][-1]["rows"][1]
    row["id"][8], row["p"][8] = doc["ids"][7], doc["pieces"][7]
    finish(page, trace)
    card = page.locator(".dlm-alternative").nth(1)
    assert card.locator(".dlm-difference").inner_text() == "The same text as before."
    assert card.locator(".dlm-accept, .dlm-best").count() == 0 and page.locator(".dlm-row-accept").count() == 1


def test_a_word_that_did_not_stay_a_word_is_told(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 11]])")
    trace = make_run(document(STORY), [[7, 11, None]], rows=2)
    trace["end"]["scores"][0] |= {"joined": True}
    finish(page, trace)
    assert page.locator(".dlm-why").all_inner_texts() == ["The word you asked for has run into the one after it."]
    assert page.locator(".dlm-alternative").first.locator(".dlm-why").count() == 1


def test_a_stopped_run_can_be_kept_once_nothing_is_open(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[7, 11]])")
    trace = make_run(document(STORY), [[7, 11, None]])
    push(page, trace, only=slice(0, 2))
    page.wait_for_function("() => editor.step() === 1")
    page.evaluate("() => editor.stop()")
    page.locator(".dlm-alternatives").wait_for()
    assert page.locator(".dlm-accept, .dlm-row-accept").count() == 0
    assert page.locator(".dlm-why").inner_text() == "Some places are still open, so this text cannot be kept."
    page.locator(".dlm-discard").click()
    whole = make_run(document(STORY), [[7, 11, None]])
    whole["end"]["status"] = "stopped"
    finish(page, whole, run="b")
    assert MASK not in whole["frames"][-1]["rows"][0]["p"] and page.locator(".dlm-why").count() == 0
    page.locator(".dlm-accept").click()
    assert "a brave small boy" in text(page)


def test_a_run_that_failed_can_only_be_discarded(mount):
    page = edit(mount, status="error", message="Out of time.")
    assert page.locator(".dlm-alternative").count() == 0 and page.locator(".dlm-discard").is_visible()
    assert "Out of time." in page.locator(".dlm-run .dlm-status").inner_text()


def test_the_same_text_again_is_no_new_version(mount):
    page = mount(STORY)
    doc = document(STORY)
    trace = make_run(doc, [])
    finish(page, trace)
    assert page.locator(".dlm-difference").inner_text() == "The same text as before."
    assert page.locator(".dlm-accept, .dlm-row-accept").count() == 0
    page.locator(".dlm-discard").click()
    assert page.evaluate("() => editor.history().nodes.length") == 1


def test_an_alternative_can_be_copied(mount):
    page = edit(mount, HARD, [(4, 5)])
    clipboard = "{ writeText: async (text) => (window.copied = text) }"
    page.evaluate(f"() => Object.defineProperty(navigator, 'clipboard', {{ value: {clipboard} }})")
    page.locator(".dlm-alternative .dlm-copy-text").click()
    page.wait_for_function("() => window.copied")
    assert page.evaluate("() => copied") == "".join(HARD).replace(" two", " a")


def test_a_trace_file_is_a_run_and_anything_else_is_not(mount):
    page = mount(STORY)
    for bad in (
        None,
        {},
        {"format": "diffusion-lm-playground/trace", "frames": []},
        {"format": "x", "frames": [{"rows": []}]},
        3,
    ):
        page.evaluate("(trace) => editor.load(trace)", bad)
    for bad in ("", "null", "{", json.dumps({"run": "x", "frame": {}})):
        page.evaluate("(message) => editor.push(message)", bad)
    assert page.locator(".dlm-document").is_visible()
    page.evaluate("(trace) => editor.load(trace)", make_run(document(STORY), [[7, 11, None]]))
    page.locator(".dlm-accept").click()
    assert "a brave small boy" in text(page)


def test_another_text_ends_the_run_on_screen(mount):
    page = mount(STORY)
    push(page, make_run(document(STORY), [[7, 11, None]]), only=slice(0, 3))
    page.wait_for_function("() => window.live === true")
    page.evaluate("() => editor.open({ ids: [9], pieces: ['Other'] }, 'Typed')")
    page.wait_for_function("() => window.live === false")
    push(page, make_run(document(STORY), [[7, 11, None]]), only=slice(3, None))
    assert page.locator(".dlm-run").is_hidden() and text(page) == "Other"


def test_hostile_strings_are_text_everywhere(mount):
    page = edit(mount, HOSTILE, [(1, 2)], fills=["<b>${alert(2)}</b>"], message="<i>end</i>", unchanged=True, checked=7)
    page.locator(".dlm-accept").click()
    page.evaluate("() => { editor.select([[0, 1], [2, 2, 3]]); }")
    page.locator(".dlm-pin-word").first.fill("<img src=x onerror=alert(3)>")
    page.evaluate("(doc) => editor.open(doc, '<u>${x}</u> [[y]]')", document(["<s>", *HOSTILE]))
    page.locator(".dlm-versions summary").click()
    page.evaluate("() => editor.say('<em>said</em>')")
    assert page.locator("#root :is(img, b, i, u, s, em, script)").count() == 0
    assert page.locator(".dlm-said").inner_text() == "<em>said</em>"
    assert "<u>${x}</u> [[y]]" in page.locator(".dlm-version-facts").first.inner_text()
    assert text(page) == "<s>" + "".join(HOSTILE)


def test_a_phone_shows_all_of_it_without_sideways_scrolling(mount):
    page = mount()
    page.set_viewport_size({"width": 390, "height": 844})
    doc = document([*split(STORY), " " + "long" * 40])
    width = "() => document.documentElement.scrollWidth"
    page.evaluate("(doc) => editor.open(doc, 'Typed')", doc)
    page.evaluate("() => editor.select([[2, 9], [12, 12, 3], [15, 18, '?'], [43, 44]])")
    page.locator(".dlm-pin-word").first.fill("brave")
    assert page.evaluate(width) <= 390
    finish(page, make_run(doc, [[2, 9, None]], rows=3, unchanged=True, checked=30))
    assert page.evaluate(width) <= 390
    page.locator(".dlm-accept").nth(2).click()
    page.locator(".dlm-versions summary").click()
    page.locator(".dlm-forget").last.click()
    assert page.evaluate(width) <= 390


def test_five_hundred_tokens_are_dragged_over_smoothly(mount):
    page = mount([" word"] * 510)
    took = page.evaluate("""() => {
      const start = performance.now();
      for (let end = 1; end <= 100; end++) editor.select([[0, end]]);
      return (performance.now() - start) / 100;
    }""")
    assert took < 40


def test_a_run_leaves_as_a_table_and_as_a_page_of_its_own(mount, chromium, tmp_path):
    page = edit(mount)
    assert (
        page.evaluate("() => editor.csv()").startswith("step,row,position")
        and page.evaluate("() => editor.step()") == 6
    )
    path = tmp_path / "run.html"
    path.write_text(page.evaluate("() => editor.page()"), encoding="utf-8")
    alone = chromium.new_page()
    alone.goto(path.as_uri())
    alone.wait_for_function("() => dlmPlayer.step() === 6")
    assert alone.evaluate("() => dlmPlayer.text(0)") == text(page)
    alone.close()


def test_destroying_leaves_nothing(mount):
    page = edit(mount)
    page.evaluate("() => editor.destroy()")
    assert page.locator("#root *").count() == 0
