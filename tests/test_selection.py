"""What a canvas asks for, as a text with holes: exact, and refused where it is not what a canvas would send."""

import pytest

from playground import marks
from playground.marks import Hole
from playground.recipe import RecipeError
from playground.selection import NoRoom, asked, suited

TEXT = "The dog ran to the park. 🎈 He was happy."


def request(tokenizer, holes, pins=()) -> dict:
    return {"ids": tokenizer.encode(TEXT), "holes": holes, "pins": [list(pin) for pin in pins], "text": TEXT}


def holes_of(fields, tokenizer) -> list[Hole]:
    return marks.parse(fields["text"], tokenizer).holes


def test_holes_become_marks(tokenizer):
    fields = asked(request(tokenizer, [[1, 2, None], [5, 6, None]]), tokenizer)
    assert fields == {"text": "The[[ dog]] ran to the[[ park]]. 🎈 He was happy.", "pins": {}}


@pytest.mark.parametrize(
    ("hole", "text"),
    [
        ([5, 6, 3], "The dog ran to the[[+3]]. 🎈 He was happy."),
        ([5, 6, 1], "The dog ran to the[[ park]]. 🎈 He was happy."),
        ([5, 6, "?"], "The dog ran to the[[?1]]. 🎈 He was happy."),
        ([5, 5, 4], "The dog ran to the[[+4]] park. 🎈 He was happy."),
        ([0, 0, "?"], "[[?6]]The dog ran to the park. 🎈 He was happy."),
    ],
)
def test_a_hole_may_change_its_length(tokenizer, hole, text):
    assert asked(request(tokenizer, [hole]), tokenizer)["text"] == text


def test_ids_that_their_text_would_not_be_cut_into_are_kept(tokenizer):
    ids = [i for letter in "The dog" for i in tokenizer.encode(letter)]
    assert ids != tokenizer.encode("The dog")
    fields = asked({"ids": ids, "text": "The dog", "holes": [[4, 7, None]], "pins": []}, tokenizer)
    marked = marks.parse(fields["text"], tokenizer)
    assert marked.ids == ids and marked.holes == [Hole(4, 7, 3)]


@pytest.mark.parametrize(("where", "cell"), [("start", 6), ("middle", 8), ("end", 10)])
def test_a_pinned_word_stands_at_its_place_in_the_hole(tokenizer, where, cell):
    fields = asked(request(tokenizer, [[1, 2, 2], [5, 6, 5]], [(1, where, "dragon")]), tokenizer)
    assert fields["pins"] == {cell + 1: '" dragon"'}


def test_a_pinned_word_at_the_very_start_has_no_space_before_it(tokenizer):
    assert asked(request(tokenizer, [[0, 1, 2]], [(0, "start", "Tom")]), tokenizer)["pins"] == {1: '"Tom"'}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ids": None}, "text: is not a list of up to 512 tokens of this model."),
        ({"ids": [5] * 513}, "text: is not a list of up to 512 tokens"),
        ({"ids": [1, 5]}, "text: is not a list of up to 512 tokens"),
        ({"ids": [True, 5]}, "text: is not a list of up to 512 tokens"),
        ({"ids": [4096]}, "text: is not a list of up to 512 tokens"),
        ({"text": "Another text"}, "model: cuts text into other tokens than the text here was; open the text again."),
        ({"holes": "x"}, "text: has no list of holes."),
        ({"holes": [[0, 99, None]]}, "text: holes must lie in the text of"),
        ({"holes": [[2, 4, None], [3, 5, None]]}, "text: holes must lie in the text of"),
        ({"holes": [[4, 2, None]]}, "text: holes must lie in the text of"),
        ({"holes": [[-1, 2, None]]}, "text: holes must lie in the text of"),
        ({"holes": [[1.5, 2, None]]}, "text: holes must lie in the text of"),
        ({"holes": [[1, 2]]}, "text: holes must lie in the text of"),
        ({"holes": [{}]}, "text: holes must lie in the text of"),
        ({"holes": [[1, 1, None]]}, "text: a hole cannot have 0 tokens; allowed: 1 to 512."),
        ({"holes": [[1, 2, "many"]]}, "text: a hole cannot have many tokens; allowed: 1 to 512."),
        ({"holes": [[1, 2, 10**30]]}, "text: a hole cannot have 10000000000000000000 tokens"),
        ({"pins": [[0, "start"]]}, "pins: each pin is a hole, start, middle or end, and a word."),
        ({"pins": [[7, "start", "a"]]}, "pins: each pin is a hole"),
        ({"pins": [[0, [], "a"]]}, "pins: each pin is a hole"),
        ({"pins": [[0, "start", " "]]}, "pins: each pin is a hole"),
        ({"pins": [[0, "start", "\ud800"]]}, "pins: "),
    ],
)
def test_what_no_canvas_would_send_is_refused_with_a_sentence(tokenizer, changes, sentence):
    with pytest.raises(RecipeError) as error:
        asked(request(tokenizer, [[1, 2, None]]) | changes, tokenizer)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("nothing", [None, 7, "x", [], {}])
