"""Versions of a text: undo, redo, branches, and a storage that is full, blocked or holds what others wrote."""

import json

import pytest
from runs import MOUNT, STORY, document, source, split, style

KEY = "dlm-editor"


def open_texts(page, *texts):
    for text in texts:
        ids = [1000 + ord(letter) for letter in text]
        page.evaluate("(doc) => editor.open(doc, 'Typed')", {"ids": ids, "pieces": list(text)})


def text(page):
    return page.evaluate("() => editor.text(0)")


def reload(page, **options):
    page.reload()
    page.evaluate(MOUNT, [source(), style(), options])


def wait_for_storage(page, other):
    """Until what the other tab has saved is seen in this one, which a browser does not promise at once."""
    saved = other.evaluate("(key) => localStorage.getItem(key)", KEY)
    page.wait_for_function("([key, saved]) => localStorage.getItem(key) === saved", arg=[KEY, saved])


def versions(page):
    return page.locator(".dlm-version")


def test_undo_and_redo_by_button_and_key(mount):
    page = mount()
    open_texts(page, "one", "two", "three")
    assert page.locator(".dlm-redo").is_disabled()
    page.locator(".dlm-undo").click()
    assert text(page) == "two"
    page.locator(".dlm-document .dlm-cell").last.focus()
    for key, expected in (
        ("Control+z", "one"), ("Control+z", "one"), ("Control+Shift+z", "two"), ("Control+y", "three"),
        ("Meta+z", "two"),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert text(page) == expected
    assert page.evaluate("() => documents.map((doc) => doc.pieces.join(''))")[-1] == "two"


def test_keys_still_work_when_the_button_that_had_the_focus_is_disabled(mount):
    page = mount()
    open_texts(page, "one", "two")
    page.locator(".dlm-undo").click()
    assert page.locator(".dlm-undo").is_disabled()
    page.keyboard.press("Control+y")
    assert text(page) == "two"


def test_the_same_ids_make_no_new_version_and_keep_the_selection(mount):
    page = mount(STORY)
    page.evaluate("() => editor.select([[2, 4]])")
    page.evaluate("(doc) => editor.open(doc, 'Again')", document(STORY))
    assert page.evaluate("() => editor.history().nodes.length") == 1
    assert page.evaluate("() => editor.request().holes") == [[2, 4, None]]


def test_editing_from_an_old_version_makes_a_branch_and_loses_nothing(mount):
    page = mount()
    open_texts(page, "one", "two", "three")
    page.locator(".dlm-versions summary").click()
    versions(page).nth(2).click()
    assert text(page) == "one"
    open_texts(page, "four")
    assert versions(page).count() == 4
    facts = page.locator(".dlm-version-facts").all_inner_texts()
    assert "now" in facts[0] and "2 continuations" in facts[3]
    page.evaluate("() => { editor.undo(); editor.redo(); }")
    assert text(page) == "four"
    versions(page).nth(1).click()
    assert text(page) == "three" and versions(page).nth(1).get_attribute("aria-current") == "true"
    page.evaluate("() => { editor.undo(); editor.undo(); editor.redo(); }")
    assert text(page) == "two"  # redo goes back along the branch that was left


def test_a_version_shows_only_what_it_changed(mount):
    page = mount(STORY)
    page.evaluate(
        "(doc) => editor.open(doc, 'Typed')", {**document(STORY.replace("red", "blue")), "ids": list(range(43))}
    )
    page.locator(".dlm-versions summary").click()
    change = page.locator(".dlm-version-change").first
    assert change.locator("del").inner_text() == "red" and change.locator("ins").inner_text() == "blue"
    assert "Once upon" not in change.inner_text() and "…" in change.inner_text()


def test_an_unrelated_text_is_shown_as_it_is(mount):
    page = mount(STORY)
    other = "The dragon was lonely. Nobody wanted to play with him, and he had a red ball."
    page.evaluate("(doc) => editor.open(doc, 'Example')", {**document(other), "ids": list(range(len(split(other))))})
    page.locator(".dlm-versions summary").click()
    assert page.locator(".dlm-version-change").first.locator("ins, del").count() == 0
    assert page.locator(".dlm-version-change").first.inner_text().startswith("The dragon was lonely. Nobody wanted")
    assert page.locator(".dlm-version-facts").first.inner_text().startswith("Example · ")


@pytest.mark.parametrize(
    "spans", [None, 7, "x", [None], [[0, 9, None, None]], [[0, 1, None, {"where": "x"}]], [[0, 1, 10**9]], [["0", 1]]]
)
def test_a_selection_that_others_wrote_breaks_nothing(blank, spans):
    nodes = [{**GOOD, "spans": spans}, {**GOOD, "id": 2, "parent": 1, "document": {"ids": [6], "pieces": ["y"]}}]
    saved = json.dumps({**HEAD, "current": 2, "nodes": nodes})
    blank.evaluate("([key, saved]) => localStorage.setItem(key, saved)", [KEY, saved])
    blank.evaluate(MOUNT, [source(), style(), {}])
    blank.evaluate("() => editor.undo()")
    assert text(blank) == "x" and blank.locator(".dlm-chip").count() <= 1


def test_a_reload_brings_everything_back(mount):
    page = mount()
    open_texts(page, "one", "two")
    page.evaluate("() => editor.undo()")
    open_texts(page, "né 👩‍👩‍👧")
    before = page.evaluate("() => editor.history()")
    reload(page)
    assert page.evaluate("() => editor.history()") == before and text(page) == "né 👩‍👩‍👧"
    assert page.locator(".dlm-document .dlm-line").evaluate("(line) => line.textContent") == "né 👩‍👩‍👧"
    page.evaluate("() => editor.undo()")
    assert text(page) == "one"


def test_without_a_key_nothing_is_stored(mount):
    page = mount(STORY, storage=None)
    assert page.evaluate("() => localStorage.length") == 0
    reload(page, storage=None)
    assert text(page) == ""


GOOD = {
    "id": 1,
    "parent": None,
    "document": {"ids": [5], "pieces": ["x"]},
    "fresh": [],
    "label": "a",
    "seed": None,
    "time": 1,
}
HEAD = {"format": "diffusion-lm-playground/history", "version": 1, "current": 1}


@pytest.mark.parametrize(
    "saved",
    [
        "", "{", "null", "7", "[]", '"text"', "{}", json.dumps({**HEAD, "nodes": {}}),
        json.dumps({**HEAD, "nodes": []}),
        json.dumps({**HEAD, "version": 2, "nodes": [GOOD]}),
        json.dumps({**HEAD, "current": 9, "nodes": [GOOD]}),
        json.dumps({**HEAD, "nodes": [None]}),
        json.dumps({**HEAD, "nodes": [GOOD, GOOD]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "parent": 1}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "parent": 2}, {**GOOD, "id": 2, "parent": 1}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "label": {"x": 1}}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "time": "now"}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "fresh": "all"}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "document": {"ids": [5, 6], "pieces": ["x"]}}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "document": {"ids": [5], "pieces": [{"x": 1}]}}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "document": {"ids": ["5"], "pieces": ["x"]}}]}),
        json.dumps({**HEAD, "nodes": [{**GOOD, "id": n} for n in range(1, 400)]}),
    ],
)  # fmt: skip
def test_what_others_wrote_into_the_storage_is_a_fresh_start(blank, saved):
    blank.evaluate("([key, saved]) => localStorage.setItem(key, saved)", [KEY, saved])
    blank.evaluate(MOUNT, [source(), style(), {}])
    assert blank.evaluate("() => editor.history()") == {"nodes": [], "current": None}
    open_texts(blank, "new")
    reload(blank)
    assert text(blank) == "new"


