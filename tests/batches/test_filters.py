import pytest

from playground.batches.filters import Filters
from playground.recipe import RecipeError


def test_without_filters_nothing_is_marked():
    assert Filters().marks("", 0, None, 1.0) == []


def test_each_filter_says_what_it_saw_and_what_was_allowed():
    filters = Filters.parse({"minimum_tokens": "5", "highest_perplexity": 500, "highest_repetition": 0.3})
    assert filters.marks("x", 4, 812.34567, 0.41) == [
        "tokens 4 < 5",
        "perplexity 812.35 > 500",
        "repetition 0.41 > 0.3",
    ]
    assert filters.marks("x", 5, 500.0, 0.3) == []
    assert filters.marks("x", 5, None, 0.0) == ["perplexity not measured"]
    assert Filters.parse({"maximum_tokens": 3}).marks("x", 4, None, 0) == ["tokens 4 > 3"]


@pytest.mark.parametrize("text, found", [
    ("The Dragon flew.", ["word dragon"]), ("dragonfly", []), ("snapdragon", []), ("A DRAGON!", ["word dragon"]),
    ("an  old\nWITCH", ["word old witch"]), ("the witch was old", []), ("STRASSE", ["word straße"]),
    ("c++ now", ["word c++"]),
])  # fmt: skip
def test_words_are_whole_and_in_any_case(text, found):
    assert Filters.parse({"blacklist": "dragon, old  witch,, straße, c++"}).marks(text, 1, None, 0) == found


@pytest.mark.parametrize("values, said", [
    ({"minimum_tokens": -1}, "minimum_tokens: -1 is out of range"), ({"colour": 1}, "colour: there is no such filter"),
    ({"highest_repetition": "much"}, "highest_repetition: 'much' is not allowed"),
    ({"minimum_tokens": 9, "maximum_tokens": 3}, "minimum_tokens: is 9, above maximum_tokens, 3."),
    ({"blacklist": 3}, "blacklist: 3 is not text"), ({"blacklist": "x" * 20_001}, "blacklist: has 20,001 characters"),
])  # fmt: skip
def test_wrong_filters(values, said):
    with pytest.raises(RecipeError) as error:
        Filters.parse(values)
    assert str(error.value).startswith(said)
