"""Recipe.parse is the one place that checks; what it takes, refuses and says."""

import dataclasses
import json
from urllib.parse import parse_qs

import pytest

from playground.denoisers import zoo
from playground.recipe import MAX_SEED, Recipe, RecipeError, format_pins, parse_pins

DEFAULTS = {
    "model": "stories-continuous", "prompt": "", "text": "", "length": 64, "steps": 32, "sampler": "sde",
    "temperature": 0.7, "guidance": 0.0, "churn": 1.0, "self_conditioning": True, "schedule": "learned",
    "rounding": "contextual",
    "threshold": 0.9, "bound": 0.1, "top_k": 0, "top_p": 1.0, "eta": 0.1, "strength": 1.0,
    "block": 0, "refine": 0, "seed": -1, "samples": 1, "pins": {},
}  # fmt: skip
WHOLE = {
    "length": (8, 512),
    "steps": (1, 256),
    "top_k": (0, 4096),
    "block": (0, 128),
    "refine": (0, 8),
    "seed": (-1, 2147483647),
    "samples": (1, 8),
}
REAL = {
    "temperature": (0.0, 2.0), "guidance": (0.0, 5.0), "churn": (0.0, 1.0), "threshold": (0.0, 1.0), "eta": (0.0, 1.0),
    "bound": (0.0, 10.0), "top_p": (0.0, 1.0),
}  # fmt: skip
NUMBERS = WHOLE | REAL
MASKED = {"model": "stories-masked"}
ODD_TEXT = 'a&b=c?d#e%41+f g\nh\r\ti 你好 🎈 "q" \\ <eos> \x00'


def refused(field: str, value, **others) -> str:
    """The sentence with which this value is refused; it names the field first."""
    with pytest.raises(RecipeError) as error:
        Recipe.parse({field: value, **others})
    assert error.value.field == field
    assert str(error.value).startswith(f"{field}: ")
    return str(error.value)


@pytest.mark.parametrize("field", DEFAULTS)
def test_absent_and_none_fields_take_their_default(field):
    for values in ({}, {field: None}):
        value = getattr(Recipe.parse(values), field)
        assert value == DEFAULTS[field]
        assert type(value) is type(DEFAULTS[field])


def test_the_fields_are_the_documented_ones_in_order():
    assert [f.name for f in dataclasses.fields(Recipe)] == list(DEFAULTS)


@pytest.mark.parametrize("field", NUMBERS)
def test_both_ends_of_a_range_are_allowed(field):
    for end in NUMBERS[field]:
        assert getattr(Recipe.parse({field: end}), field) == end


@pytest.mark.parametrize("field", WHOLE)
def test_whole_numbers_past_an_end_are_refused_with_the_range(field):
    low, high = WHOLE[field]
    for value in (low - 1, high + 1, 10**9 * 4, -(10**12)):
        said = refused(field, value)
        assert str(value) in said and f"allowed: whole numbers from {low} to {high}" in said


@pytest.mark.parametrize("field", REAL)
def test_real_numbers_past_an_end_are_refused_with_the_range(field):
    low, high = REAL[field]
    for value in (low - 1e-9, high + 1e-9, 1e300):
        said = refused(field, value)
        assert str(value) in said and f"allowed: numbers from {low} to {high}" in said


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), "nan", "inf", "abc", "", "1;2", True, False, [3], {"a": 1}, b"3", 3j],
    ids=repr,
)
def test_what_is_no_finite_number_is_refused_with_value_and_range(field, value):
    low, high = NUMBERS[field]
    kind = "whole numbers" if field in WHOLE else "numbers"
    said = refused(field, value)
    assert str(value) in said and f"allowed: {kind} from {low} to {high}" in said


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        1e9,
        10**9,
        257,
        float("nan"),
        "abc",
        1.5,
        "1.5",
    ],
)
def test_steps_out_of_reason_are_refused(value):
    assert "from 1 to 256" in refused("steps", value)


@pytest.mark.parametrize("value", [16, 16.0, "16", " 16 ", "16.0", "1.6e1"])
def test_a_whole_number_may_come_as_float_or_text(value):
    steps = Recipe.parse({"steps": value}).steps
    assert steps == 16 and type(steps) is int


@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", "1e0"])
def test_a_real_number_may_come_as_int_or_text(value):
    temperature = Recipe.parse({"temperature": value}).temperature
    assert temperature == 1.0 and type(temperature) is float


@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_numbers_of_many_digits_are_refused_in_a_sentence(digits):
    for value in (10**digits, -(10**digits), "9" * digits):
        assert "from 1 to 256" in refused("steps", value)


@pytest.mark.parametrize("value", [True, "true", "True", "1", 1, "on", "YES"])
def test_truth_in_its_usual_spellings(value):
    assert Recipe.parse({"self_conditioning": value}).self_conditioning is True


@pytest.mark.parametrize("value", [False, "false", "False", "0", 0, "off", "no"])
def test_falsehood_in_its_usual_spellings(value):
    assert Recipe.parse({"self_conditioning": value}).self_conditioning is False