def test_a_good_tree_written_elsewhere_is_read(blank):
    blank.evaluate("([key, saved]) => localStorage.setItem(key, saved)", [KEY, json.dumps({**HEAD, "nodes": [GOOD]})])
    blank.evaluate(MOUNT, [source(), style(), {}])
    assert text(blank) == "x"


def test_a_blocked_storage_is_said_and_nothing_breaks(blank):
    blank.evaluate("""() => Object.defineProperty(window, "localStorage", {
      get() { throw new DOMException("denied", "SecurityError"); },
    })""")
    blank.evaluate(MOUNT, [source(), style(), {}])
    open_texts(blank, "one", "two")
    assert "until the page is closed" in blank.locator(".dlm-said").inner_text()
    blank.evaluate("() => editor.undo()")
    assert text(blank) == "one" and blank.evaluate("() => editor.history().nodes.length") == 2


FULL = """(limit) => {
  const write = Storage.prototype.setItem;
  Storage.prototype.setItem = function (key, value) {
    if (value.length > limit) throw new DOMException("full", "QuotaExceededError");
    write.call(this, key, value);
  };
}"""


def test_a_full_storage_drops_the_oldest_leaves_of_other_branches(mount):
    page = mount()
    open_texts(page, "root")
    for branch in "abcd":
        open_texts(page, branch * 9)
        page.evaluate("() => editor.undo()")
    size = page.evaluate("(key) => localStorage.getItem(key).length", KEY)
    page.evaluate(FULL, size + 20)
    open_texts(page, "eeeeeeeee")
    assert "oldest versions of other branches were dropped" in page.locator(".dlm-said").inner_text()
    kept = [node["document"]["pieces"][0] for node in page.evaluate("() => editor.history().nodes")]
    assert kept == ["r", "b", "c", "d", "e"] and text(page) == "eeeeeeeee"
    reload(page)
    assert text(page) == "eeeeeeeee"


