"""Which words of two texts meet on the way from one to the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.samplers.alignment import Pairing, sentences, spread

A, B = "The dog ran. He was happy!", "Once there was a big dragon."


def paired(tokenizer, a=A, b=B) -> Pairing:
    return Pairing.of(tokenizer.encode(a), tokenizer.encode(b), tokenizer)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (A, ["The dog ran.", " He was happy!"]),
        ('He said, "Go!" She went.', ['He said, "Go!"', " She went."]),
        ("No end", ["No end"]),
        ("It cost 3.50 dollars. Good", ["It cost 3.50 dollars.", " Good"]),
    ],
)
def test_a_sentence_ends_at_its_mark_before_a_space(tokenizer, text, parts):
    found = sentences(tokenizer.encode(text), tokenizer)
    assert [tokenizer.decode(part) for part in found] == parts


def test_the_first_sentence_goes_with_the_first_and_the_rest_with_nothing(tokenizer):
    pairing = paired(tokenizer)
    assert [bool(part) for part in pairing.b] == [True, False]
    middle = pairing.places(0.5)
    assert all(b == -1 for _, b in middle[pairing.lengths(0.5)[0] :])
    assert [a for a, _ in pairing.places(0)] == list(range(len(tokenizer.encode(A))))
    assert [b for _, b in pairing.places(1)] == list(range(len(tokenizer.encode(B))))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=5), st.floats(0, 1))
def test_places_are_in_order_and_lengths_go_from_one_to_the_other(counts, weight):
    pairing = Pairing(*([[7] * pair[side] for pair in counts] for side in (0, 1)))
    places = pairing.places(weight)
    assert len(places) == len(pairing.noise_places(weight)) == pairing.length(weight) <= pairing.widest
    for side, text in ((0, pairing.a), (1, pairing.b)):
        met = [place[side] for place in places if place[side] >= 0]
        assert met == sorted(met) and all(place < sum(map(len, text)) for place in met)
    assert all(max(place) >= 0 for place in places)
    assert len(set(pairing.noise_places(weight))) == len(places)


def test_spread_puts_the_first_first_and_the_last_last():
    assert spread(3, 3) == [0, 1, 2] and spread(2, 4) == [0, 0, 1, 1] and spread(5, 3) == [0, 2, 4]
    assert spread(0, 2) == [-1, -1] and spread(4, 1) == [0] and spread(4, 0) == []