@pytest.mark.parametrize("value", ["abc", 2, float("nan"), "", [], -1])
def test_what_is_neither_true_nor_false_is_refused(value):
    assert "neither true nor false" in refused("self_conditioning", value)


@pytest.mark.parametrize("field", ["model", "prompt", "sampler", "schedule", "rounding"])
@pytest.mark.parametrize("value", [5, 1.5, True, ["a"], {"a": "b"}, b"a"], ids=repr)
def test_text_fields_take_only_text(field, value):
    assert "is not text" in refused(field, value)


def test_an_unknown_field_is_refused_with_the_known_ones():
    said = refused("stepz", 3)
    assert all(name in said for name in DEFAULTS)


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        ("model", "stories-continuous, stories-masked, stories-uniform, stories-autoregressive"),
        ("sampler", "sde, ode"),
        ("schedule", "learned, linear, cosine, sigmoid, sqrt"),
        ("rounding", "contextual, nearest"),
    ],
)
def test_an_unknown_name_is_refused_with_the_allowed_ones(field, allowed):
    for value in ("nonesuch", "../../etc/passwd", "x" * 500):
        said = refused(field, value)
        assert f"{value[:40]!r}" in said and f"allowed: {allowed}." in said
        assert len(said) < 300


def test_an_unknown_model_is_named_even_when_the_sampler_is_given():
    assert "'nonesuch'" in refused("model", "nonesuch", sampler="ode")


def test_a_sampler_of_the_other_family_is_refused():
    assert "allowed: sde, ode." in refused("sampler", "confidence")
    said = refused("sampler", "ode", **MASKED)
    assert "allowed: random, ancestral, confidence, entropy, margin, threshold, remask." in said


def test_an_empty_sampler_becomes_the_first_of_the_family():
    assert Recipe.parse({"sampler": ""}).sampler == "sde"
    assert Recipe.parse(MASKED | {"sampler": ""}).sampler == "random"
    assert Recipe.parse(MASKED).sampler == "random"


CHANGED = [
    {},
    MASKED,
    MASKED | {"sampler": "remask", "eta": 0.25, "seed": 3},
    {"prompt": ODD_TEXT, "seed": 2147483647},
    {"prompt": "  spaces at both ends  "},
    {"prompt": "\n"},
    {"steps": 1, "length": 256, "temperature": 0.0, "guidance": 0.1 + 0.2, "churn": 1 / 3, "samples": 8},
    {"self_conditioning": False, "schedule": "cosine", "rounding": "nearest", "sampler": "ode"},
    {"pins": {12: "dragon", 20: '"ing, \\"so\\" & more"', 30: "你好", 40: '" \\n"'}},
]


@pytest.mark.parametrize("values", CHANGED)
def test_json_gives_the_recipe_back(values):
    recipe = Recipe.parse(values)
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert json.loads(recipe.to_json()) == recipe.to_dict()


@pytest.mark.parametrize("values", CHANGED)
def test_the_query_gives_the_recipe_back(values):
    recipe = Recipe.parse(values)
    query = recipe.to_query()
    assert Recipe.from_query(query) == recipe
    assert query.isascii() and not set(query) & set(" #?\n<>\"'")


def test_the_query_names_only_what_differs_from_the_defaults():
    assert Recipe.parse({}).to_query() == ""
    assert parse_qs(Recipe.parse({"steps": 8, "seed": 7}).to_query()) == {"steps": ["8"], "seed": ["7"]}
    assert parse_qs(Recipe.parse(MASKED).to_query()) == {"model": ["stories-masked"]}


@pytest.mark.parametrize("text", ["", "[1]", "null", "3", '{"steps": 3', "{'steps': 3}", "\x00"])
def test_what_is_no_json_object_is_refused_in_a_sentence(text):
    with pytest.raises(RecipeError, match=r"^recipe: "):
        Recipe.from_json(text)


def test_nan_in_json_is_refused():
    with pytest.raises(RecipeError, match=r"^steps: nan is not allowed"):
        Recipe.from_json('{"steps": NaN}')


def test_a_hostile_query_is_refused_like_any_value():
    with pytest.raises(RecipeError, match=r"^steps: 'NaN' is not allowed"):
        Recipe.from_query("steps=NaN")
    with pytest.raises(RecipeError, match=r"^__class__: there is no such field"):
        Recipe.from_query("__class__=x")


def test_resolved_draws_a_seed_once_within_range_and_keeps_the_rest():
    recipe = Recipe.parse({"prompt": "Hi", "steps": 5, "pins": {12: "dog"}})
    seeds = set()
    for _ in range(20):
        drawn = recipe.resolved()
        assert 0 <= drawn.seed <= MAX_SEED
        assert dataclasses.replace(drawn, seed=-1) == recipe
        assert drawn.resolved() == drawn
        seeds.add(drawn.seed)
    assert len(seeds) > 1


