"""Texts compared: by hand counts, and by orders that anyone would agree with."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from playground.denoisers import zoo
from playground.similarity import SENTENCES, WordMeans, edits, plane

WORDS = st.lists(st.sampled_from(["the", "dog", "ran", "."]), max_size=7).map(" ".join)


def test_edits_against_hand_counts():
    assert edits("The dog ran.", "the dog ran.") == 0  # case does not count
    assert edits("The dog ran.", "The big dog ran!") == 2
    assert edits("", "two words") == edits("two words", "") == 2 and edits("", "") == 0


@given(WORDS, WORDS, WORDS)
def test_edits_are_a_distance(a, b, c):
    assert edits(a, b) == edits(b, a) and (edits(a, b) == 0) == (a.split() == b.split())
    assert edits(a, c) <= edits(a, b) + edits(b, c)


def test_word_means_know_what_a_text_is_about():
    embedder = WordMeans(zoo.load("stories-continuous"))
    park, garden, cake, nothing = embedder.embed(
        ["The dog ran to the park.", "A puppy ran in the garden.", "Mom baked a cake in the oven.", ""]
    )
    assert torch.allclose(park.norm(), torch.tensor(1.0)) and not nothing.any()
    assert park @ garden > park @ cake
    both = embedder.embed([" dog park", " park dog"])
    assert torch.allclose(*both, atol=1e-5)


def test_the_plane_is_where_the_sentences_of_the_app_differ_most():
    sentences, places, axes = plane(zoo.load("stories-continuous"))
    assert len(sentences) == len(set(sentences)) == 240 and places.shape == (240, 2)
    assert torch.allclose(axes.T @ axes, torch.eye(2), atol=1e-4)
    spread = places.var(0)
    assert spread[0] > spread[1] > 1 / axes.shape[0]
    assert SENTENCES.stat().st_size < 40_000
