"""The parts of the editor that need no page: holes, words, diffs, the tree of versions; and the state of its files."""

import random
import re

import pytest
from runs import ASSETS, STORY, document, source, split

NAMES = (
    "addHole removeSpan makeHole resizeHole lengthAfter describeHoles snapSpan wordSpan sentenceSpan middleSpan "
    "blankSpans wordDiff shortenDiff emptyTree addNode visitNode undoTarget redoTarget readTree currentNode rowDocument"
)
FAMILY = ["See", " ", "👩‍👩‍👧", "", "", "", " e\u0301", "", "你", "", "好", "!"]


@pytest.fixture(scope="module")
def pure(chromium):
    page = chromium.new_page()
    page.evaluate(
        f"(js) => Object.assign(window, new Function(js + '; return {{{NAMES.replace(' ', ',')}}}')())", source()
    )
    yield lambda code, *args: page.evaluate(f"(args) => {{ {code} }}", list(args))
    page.close()


def test_spans_that_touch_are_one(pure):
    code = (
        "return args[0].reduce((all, [a, b]) => addHole(all, makeHole(a, b)), []).map(({ start, end }) => [start, end])"
    )
    assert pure(code, [[0, 2], [4, 6]]) == [[0, 2], [4, 6]]
    assert pure(code, [[4, 6], [0, 2], [2, 4]]) == [[0, 6]]
    assert pure(code, [[8, 9], [1, 3], [2, 5], [7, 8]]) == [[1, 5], [7, 9]]


def test_a_merged_hole_keeps_what_its_parts_grew(pure):
    merge = "return addHole([makeHole(...args[0])], makeHole(...args[1]))[0]"
    assert pure(merge, [2, 4, 5], [4, 6])["cells"] == 7
    assert pure(merge, [2, 4, None], [4, 6])["cells"] is None
    assert pure(merge, [4, 4, 3], [4, 6])["cells"] == 5
    assert pure(merge, [2, 4, "?"], [4, 6, 9])["cells"] == "?"
    assert pure(merge, [2, 6, 1], [3, 4])["cells"] == 1


def test_removing_cells_splits_a_hole(pure):
    code = "return removeSpan([makeHole(2, 8, args[2])], args[0], args[1]).map((h) => [h.start, h.end, h.cells])"
    assert pure(code, 4, 5, 9) == [[2, 4, None], [5, 8, None]]
    assert pure(code, 4, 5, "?") == [[2, 4, "?"], [5, 8, "?"]]
    assert pure(code, 0, 9, None) == []
    assert pure(code, 8, 9, 3) == [[2, 8, 3]]


def test_lengths_never_fall_below_a_token(pure):
    assert pure("return resizeHole(makeHole(2, 5), 0).cells") == 1
    assert pure("return resizeHole(makeHole(2, 5, 7), 3).cells") is None
    assert pure("return resizeHole(makeHole(2, 2, 7), null).cells") == 1
    assert pure("return lengthAfter(20, [makeHole(2, 5, 7), makeHole(9, 9, 2), makeHole(12, 14, '?')])") == 26


def test_pins_without_a_word_are_left_out(pure):
    code = "return describeHoles(args[0].map(([where, word], i) => makeHole(3 * i, 3 * i + 1, null, { where, word })))"
    assert pure(code, [["end", "  "], ["start", " red "]])["pins"] == [[1, "start", "red"]]


def test_snapping_takes_whole_characters_in_both_directions(pure):
    snap = "return snapSpan(...args)"
    assert pure(snap, FAMILY, 2, 3) == [2, 6]
    assert pure(snap, FAMILY, 4, 5) == [2, 6]
    assert pure(snap, FAMILY, 5, 8) == [2, 8]
    assert pure(snap, FAMILY, 9, 10) == [8, 10]
    assert pure(snap, FAMILY, 4, 4) == [6, 6]
    assert pure(snap, ["", "", "a"], 1, 2) == [0, 2]


def test_words_and_sentences_of_a_cell(pure):
    pieces = ["Lil", "y", " smiled", ".", " She", " don", "'t", " know", "\n", "你好", "吗"]
    assert pure("return wordSpan(...args)", pieces, 1) == [0, 2]
    assert pure("return wordSpan(...args)", pieces, 3) == [3, 4]
    assert pure("return wordSpan(...args)", pieces, 6) == [5, 7]
    assert pure("return sentenceSpan(...args)", pieces, 2) == [0, 4]
    assert pure("return sentenceSpan(...args)", pieces, 5) == [4, 9]
    assert pure("return wordSpan(...args)", ["a", 4, "b"], 1)[0] <= 1


def test_the_middle_keeps_first_and_last(pure):
    pieces = split(STORY)
    start, end = pure("return middleSpan(...args)", pieces)
    assert "".join(pieces[:start]) == "Once upon a time there was a little girl named Lily."
    assert "".join(pieces[end:]) == " A kind bird came down to help."
    assert pure("return middleSpan(...args)", split("one two three four five six seven eight")) == [2, 6]
    assert pure("return middleSpan(...args)", ["one"]) is None and pure("return middleSpan(...args)", []) is None