@pytest.mark.parametrize("seed", [0, 7, 2147483647])
def test_resolved_keeps_a_seed_that_was_given(seed):
    assert Recipe.parse({"seed": seed}).resolved().seed == seed


def test_each_row_has_the_next_seed():
    assert Recipe.parse({"seed": 7, "samples": 3}).seeds == [7, 8, 9]


def test_seeds_wrap_past_the_largest():
    assert Recipe.parse({"seed": 2147483646, "samples": 4}).seeds == [2147483646, 2147483647, 0, 1]


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        ("", {}),
        ("12:dragon", {12: "dragon"}),
        ("12:dragon, 20:park", {12: "dragon", 20: "park"}),
        (" 12 : dragon ,20:park , ", {12: "dragon", 20: "park"}),
        ("3:ice cream", {3: "ice cream"}),
        ('13:"ing"', {13: '"ing"'}),
        ('1:"a, 2:b", 5:c', {1: '"a, 2:b"', 5: "c"}),
        ('1:"say \\"hi\\""', {1: '"say \\"hi\\""'}),
        ("4:10:30", {4: "10:30"}),
        ("7:你好, 9:🎈", {7: "你好", 9: "🎈"}),
    ],
)
def test_pins_are_read_from_text(text, pins):
    assert parse_pins(text) == pins
    assert Recipe.parse({"pins": text}).pins == pins
    assert parse_pins(format_pins(pins)) == pins


@pytest.mark.parametrize("value", [{12: "dragon"}, {"12": "dragon"}, '{"12": "dragon"}', "12:dragon"])
def test_pins_may_be_a_table_or_text(value):
    assert Recipe.parse({"pins": value}).pins == {12: "dragon"}


@pytest.mark.parametrize("text", ["12:dragon, 12:park", "1:a, 01:b", {"1": "a", "01": "b"}])
def test_a_cell_pinned_twice_is_refused(text):
    assert "pinned twice" in refused("pins", text)


@pytest.mark.parametrize(
    "value",
    ["dragon", "12", "12:", "12 dragon", "-1:dragon", "1.5:dragon", "a:b", '12:"open', "12:a,,13:b", '12:a"b',
     {12: "a,b"}, {12: 'a"b'}, {12: ""}, {12: " a"}, {12: 5}, {-1: "a"}, {"x": "a"}, '{"12":', [1], 7, True],
)  # fmt: skip
def test_pins_that_cannot_be_read_are_refused(value):
    refused("pins", value)


def test_a_pin_with_a_cell_of_thousands_of_digits_is_refused():
    refused("pins", "9" * 5000 + ":dragon")


def test_the_prompt_may_have_20000_characters_and_not_one_more():
    assert len(Recipe.parse({"prompt": "a" * 20_000}).prompt) == 20_000
    said = refused("prompt", "a" * 20_001)
    assert "20,001 characters" in said and "allowed: 20,000" in said
    assert "aaaa" not in said


def test_a_recipe_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe.parse({}).seed = 3


def test_recipes_do_not_share_their_pins():
    assert Recipe().pins is not Recipe().pins


def test_pins_given_to_a_recipe_are_copied():
    given = {12: "dragon"}
    recipe = Recipe.parse({"pins": given})
    given[13] = "park"
    assert recipe.pins == {12: "dragon"}


def test_hostile_pins_are_refused_at_once():
    refused("pins", "1:a" + " " * 19_000 + '"')
    refused("pins", "1:a," * 10_000)
    refused("pins", '{"a":' * 100_000)


def test_digits_parted_by_underscores_are_not_a_number():
    assert "'1_0' is not allowed" in refused("steps", "1_0")


def test_half_a_surrogate_pair_is_not_text():
    assert "character 4 is half of a surrogate pair" in refused("prompt", "Hi \ud83d")


def test_another_models_folder(monkeypatch, tmp_path):
    """Without the default model the first one there is; without any, a sentence."""
    monkeypatch.setattr(zoo, "catalogue", lambda: {"mine": "masked"})
    assert (Recipe.parse({}).model, Recipe.parse({}).sampler) == ("mine", "random")
    monkeypatch.setattr(zoo, "catalogue", dict)
    with pytest.raises(RecipeError, match="model: there is none in"):
        Recipe.parse({})


@pytest.mark.parametrize(("length", "steps"), [(8, 8), (16, 8), (33, 17), (64, 32), (512, 256)])
def test_steps_not_given_are_one_for_two_cells(length, steps):
    for given in ({}, {"steps": None}):
        recipe = Recipe.parse({"length": length} | given)
        assert recipe.steps == steps and Recipe.from_query(recipe.to_query()) == recipe
    kept = Recipe.parse({"steps": 32, "length": length})
    assert kept.steps == 32 and Recipe.from_query(kept.to_query()) == kept


def test_pins_as_json_name_each_cell_once():
    with pytest.raises(RecipeError, match="pins: cell 2 is pinned twice"):
        Recipe.parse({"pins": '{"2": "dog", "2": "cat"}'})
