"""The row a run works on: prompt and pins become fixed cells, exactly or not at all."""

from types import SimpleNamespace

import pytest
import torch

from playground.canvas import Canvas, pin_for, pinned_tokens
from playground.recipe import Recipe, RecipeError
from playground.text import BOS, BROKEN_PIECE


def canvas(tokenizer, **fields) -> SimpleNamespace:
    """The first row."""
    made = Canvas.from_recipe(Recipe.parse(fields), tokenizer)
    return SimpleNamespace(ids=made.ids[0], fixed=made.fixed[0], pinned=made.pinned[0], given=made.given)


def refused(tokenizer, **fields) -> str:
    with pytest.raises(RecipeError) as error:
        canvas(tokenizer, **fields)
    return str(error.value)


def cells(mask) -> list[int]:
    return mask.nonzero().flatten().tolist()


def test_a_prompt_is_a_start_mark_and_its_tokens_fixed(tokenizer):
    row = canvas(tokenizer, prompt="Once upon a time", length=16)
    ids = [BOS, *tokenizer.encode("Once upon a time")]
    assert row.ids[: len(ids)].tolist() == ids
    assert cells(row.fixed) == list(range(len(ids)))
    assert row.given == len(ids)
    assert row.ids.shape == row.fixed.shape == row.pinned.shape == (16,)
    assert not row.pinned.any()


def test_an_empty_prompt_fixes_nothing(tokenizer):
    row = canvas(tokenizer, prompt="")
    assert row.given == 0 and not row.fixed.any() and len(row.ids) == 64


@pytest.mark.parametrize("prompt", [" ", "\n", "\x00"])
def test_a_prompt_of_blanks_is_given_all_the_same(tokenizer, prompt):
    row = canvas(tokenizer, prompt=prompt)
    assert tokenizer.decode(row.ids[row.fixed].tolist()) == prompt


def test_the_longest_prompt_leaves_room_for_start_mark_and_one_more_cell(tokenizer):
    dots = tokenizer.encode(" a b c d e f")
    assert len(dots) == 6
    row = canvas(tokenizer, prompt=" a b c d e f", length=8)
    assert row.ids[:7].tolist() == [BOS, *dots] and row.given == 7


def test_a_longer_prompt_is_refused_with_its_token_count(tokenizer):
    said = refused(tokenizer, prompt=" a b c d e f g", length=8)
    assert said.startswith("prompt: is 7 tokens; a row of length 8 holds a prompt of up to 6 tokens.")


def test_a_typed_end_mark_in_the_prompt_is_text(tokenizer):
    row = canvas(tokenizer, prompt="<eos><pad>")
    given = row.ids[row.fixed].tolist()
    assert given[0] == BOS and min(given[1:]) > 2
    assert tokenizer.decode(given) == "<eos><pad>"


def test_half_a_surrogate_pair_is_refused_with_its_position(tokenizer):
    assert refused(tokenizer, prompt="ab\ud800").startswith("prompt: character 3 is half of a surrogate pair")
    assert refused(tokenizer, pins={5: '"\\ud800"'}).startswith("pins: character 1 is half of a surrogate pair")


def test_a_pinned_word_follows_a_space(tokenizer):
    row = canvas(tokenizer, pins={12: "dog"}, length=32)
    ids = tokenizer.encode(" dog")
    assert row.ids[12 : 12 + len(ids)].tolist() == ids
    assert cells(row.fixed) == cells(row.pinned) == list(range(12, 12 + len(ids)))


@pytest.mark.parametrize("cell", [0, 1])
def test_a_pinned_word_at_the_start_of_the_row_has_no_space(tokenizer, cell):
    assert pinned_tokens(cell, "Once", tokenizer) == tokenizer.encode("Once")
    assert pinned_tokens(2, "Once", tokenizer) == tokenizer.encode(" Once")


@pytest.mark.parametrize(
    ("quoted", "text"), [('"ing"', "ing"), ('" dog"', " dog"), ('", and"', ", and"), ('"\\n"', "\n"), ('"  "', "  ")]
)
def test_a_quoted_pin_is_that_exact_text(tokenizer, quoted, text):
    row = canvas(tokenizer, pins={12: quoted}, length=32)
    ids = tokenizer.encode(text)
    assert row.ids[row.pinned].tolist() == ids and cells(row.pinned) == list(range(12, 12 + len(ids)))


def test_a_pin_of_several_tokens_takes_as_many_cells(tokenizer):
    ids = tokenizer.encode(" xylophonist")
    assert len(ids) > 1
    assert cells(canvas(tokenizer, pins={9: "xylophonist"}).pinned) == list(range(9, 9 + len(ids)))


