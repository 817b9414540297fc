"""Texts with holes: read exactly, written exactly, and never a token outside a hole changed."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground import marks
from playground.marks import Hole, Marked
from playground.text import BOS, EOS, PAD

SCRAPS = [
    "The",
    " dog",
    " ran",
    "  ",
    "[[",
    "]]",
    "\\",
    "\n",
    "🎈",
    "👩‍👧",
    "你好",
    "e\u0301",
    ' "',
    "+8",
    "?",
    "#3",
    "=",
    "___",
]


def outside(text, tokenizer) -> str:
    """The text that stays, with a bar for each hole."""
    marked = marks.parse(text, tokenizer)
    kept, at = [], 0
    for hole in marked.holes:
        kept.append(tokenizer.decode(marked.ids[at : hole.start]))
        at = hole.end
    return "|".join([*kept, tokenizer.decode(marked.ids[at:])])


@pytest.mark.parametrize(
    ("text", "stays", "cells"),
    [
        ("The dog ran to the [[park]] and was happy.", "The dog ran to the| and was happy.", [1]),
        ("The dog ran to the [[+8]] and was happy.", "The dog ran to the| and was happy.", [8]),
        ("The [[+1]] ran to the [[+2]].", "The| ran to the|.", [1, 2]),
        ("[[+3]] ran", "| ran", [3]),
        ("He ran [[+3]]", "He ran|", [3]),
        ("two  spaces  [[here]]!\n\nNew [[+2]]\n", "two  spaces |!\n\nNew|\n", [1, 2]),
        ('"[[+4]]" said Tom', '"|" said Tom', [4]),
        (r"an \[[aside]] is [[kept]]", "an [[aside]] is|", [1]),
        (r"[[a \]] b]] c", "| c", [5]),
        (r"C:\dir\\[[x]]", "C:\\dir\\|", [1]),
        (r"1 [[\+8]] 2", "1 | 2", [2]),
        ("a ]] b [[c]]", "a ]] b|", [1]),
    ],
)
def test_marks_say_what_stays(tokenizer, text, stays, cells):
    assert outside(text, tokenizer) == stays
    assert [hole.cells for hole in marks.parse(text, tokenizer).holes] == cells


def test_token_ids_that_are_no_text_can_be_kept_and_written_over(tokenizer):
    marked = marks.parse("hi[[=223 175]][[#9 80]] ho", tokenizer)
    assert marked.ids[-5:-1] == [223, 175, 9, 80]
    assert marked.holes == [Hole(len(marked.ids) - 3, len(marked.ids) - 1, 2)]


def test_a_hole_grows_to_whole_tokens_and_characters(tokenizer):
    assert outside("the p[[ar]]k is", tokenizer) == "the| is"
    family = marks.parse("a [[👩‍👧]] b", tokenizer)
    assert family.holes[0].end - family.holes[0].start == len(tokenizer.encode(" 👩‍👧")) - 1  # the space is a token


def test_an_open_hole_tries_lengths_from_half_to_twice(tokenizer):
    marked = marks.parse("a [[?8]] b [[+2]]", tokenizer)
    assert [marked.lengths(row, 4) for row in range(4)] == [[4, 2], [6, 2], [10, 2], [16, 2]]
    assert marks.parse("a [[?]] b", tokenizer).holes[0].cells == marks.AROUND
    assert marks.spread(1, 4) == [1, 2, 3, 4] and marks.spread(6, 1) == [6]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a [[b", r"the hole at character 3 is not closed; write ]] after it, or \[[ for brackets that are text."),
        ("a [[b [[c]]", "the hole at character 3 is not closed before the next one"),
        ("a [[]] b", "the hole at character 3 is empty; write [[+8]] for eight new tokens."),
        ("a [[+0]] b", "the hole at character 3 asks for 0 tokens; allowed: 1 to 512."),
        ("a [[+999]] b", "asks for 999 tokens; allowed: 1 to 512."),
        ("x p[[a]][[r]]k", "the hole at character 9 shares a token with the one before it; make them one."),
        ("a [[#1]]", "the mark at character 3 names the token id 1; allowed: 3 to 4095."),
        ("a [[=99999]]", "names the token id 99999"),
    ],
)
def test_marks_that_cannot_be_read_are_named(tokenizer, text, sentence):
    with pytest.raises(ValueError) as error:
        marks.parse(text, tokenizer)
    assert sentence in str(error.value)


@pytest.mark.parametrize("content", ["+", "+-5", "+ 8", "+8 ", "#", "=", "#-1", "#12, 77", "=12,77", "?8?", "+\u0668"])
def test_a_mark_that_cannot_be_read_is_not_taken_for_words(tokenizer, content):
    with pytest.raises(ValueError, match="cannot be read; allowed: "):
        marks.parse(f"a [[{content}]] b", tokenizer)
    assert marks.parse(rf"a [[\{content}]] b", tokenizer).kept  # a backslash makes words of it


def test_a_mark_for_too_many_tokens_says_how_many_are_allowed(tokenizer):
    for mark in ("+99999", "?99999", "+0"):
        with pytest.raises(ValueError, match=f"asks for {mark[1:]} tokens; allowed: 1 to 512"):
            marks.parse(f"a [[{mark}]] b", tokenizer)


@pytest.mark.parametrize(
    "text", ["cafe[[+1]]\u0301 is", "The cafe [[+1]]\u0301 is", "a 👍[[+1]]🏽 b", "👨\u200d[[+1]]👩"]
)
def test_new_tokens_inside_a_character_are_refused(tokenizer, text):
    with pytest.raises(ValueError, match="stands inside a character; put it before or after"):
        marks.parse(text, tokenizer)


@pytest.mark.parametrize("text", ["a [[#" + "1" * 5000 + "x]] b", "\\" * 20_000, "[[=" + "1 " * 9000 + "x]]"])
def test_texts_made_to_be_slow_are_read_at_once(tokenizer, text):
    """Each of them once took seconds, or for ever: the first in time exponential in its digits."""
    started = time.process_time()
    with contextlib.suppress(ValueError):
        marks.parse(text, tokenizer)
    assert time.process_time() - started < 1


def test_a_row_has_a_start_mark_holes_and_an_end_mark(tokenizer):
    marked = marks.parse("The [[dog]] ran [[+3]]", tokenizer)
    ids, fixed = marked.cells([1, 3])
    words = tokenizer.encode("The dog ran")
    assert ids == [BOS, *words, PAD, PAD, PAD, EOS]
    assert [cell for cell, given in enumerate(fixed) if not given] == [2, 4, 5, 6]


@st.composite
def rows(draw):
    """Token ids as a model may write them, or as text is cut into them, and holes among them."""
    text = draw(st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join))
    ids = draw(st.one_of(st.just(text), st.lists(st.integers(EOS + 1, 4095), min_size=1, max_size=12)))
    return ids, draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(1, 9), st.booleans())))


@settings(max_examples=1000, deadline=None)
@given(rows())
def test_whatever_the_tokens_and_holes_are_they_are_written_and_read_back(tokenizer, row):
    ids, wanted = row
    ids = tokenizer.encode(ids) if isinstance(ids, str) else ids
    holes, at = [], 0
    for start, width, cells, open_ in sorted(wanted):
        start, end = max(start, at), min(max(start, at) + width, len(ids))
        if start > len(ids) or (holes and (start, end) == (holes[-1].start, holes[-1].end)):
            continue
        holes.append(Hole(start, end, end - start) if end > start else Hole(start, start, cells, open_))
        at = end
    marked = Marked(ids, holes)
    text = marks.write(marked, tokenizer)
    assert marks.parse(text, tokenizer) == marked


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_at_all_is_read_or_refused_with_a_sentence(tokenizer, text):
    try:
        marked = marks.parse(text, tokenizer)
    except ValueError as error:
        assert str(error).endswith((".", "not text"))
    else:
        assert all(0 <= hole.start <= hole.end <= len(marked.ids) for hole in marked.holes)