def test_a_storage_too_small_for_the_text_costs_no_version_of_this_session(mount):
    page = mount()
    open_texts(page, "root", "leaf")
    page.evaluate("() => editor.undo()")
    page.evaluate(FULL, 10)
    open_texts(page, "next")
    assert "until the page is closed" in page.locator(".dlm-said").inner_text()
    assert page.evaluate("() => editor.history().nodes.length") == 3


def test_clearing_asks_first_and_keeps_the_text(mount):
    page = mount()
    open_texts(page, "one", "two")
    page.locator(".dlm-versions summary").click()
    page.get_by_role("button", name="Clear history").click()
    page.get_by_role("button", name="Keep", exact=True).click()
    assert versions(page).count() == 2
    page.get_by_role("button", name="Clear history").click()
    assert page.evaluate("() => document.activeElement.textContent") == "Forget"
    page.get_by_role("button", name="Forget", exact=True).click()
    assert versions(page).count() == 1 and text(page) == "two" and page.locator(".dlm-undo").is_disabled()
    reload(page)
    assert text(page) == "two" and page.evaluate("() => editor.history().nodes.length") == 1


def test_two_tabs_take_in_what_the_other_has_saved(mount):
    page = mount()
    open_texts(page, "one")
    other = page.context.new_page()
    other.goto(page.url)
    other.evaluate(MOUNT, [source(), style(), {}])
    assert text(other) == "one"
    open_texts(other, "theirs")
    wait_for_storage(page, other)
    open_texts(page, "ours")
    wait_for_storage(other, page)
    other.evaluate("() => editor.undo()")
    wait_for_storage(page, other)
    reload(page)
    assert text(page) == "one"
    nodes = page.evaluate(
        "() => editor.history().nodes.map((node) => [node.id, node.parent, node.document.pieces.join('')])"
    )
    assert sorted(words for *_, words in nodes) == ["one", "ours", "theirs"]
    assert len({i for i, *_ in nodes}) == 3 and {parent for _, parent, words in nodes if words != "one"} == {
        nodes[0][0]
    }
    other.close()