def test_no_request_at_all_is_refused(tokenizer, nothing):
    with pytest.raises(RecipeError, match="text: is not a list"):
        asked(nothing, tokenizer)


@pytest.mark.parametrize(
    ("holes", "word", "hole", "cells", "sentence"),
    [
        ([[5, 6, 4]], "hippopotamus", 0, 7, "“hippopotamus” takes 5 tokens. This selection was made longer to hold it"),
        ([[1, 2, None], [5, 6, 4]], "hippopotamus", 1, 7, "beside it: 4 → 7 tokens. Press Regenerate again."),
        ([[5, 6, None]], "dragon", 0, 3, "“dragon” takes 1 token."),
    ],
)  # fmt: skip
def test_a_word_without_room_says_what_would_do(tokenizer, holes, word, hole, cells, sentence):
    with pytest.raises(NoRoom) as error:
        asked(request(tokenizer, holes, [(len(holes) - 1, "middle", word)]), tokenizer)
    assert (error.value.hole, error.value.cells) == (hole, cells) and sentence in error.value.sentence
    holes[hole][2] = cells
    assert asked(request(tokenizer, holes, [(hole, "middle", word)]), tokenizer)["pins"]


def test_two_words_in_one_place_are_refused(tokenizer):
    twice = [[0, "start", "dog"], [0, "start", "cat"]]
    with pytest.raises(RecipeError, match="must contain: two words would stand in the same place"):
        asked(request(tokenizer, [[1, 3, 6]], twice), tokenizer)


def test_a_word_may_fill_its_hole_where_others_are_written(tokenizer):
    fields = asked(request(tokenizer, [[1, 2, None], [5, 6, None]], [(1, "start", "dragon")]), tokenizer)
    assert fields["pins"] == {6: '" dragon"'}


@pytest.mark.parametrize("hole", [0, 1])
def test_a_word_and_a_length_that_the_model_chooses_do_not_go_together(tokenizer, hole):
    with pytest.raises(RecipeError, match="must contain: a word needs every length to be known; switch off “model"):
        asked(request(tokenizer, [[1, 2, "?"], [5, 6, 4]], [(hole, "start", "dragon")]), tokenizer)


BLANKS = "The ___ ran to the park."


def test_a_blank_may_be_filled_by_its_word_alone(tokenizer):
    wanted = {
        "ids": tokenizer.encode(BLANKS),
        "holes": [[1, 5, 1]],
        "pins": [[0, "start", "hippopotamus"]],
        "text": BLANKS,
    }
    with pytest.raises(NoRoom) as alone:
        asked(wanted, tokenizer)
    with pytest.raises(NoRoom) as beside_others:
        asked(wanted | {"holes": [[1, 5, 1], [8, 9, None]]}, tokenizer)
    assert (alone.value.cells, beside_others.value.cells) == (7, 5)
    assert beside_others.value.sentence.endswith(
        "This selection was made longer to hold it: 1 → 5 tokens. Press Regenerate again."
    )


def test_a_blank_of_any_length_is_a_word_or_a_few(tokenizer):
    wanted = {"ids": tokenizer.encode(BLANKS), "holes": [[1, 5, "?"]], "pins": [], "text": BLANKS}
    assert asked(wanted, tokenizer)["text"] == "The[[?1]] ran to the park."


@pytest.mark.parametrize(
    ("text", "holes", "strength"),
    [
        (BLANKS, [[1, 5, 1]], 1.0),
        (BLANKS, [[6, 6, 3]], 1.0),
        (TEXT, [[1, 2, None]], 0.4),
        (TEXT, [[1, 2, 1]], 0.4),
    ],
)
def test_only_words_are_started_from(tokenizer, text, holes, strength):
    wanted = {"ids": tokenizer.encode(text), "holes": holes}
    assert suited({"strength": 0.4, "samples": 2}, wanted, tokenizer) == {"strength": strength, "samples": 2}


@pytest.mark.parametrize(
    ("knobs", "holes", "sentence"),
    [
        ({"samples": 1}, [[1, 2, "?"]], "alternatives: 1 is too few where the model chooses a length"),
        ({"strength": 0.4}, [[1, 2, 3]], "strength: below 1 starts from the selected words"),
        ({"strength": 0.4}, [[1, 2, None], [5, 5, 3]], "strength: below 1 starts from the selected words"),
        ({"strength": "x"}, [[1, 2, 3]], "strength: 'x' is not allowed"),
    ],
)
def test_knobs_that_do_not_suit_are_refused_in_the_words_of_the_page(tokenizer, knobs, holes, sentence):
    with pytest.raises(RecipeError) as error:
        suited({"strength": 1.0, "samples": 2} | knobs, request(tokenizer, holes), tokenizer)
    assert str(error.value).startswith(sentence) and "[[" not in str(error.value) and "pins" not in str(error.value)
