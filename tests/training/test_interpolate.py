"""Paths between held-out texts: the pairs, the rank correlation and the figures."""

import pytest

from playground.denoisers import zoo
from playground.samplers.paths import METHODS
from playground.training.data import encode
from playground.training.interpolate import LONGEST, compare, pairs, spearman

STORIES = ["Tom had a ball. He was happy.", "The dragon was sad. It was alone.", "word " * 100, "Lily ran. She fell."]


class Letters:
    """A judge to whom a letter costs half a nat and a word is a token."""

    name, skipped, cut = "letters", 0, 0

    def nll(self, texts):
        return sum(0.5 * len(text) for text in texts), sum(len(text.split()) for text in texts)


def test_pairs_are_openings_of_whole_sentences(tokenizer):
    documents = [encode(text, tokenizer) for text in STORIES]
    assert pairs(documents, tokenizer) == [(STORIES[0], STORIES[1])]  # the third is too long, the fourth has no other
    long = [encode("Tom ran. " * 40, tokenizer), encode("Lily sat. " * 40, tokenizer)]
    ((a, b),) = pairs(long, tokenizer)
    assert a.endswith("Tom ran.") and all(0 < len(tokenizer.encode(text)) <= LONGEST for text in (a, b))
    assert len(pairs(long * 9, tokenizer, count=2)) == 2


def test_spearman_against_known_values():
    assert spearman([1, 2, 3], [10, 20, 90]) == pytest.approx(1) and spearman([3, 2, 1], [1, 2, 3]) == pytest.approx(-1)
    assert spearman([1, 1, 2, 2], [0, 1, 2, 3]) == pytest.approx(0.894427, abs=1e-5)  # ties share their mean rank
    assert spearman([5, 5, 5], [0, 1, 2]) == 0


def test_each_method_has_its_figures(tokenizer):
    model = zoo.load("stories-continuous")
    rows = list(compare(model, 5, [(STORIES[0], STORIES[1])], Letters(), steps=2, points=5))
    assert [row["method"] for row in rows] == [method for method in METHODS if method != "arithmetic"]
    for row in rows:
        assert 0 < row["distinct"] <= 1 and row["between_over_ends"] > 0 and row["seconds_per_path"] > 0
        assert all(-1 <= found <= 1 for found in row["correlation"].values())
    naive = rows[-1]
    assert naive["ends"] == 1 and naive["level"] is None and rows[0]["level"] > 0
    assert naive["correlation"]["word embeddings"] > 0.5