def test_pins_join_a_prompt(tokenizer):
    row = canvas(tokenizer, prompt="Once", pins={12: "dog", 20: "cat"})
    assert cells(row.fixed & ~row.pinned) == list(range(1 + len(tokenizer.encode("Once"))))
    assert row.ids[row.pinned].tolist() == tokenizer.encode(" dog") + tokenizer.encode(" cat")


@pytest.mark.parametrize("cell", [32, 1000, 10**8])
def test_a_pin_past_the_end_is_refused_with_the_cells_there_are(tokenizer, cell):
    said = refused(tokenizer, pins={cell: "dog"}, length=32)
    assert said == f"pins: cells {cell} to {cell} do not fit; the row has cells 0 to 31."


def test_a_pin_that_starts_inside_but_ends_outside_is_refused(tokenizer):
    count = len(tokenizer.encode(" xylophonist"))
    assert f"cells 31 to {30 + count} do not fit" in refused(tokenizer, pins={31: "xylophonist"}, length=32)


def test_the_last_cell_can_be_pinned(tokenizer):
    assert cells(canvas(tokenizer, pins={31: "dog"}, length=32).fixed) == [31]


def test_a_pin_on_the_prompt_is_refused(tokenizer):
    for cell in (0, 1):
        assert "run into what is given or another pinned word" in refused(tokenizer, prompt="Once", pins={cell: "dog"})


def test_pins_that_overlap_are_refused(tokenizer):
    assert "run into what is given or another pinned word" in refused(tokenizer, pins={9: "xylophonist", 10: "dog"})


def test_a_row_without_a_free_cell_is_refused(tokenizer):
    pins = dict.fromkeys(range(8), "dog")
    assert all(len(pinned_tokens(cell, "dog", tokenizer)) == 1 for cell in range(2, 8))
    del pins[0], pins[1]
    prompt = "a"
    assert len(tokenizer.encode(prompt)) == 1
    assert "no free cell" in refused(tokenizer, prompt=prompt, pins=pins, length=8)
    del pins[7]
    assert canvas(tokenizer, prompt=prompt, pins=pins, length=8).given == 7


def test_an_empty_quoted_pin_is_refused(tokenizer):
    assert refused(tokenizer, pins={12: '""'}) == "pins: the word at cell 12 is empty."


@pytest.mark.parametrize("quoted", ['"\\q"', '"C:\\users"', '"a\nb"', '"a\tb"'])
def test_a_quoted_pin_that_is_not_json_is_refused_in_a_sentence(tokenizer, quoted):
    assert refused(tokenizer, pins={12: quoted}).startswith("pins: ")


def test_pin_for_is_the_inverse_of_pinned_tokens(tokenizer):
    pieces = [tokenizer.pieces([i])[0] for i in range(tokenizer.vocab_size)]
    done = 0
    for token in range(3, tokenizer.vocab_size, 3):
        if isinstance(pieces[token], str) and tokenizer.encode(pieces[token]) == [token]:
            pin = pin_for(12, token, tokenizer)
            row = canvas(tokenizer, pins={12: pin}, length=16)
            assert row.ids[row.pinned].tolist() == [token] and cells(row.pinned) == [12]
            done += 1
    assert done > 1000


def test_pin_for_writes_a_word_plainly_and_a_fragment_in_quotes(tokenizer):
    (dog,), (ing,) = tokenizer.encode(" dog"), tokenizer.encode("ing")
    assert pin_for(12, dog, tokenizer) == "dog"
    assert pin_for(1, dog, tokenizer) == '" dog"'
    assert pin_for(12, ing, tokenizer) == '"ing"'


def test_pin_for_refuses_what_cannot_be_typed(tokenizer):
    fragments = [i for i in range(tokenizer.vocab_size) if tokenizer.pieces([i]) == [BROKEN_PIECE]]
    assert len(fragments) > 50
    for token in [0, 1, 2, tokenizer.vocab_size, *fragments[:20]]:
        with pytest.raises(RecipeError, match="cannot be pinned"):
            pin_for(12, token, tokenizer)


def test_each_sample_has_a_row_of_its_own(tokenizer):
    one, three = (
        Canvas.from_recipe(Recipe.parse({"prompt": "Once", "length": 8, "samples": samples}), tokenizer)
        for samples in (1, 3)
    )
    assert three.ids.shape == three.fixed.shape == three.pinned.shape == (3, 8)
    assert all(
        torch.equal(three.ids[row], one.ids[0]) and torch.equal(three.fixed[row], one.fixed[0]) for row in range(3)
    )
    three.ids[0, 0] = 99
    assert three.ids[1, 0] == BOS