def test_blanks_are_runs_of_three_underscores(pure):
    pieces = ["I", " saw", " __", "_", " and", " __", " _____", "."]
    assert pure("return blankSpans(...args)", pieces) == [[2, 4, 1], [6, 7, 1]]
    apart = ["The", " ", "_", "_", "_", " ran", "\n", "___", "  ", "___"]
    assert pure("return blankSpans(...args)", apart) == [[1, 5, 1], [7, 8, 1], [9, 10, 1]]
    assert pure("return blankSpans(...args)", ["no", "thing"]) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a red ball", "a red ball", [("same", "a red ball")]),
        ("a red ball", "a blue ball", [("same", "a "), ("del", "red"), ("ins", "blue"), ("same", " ball")]),
        ("", "new", [("ins", "new")]),
        ("old", "", [("del", "old")]),
        ("one two three", "one three", [("same", "one "), ("del", "two "), ("same", "three")]),
        ("the little girl ran", "the big dog ran", [
            ("same", "the "), ("del", "little girl"), ("ins", "big dog"), ("same", " ran")]),
        ("我喜欢猫。", "我喜欢狗。", [("same", "我喜欢"), ("del", "猫"), ("ins", "狗"), ("same", "。")]),
    ],
)  # fmt: skip
def test_word_diff(pure, before, after, expected):
    assert [(part["kind"], part["text"]) for part in pure("return wordDiff(...args)", before, after)] == expected


def test_a_diff_holds_both_texts_whatever_they_are(pure):
    rng = random.Random(3)
    words = ["a", "b", "\n", "  ", "é", "你好", "👩‍👩‍👧", "<b>", "${x}", ".", " "]
    for _ in range(60):
        before, after = (" ".join(rng.choice(words) for _ in range(rng.randrange(30))) for _ in range(2))
        parts = pure("return wordDiff(...args)", before, after)
        assert "".join(part["text"] for part in parts if part["kind"] != "ins") == before
        assert "".join(part["text"] for part in parts if part["kind"] != "del") == after
        assert all(part["text"] for part in parts)


def test_a_diff_of_long_texts_is_quick(pure):
    rng = random.Random(4)
    before, after = (" ".join(rng.choice("abcdefghij") for _ in range(510)) for _ in range(2))
    took = pure("const t = performance.now(); wordDiff(...args); return performance.now() - t", before, after)
    assert took < 1000


def test_a_shortened_diff_keeps_changes_and_cuts_between_words(pure):
    parts = pure("return shortenDiff(wordDiff(...args))", STORY, STORY.replace("red ball", "toy"))
    assert [part["text"] for part in parts if part["kind"] != "same"] == ["red ball", "toy"]
    assert parts[0]["text"].startswith("…") and len(parts[0]["text"]) <= 21 and parts[-1]["text"].endswith("…")


GROW = """const tree = emptyTree();
const grow = (n) => addNode(tree, { document: { ids: [n], pieces: ['x'] }, label: 'l' });"""


def test_redo_leads_back_to_the_branch_that_was_left(pure):
    found = pure(
        GROW
        + """grow(1); grow(2); visitNode(tree, 1); grow(3);
        const seen = [redoTarget(tree), undoTarget(tree)];
        visitNode(tree, 1); seen.push(redoTarget(tree));
        visitNode(tree, 2); visitNode(tree, 1); seen.push(redoTarget(tree));
        return [...seen, tree.nodes.length];"""
    )
    assert found == [None, 1, 3, 2, 3]


def test_the_tree_drops_old_branches_before_its_own_line(pure):
    kept = pure(
        GROW
        + """grow(1); grow(2); visitNode(tree, 1);
        for (let n = 0; n < 250; n++) grow(n);
        const { nodes } = tree;
        return [nodes.length, nodes.some(({ id }) => id === 2), nodes[0].parent, readTree(tree) !== null];"""
    )
    assert kept == [200, False, None, True]


def test_a_row_of_a_run_becomes_a_document(pure):
    row = {"id": [1, 10, 70, 0, 11, 2, 12], "p": [1, "a", " b", 0, "", 2, "ghost"], "st": "ffccfff"}
    assert pure("return rowDocument(args[0])", row) == {
        "document": {"ids": [10, 70, 11], "pieces": ["a", " b", ""]},
        "fresh": [1],
    }


def test_the_files_hold_together():
    room = ASSETS / "editor"
    order = (room / "order.txt").read_text().split()
    assert sorted(order) == sorted(path.name for path in room.glob("*.js"))
    text = source()
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.M)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    editor = "\n".join((room / name).read_text(encoding="utf-8") for name in order)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|window\.(alert|confirm|prompt)", editor)
    assert all(len((room / name).read_text().splitlines()) <= 200 for name in order)


def test_every_label_is_used_and_every_used_label_exists():
    text = source()
    defined = set(re.findall(r"^  (edit_\w+):", text, re.M))
    named = set(re.findall(r"labels\.(edit_\w+)", text))
    built = {f"edit_where_{where}" for where in ("start", "middle", "end")}  # from the places of a pin
    built |= {name + end for name in ("edit_tokens", "edit_insertions") for end in ("", "_one")}
    built |= {"edit_lead" + what + how for what in ("", "_none") for how in ("", "_touch")} | {"edit_lead_over"}
    assert named <= defined
    assert defined == named | built


def test_documents_for_tests_are_documents():
    doc = document(STORY)
    assert "".join(doc["pieces"]) == STORY and len(doc["ids"]) == len(doc["pieces"])
